/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Map calls: what mmap(2), munmap(2), mremap(2), brk(2) and sbrk(3) do, as the interposed functions
 * tell it:
 *
 *     begin ── the stack
 *     [lock] ── before a call that takes addresses away, for the next who asks may get them
 *     the real call
 *     made, gone
 *     end
 */
#ifndef CAIRN_HEAP_MAP_CALLS_H
#define CAIRN_HEAP_MAP_CALLS_H

#include "heap/heap.h"
#include "unwind/local.h"

struct cairn_heap_map_call {
    struct cairn_tracked_heap *heap; /* NULL: nothing is recorded */
    struct cairn_heap_own *own; /* NULL: within a call of this thread: it can only be counted */
    uint32_t stack;
    bool locked;
};

/* `at`: who calls; NULL for what makes no mapping. */
void cairn_heap_map_begin(struct cairn_heap_map_call *call, const struct cairn_local_frame_at *at);
void cairn_heap_map_lock(struct cairn_heap_map_call *call);
void cairn_heap_map_made(struct cairn_heap_map_call *call, uint64_t va, uint64_t bytes,
                         enum cairn_heap_map_kind kind);
void cairn_heap_map_gone(struct cairn_heap_map_call *call, uint64_t va, uint64_t bytes);
/* It has another place and size now, and is a new one. */
void cairn_heap_map_moved(struct cairn_heap_map_call *call, const struct cairn_heap_range *from,
                          uint64_t va, uint64_t bytes);
void cairn_heap_map_end(struct cairn_heap_map_call *call);

#endif /* CAIRN_HEAP_MAP_CALLS_H */
