/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Program: whether the loader of a program would take the heap tracker when it is preloaded, judged
 * by the program's file before it is executed: by its kind of ELF file, its loader (PT_INTERP), and
 * the libraries that it asks for (DT_NEEDED). For the tracker, which does so in a process that is
 * about to call execve(2), perhaps between vfork(2) and that: by bare system calls, on the stack.
 */
#ifndef CAIRN_RT_PROGRAM_H
#define CAIRN_RT_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers are written into states (heap_state.h): they stay what they are. */
enum cairn_program_kind {
    CAIRN_PROGRAM_UNKNOWN,     /* cannot be read, or is not executable */
    CAIRN_PROGRAM_SERVED,      /* the tracker is loaded into it */
    CAIRN_PROGRAM_STATIC,      /* no loader reads LD_PRELOAD; what it starts may be tracked */
    CAIRN_PROGRAM_SECURE,      /* setuid, setgid, or with capabilities: the loader ignores it */
    CAIRN_PROGRAM_MACHINE,     /* of another machine or ABI: i386, x32 */
    CAIRN_PROGRAM_LOADER,      /* its loader is neither glibc's nor musl's */
    CAIRN_PROGRAM_SANITIZER,   /* its sanitizer must come first, or judges by what malloc returns */
    CAIRN_PROGRAM_VALGRIND,    /* emulates its program, with a malloc of its own */
    CAIRN_PROGRAM_UNREACHABLE, /* the tracker's file or folder is out of its reach: another user,
                                  another root */
    CAIRN_PROGRAM_SEALED,      /* a child of fork(2) behind its parent's seccomp filter (seal.h) */
    CAIRN_PROGRAM_KINDS
};

/* `path` as execve(2) takes it. Scripts (#!) are what their interpreter is, whose path is stored in
 * `ret_interpreter`; "" of all others. NULL: it is not wanted. */
enum { CAIRN_PROGRAM_INTERPRETER = 256 };
enum cairn_program_kind cairn_program_judge(const char *path,
                                            char ret_interpreter[CAIRN_PROGRAM_INTERPRETER]);

/* As execvp(3) finds a program in `folders`, the value of PATH; NULL: PATH is not set. In `path`,
 * of `size` bytes, or `name` itself where that has a slash. NULL: it does not, or it does not fit.
 */
const char *cairn_program_find(const char *name, const char *folders, char *path, size_t size);
/* The same, but of a script the interpreter that will be mapped in its place. */
const char *cairn_program_find_mapped(const char *name, const char *folders, char *path,
                                      size_t size);

/* Is it one of valgrind's tools, by its path? They are static programs. What is judged by a link,
 * as /proc/PID/exe is, shows no path. */
bool cairn_program_is_valgrinds(const char *path);

/* A preloaded tracker does harm there: the loader complains, or the program does not start. */
bool cairn_program_refuses(enum cairn_program_kind kind);

/* LD_PRELOAD is a list of libraries, separated by blanks and colons (ld.so(8)): the bytes of its
 * first one. */
size_t cairn_program_entry(const char *list);
/* Does such a list name a sanitizer's library? The tracker must not come before it. Accepts NULL.
 */
bool cairn_program_lists_sanitizer(const char *list);

/* Why a program of that kind is not tracked, as the end of a sentence about it; "" where it is. */
const char *cairn_program_reason(enum cairn_program_kind kind);

#endif /* CAIRN_RT_PROGRAM_H */
