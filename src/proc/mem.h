/* SPDX-License-Identifier: MIT */
/*
 * Mem: reads another process's memory while it runs: process_vm_readv(2), or /proc/PID/mem where
 * that call is missing or refused. What is read may be half changed: the process goes on meanwhile.
 * The owner of a page can keep a read of it waiting for ever (userfaultfd(2), FUSE), so a helper
 * process reads, with a deadline (base/apart.h). One object, one thread at a time.
 */
#ifndef CAIRN_PROC_MEM_H
#define CAIRN_PROC_MEM_H

#include <cairn/error.h>

#include "base/span.h"
#include "proc/unread.h"

struct cairn_mem {
    int pid;
    int fd;     /* of /proc/PID/mem, where `by_fd`; else -1 */
    bool by_fd; /* process_vm_readv() does not work here */
    bool here;  /* the helper may not read: Yama lets a process's own ancestors alone */
    bool gone;  /* the process has ended: nothing is read any more */
    struct cairn_unread unread;
};

/* Tries one call, so that a lack of rights shows here. CAIRN_E_MISSING: no such process.
 * CAIRN_E_ACCESS: the hint says what to do. */
int cairn_mem_open(int pid, struct cairn_mem *ret_mem, struct cairn_err *err);

/* The same by /proc/PID/mem at once: what cairn_mem_open() falls back to. */
int cairn_mem_open_file(int pid, struct cairn_mem *ret_mem, struct cairn_err *err);

void cairn_mem_close(struct cairn_mem *mem); /* all-zero is fine */

/* Reads from the front until `size` bytes are there or a page cannot be read; returns how many.
 * `unread.why` says where the page was not to be read. */
size_t cairn_mem_read(struct cairn_mem *mem, uint64_t va, void *out, size_t size);

/* All of it, or CAIRN_E_MISSING; `out` may then be half filled. */
int cairn_mem_read_exact(struct cairn_mem *mem, uint64_t va, void *out, size_t size,
                         struct cairn_err *err);

#endif /* CAIRN_PROC_MEM_H */
