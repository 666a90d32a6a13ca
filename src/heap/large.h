/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Large: the sizes of blocks that are too large for their entries, aside (rt/heap_state.h). There
 * are few of 4 MiB and more: a list, under a lock.
 */
#ifndef CAIRN_HEAP_LARGE_H
#define CAIRN_HEAP_LARGE_H

#include "heap/state.h"

enum {
    CAIRN_HEAP_LARGE_A_CHUNK = CAIRN_HEAP_CHUNK / (int)sizeof(struct cairn_heap_large),
    CAIRN_HEAP_LARGE_CHUNKS = 64
};

struct cairn_heap_large_table {
    struct cairn_lock lock;
    uint32_t n; /* used places, but for holes below */
    uint32_t n_chunks;
    struct cairn_heap_large *chunks[CAIRN_HEAP_LARGE_CHUNKS];
};

/* False: no room. */
bool cairn_heap_large_put(struct cairn_heap_large_table *table, struct cairn_tracked_state *state,
                          uint64_t va, uint64_t bytes);
/* Its size, and forgets it; 0 if it is not there. */
uint64_t cairn_heap_large_take(struct cairn_heap_large_table *table, uint64_t va);

#endif /* CAIRN_HEAP_LARGE_H */
