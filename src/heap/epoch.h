/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Epoch: the coarse clock of blocks (rt/heap_state.h). Nobody ticks: threads look at the clock
 * every so many allocations, and who finds that the present epoch is over begins the next.
 */
#ifndef CAIRN_HEAP_EPOCH_H
#define CAIRN_HEAP_EPOCH_H

#include "heap/heap.h"

enum { CAIRN_HEAP_TICK = 64 /* allocations of a thread between two looks */ };

/* Begins the first one. False: no room. */
bool cairn_heap_epoch_init(struct cairn_tracked_heap *heap);
/* Looks at the clock. */
void cairn_heap_epoch_tick(struct cairn_tracked_heap *heap);
/* CLOCK_MONOTONIC, as coarse as the kernel's ticks. */
uint64_t cairn_heap_epoch_now_ns(void);

/* Ends the epoch, and begins one with the next mark; its number. 0: there is no room. */
uint32_t cairn_heap_epoch_mark(struct cairn_tracked_heap *heap);
/* The epoch that mark number `mark` began; 0: there is no such mark. */
uint32_t cairn_heap_epoch_of_mark(struct cairn_tracked_heap *heap, uint32_t mark);

#endif /* CAIRN_HEAP_EPOCH_H */
