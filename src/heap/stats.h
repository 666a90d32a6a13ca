/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Stats: sums of this process since it began or since they were last set to nothing. Without a
 * lock: a child of fork could have a copy of one that is held.
 */
#ifndef CAIRN_HEAP_STATS_H
#define CAIRN_HEAP_STATS_H

#include "heap/inside.h"

struct cairn_heap_stats {
    struct cairn_heap_counts counts;
    uint64_t n_live, live_bytes, peak_bytes;
};

void cairn_heap_stats(const struct cairn_tracked_heap *heap, struct cairn_heap_stats *ret_stats);
void cairn_heap_stats_reset(struct cairn_tracked_heap *heap);

#endif /* CAIRN_HEAP_STATS_H */
