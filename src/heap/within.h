/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Within: births and deaths that come while a call of their thread is under way, in a signal
 * handler, and those of a thread that there is no room for. No lock may be taken, and nothing is
 * captured.
 */
#ifndef CAIRN_HEAP_WITHIN_H
#define CAIRN_HEAP_WITHIN_H

#include "heap/track.h"

void cairn_heap_born_within(struct cairn_tracked_heap *heap, const void *block, uint64_t bytes,
                            unsigned kind);
struct cairn_heap_death cairn_heap_died_within(struct cairn_tracked_heap *heap, const void *block);

#endif /* CAIRN_HEAP_WITHIN_H */
