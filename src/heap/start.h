/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Start: how a process and each of its threads get what they need, at their first block: no
 * constructor is early enough. And how a child of fork notices that it is one.
 */
#ifndef CAIRN_HEAP_START_H
#define CAIRN_HEAP_START_H

#include "heap/heap.h"

/* The calling thread's own, not idle: to be made idle when the call is done. NULL: it is within a
 * call (then *ret_heap is what may be written to without a lock), or nothing is recorded
 * (*ret_heap is NULL). */
struct cairn_heap_own *cairn_heap_start_thread(struct cairn_heap **ret_heap);

/* What the real malloc needs (shadow.h), before the first block; else 3. */
extern unsigned cairn_heap_granule_bits __attribute__((visibility("hidden")));

/* Records from now on, in the calling thread and in those that come, into a state as `settings`
 * ask; for tests. False: it cannot be. */
bool cairn_heap_start(const struct cairn_heap_settings *settings);

/* The state of this process, NULL: none. */
struct cairn_heap *cairn_heap_present(void);

#endif /* CAIRN_HEAP_START_H */
