/* SPDX-License-Identifier: MIT */
/*
 * Process: what /proc/PID says of a process besides its maps. Every call reads anew and may fail
 * with CAIRN_E_MISSING at any time, for a process may end; CAIRN_E_ACCESS carries a hint.
 */
#ifndef CAIRN_PROC_PROCESS_H
#define CAIRN_PROC_PROCESS_H

#include <cairn/error.h>

#include "base/buffer.h"

enum {
    CAIRN_COMM_SIZE = 64,      /* with NUL; 16 for programs, more for kernel workers */
    CAIRN_PID_DEPTH_MAX = 32,  /* nested pid namespaces (MAX_PID_NS_LEVEL) */
    CAIRN_AUXV_ENTRY_MAX = 256 /* the kernel gives about 25 */
};

struct cairn_process_status {
    char name[CAIRN_COMM_SIZE]; /* as /proc has it: line breaks and backslashes escaped */
    char state;                 /* R running, S sleeping, D disk, T stopped, t traced, Z zombie */
    int tgid, ppid, tracer_pid;
    uint32_t uid, euid;
    uint32_t n_threads;
    int seccomp;           /* 0 none, 1 strict, 2 filter; -1: the kernel does not say */
    int ns_pid;            /* its pid as it sees it itself: the innermost of NSpid */
    uint32_t n_namespaces; /* how deep: 1 in our own pid namespace */
};
int cairn_process_status(int pid, struct cairn_process_status *ret_status, struct cairn_err *err);

/* Do we live in a pid namespace that is not the machine's first, as in a container? Not known is
 * no. */
bool cairn_process_is_inside(void);

/* Are the processes that /proc has those of our pid namespace, by its numbers? CAIRN_E_SUPPORT. */
int cairn_process_check_proc(struct cairn_err *err);

/* The program's path as the process's mount namespace knows it, appended; " (deleted)" is cut off
 * and told. Read it through /proc/PID/root or open /proc/PID/exe itself. */
int cairn_process_exe(int pid, struct cairn_buffer *ret_path, bool *ret_deleted,
                      struct cairn_err *err);

/* The arguments with blanks between, appended; "" for a kernel thread. For people to read: what
 * stood between quotes is not told. */
int cairn_process_cmdline(int pid, struct cairn_buffer *ret_text, struct cairn_err *err);

/* One value of the auxiliary vector (AT_ENTRY, AT_SYSINFO_EHDR, ...); CAIRN_E_MISSING where it has
 * none. Knows that a 32-bit program has entries of half the size. */
int cairn_process_auxv(int pid, uint64_t type, uint64_t *ret_value, struct cairn_err *err);

/* A field of /proc/PID/stat behind the name, by its number in proc(5): 4 and up. `pid` may be any
 * thread. False, and 0: it cannot be read, or has no such field. */
bool cairn_process_stat_field(int pid, unsigned number, uint64_t *ret_value);

/* Where the arguments of its program lie (proc(5), stat, startstack), a place that execve(2)
 * chooses by chance. 0: there is no program yet, or it is not told. */
uint64_t cairn_process_stack_start(int pid);

/* Where its memory of brk(2) begins (stat, start_brk; Linux 3.3). 0: it is not told. */
uint64_t cairn_process_break_start(int pid);

/* The whole of /proc/PID/NAME, appended. What is missing or refused is told in words about the
 * process, not about the file. */
int cairn_process_slurp(int pid, const char *name, size_t limit, struct cairn_buffer *ret_bytes,
                        struct cairn_err *err);

/* The text behind "NAME:" at the start of a line of such a file (status), up to the text's end;
 * NULL where there is none. */
const char *cairn_process_field(const char *text, const char *name);

/* Does this thread have it, by its number in linux/capability.h? Where that cannot be asked: is it
 * root? */
bool cairn_process_has_capability(unsigned number);

/* Says why the kernel may have refused to let us look into `pid`, and what to do: another user,
 * another tracer, Yama, a container. For errors of code CAIRN_E_ACCESS. */
void cairn_process_hint_access(int pid, struct cairn_err *err);

#endif /* CAIRN_PROC_PROCESS_H */
