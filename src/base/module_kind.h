/* SPDX-License-Identifier: MIT */
/*
 * Module kind: what a mapping of a process is, by the name that the kernel or a profile has for it.
 * Who makes a module asks here once and keeps the answer; others ask what was kept.
 *
 * Source: proc(5), /proc/PID/maps; Linux, fs/proc/task_mmu.c (show_map_vma); perf's names for the
 * kernel ("[kernel.kallsyms]") and for anonymous memory ("//anon").
 */
#ifndef CAIRN_BASE_MODULE_KIND_H
#define CAIRN_BASE_MODULE_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

enum cairn_module_kind {
    CAIRN_MODULE_ANONYMOUS,     /* memory without a file: code in it was made at run time */
    CAIRN_MODULE_FILE,          /* also one that was removed */
    CAIRN_MODULE_JIT,           /* a file in name alone, which compilers use as memory */
    CAIRN_MODULE_KERNEL,        /* all of it, or its own image */
    CAIRN_MODULE_KERNEL_MODULE, /* "[nf_tables]", in the kernel's half */
    CAIRN_MODULE_VDSO,
    CAIRN_MODULE_VSYSCALL,
    CAIRN_MODULE_OTHER,  /* what else the kernel maps, "[uprobes]" */
    CAIRN_MODULE_SCRIPT, /* the text of an interpreted function */
    CAIRN_MODULE_LOG     /* a module that only a log names */
};

/* Of a mapping or a profile's module that begins at `start`; 0 where that is not known. */
enum cairn_module_kind cairn_module_kind_of(const char *path, uint64_t start);

/* Is it the kernel's page of copied instructions, to which uretprobes make functions return? */
bool cairn_module_is_uprobes(const char *path);

/* How much of a mapping's path is a name: not " (deleted)", which the kernel appends, nor its names
 * for memory that is no file's. */
size_t cairn_module_path_size(const char *path);

/* A number for the file of a mapping: by its build ID, else by device and inode; 0: unknown. */
uint64_t cairn_module_file_identity(struct cairn_span build_id, uint64_t dev, uint64_t inode);

/* Does a file of that name hold its code? */
static inline bool cairn_module_is_file(enum cairn_module_kind kind)
{
    return kind == CAIRN_MODULE_FILE || kind == CAIRN_MODULE_JIT;
}

/* May code that was made at run time lie in it? */
static inline bool cairn_module_is_made(enum cairn_module_kind kind)
{
    return kind == CAIRN_MODULE_ANONYMOUS || kind == CAIRN_MODULE_JIT;
}

static inline bool cairn_module_is_kernel(enum cairn_module_kind kind)
{
    return kind == CAIRN_MODULE_KERNEL || kind == CAIRN_MODULE_KERNEL_MODULE;
}

#endif /* CAIRN_BASE_MODULE_KIND_H */
