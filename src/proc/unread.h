/* SPDX-License-Identifier: MIT */
/*
 * Unread: the memory of a process that is not read, because a read may never return: mappings of
 * FUSE files, ranges under userfaultfd(2), and pages whose read was given up at its deadline.
 */
#ifndef CAIRN_PROC_UNREAD_H
#define CAIRN_PROC_UNREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cairn_maps;

/* Reads that may be given up before a process's memory is left alone altogether. */
enum { CAIRN_UNREAD_HUNG_MAX = 4 };

struct cairn_unread_range {
    uint64_t start, end;
    const char *why; /* static */
};

struct cairn_unread {
    struct cairn_unread_range *ranges;
    size_t n, cap;
    unsigned n_hung;
    const char *why; /* of the last refusal; NULL: none was refused */
    uint64_t why_va;
};

void cairn_unread_done(struct cairn_unread *unread);   /* all-zero is fine */
void cairn_unread_forget(struct cairn_unread *unread); /* all but n_hung: the mappings changed */

void cairn_unread_add(struct cairn_unread *unread, uint64_t start, uint64_t end, const char *why);

/* Reasons to give it. */
extern const char cairn_unread_fuse[], cairn_unread_uffd[];

/* Adds the mappings of FUSE files. */
void cairn_unread_add_maps(struct cairn_unread *unread, int pid, const struct cairn_maps *maps);

/* How many bytes from `va` on may be read; 0: none, and `why` says why. */
size_t cairn_unread_clip(struct cairn_unread *unread, uint64_t va, size_t size);

/* A read of [va, va + size) was given up. Asks the kernel which ranges are under userfaultfd(2)
 * (VmFlags of /proc/PID/smaps, which is too slow to be asked before). Where that does not explain
 * it, the bytes are not read again. */
void cairn_unread_hung(struct cairn_unread *unread, int pid, uint64_t va, size_t size);

/* Adds what one smaps text says; for tests, too. */
void cairn_unread_parse(struct cairn_unread *unread, const char *text);

#endif /* CAIRN_PROC_UNREAD_H */
