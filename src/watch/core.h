/* SPDX-License-Identifier: MIT */
/*
 * Core: the heap of a process that a core file is left of.
 *
 *     the tracker's state ──────────────────────────────► heap, with birth stacks
 *       in the core's memory, or where the process had it
 *     glibc's arenas ──core_blocks.c──► kinds of blocks ──► heap, without
 */
#ifndef CAIRN_WATCH_CORE_H
#define CAIRN_WATCH_CORE_H

#include <cairn/maps.h>

#include "target/core_memory.h"
#include "watch/heap.h"

struct cairn_heap_core {
    struct cairn_unwind_space *space;
    const struct cairn_core_target *file;
    struct cairn_maps *maps;
    uint64_t break_start, break_end; /* what brk(2) gave the main arena, once the heap is read; 0:
                                        not known */
    bool is_unseen;                  /* no tracker saw its blocks */
};

/* CAIRN_E_SUPPORT: of another machine. */
int cairn_heap_core_open(const char *path, struct cairn_heap_core **ret_core,
                         struct cairn_err *err);
void cairn_heap_core_close(struct cairn_heap_core *core); /* accepts NULL */

int cairn_heap_core_pid(const struct cairn_heap_core *core); /* 0: not known */

/* CAIRN_E_MISSING: neither a tracker's state nor glibc's malloc is in it. */
int cairn_heap_core_read(struct cairn_heap_core *core, struct cairn_heap **ret_heap,
                         struct cairn_err *err);

/* core_blocks.c: a state of the blocks that glibc's arenas have. */
int cairn_heap_core_blocks(struct cairn_heap_core *core, struct cairn_buffer *ret_bytes,
                           struct cairn_err *err);

#endif /* CAIRN_WATCH_CORE_H */
