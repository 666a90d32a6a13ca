/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Empty: leaves of the shadow table that have emptied are given back, a batch at a time. Nobody
 * waits: a thread that looks at the clock anyway does the next step if it is due, and no other one
 * is about it.
 *
 *     looking    some leaves are read, on from the last one; those that are empty are closed
 *     closed     until every thread was seen outside of any call since: so none is left that found
 *                one of them open before
 *     due        each one that is empty and closed still is cut off, read again, and its room given
 *                back: some with every step
 *
 * Threads say that they are within a call by an ordinary store (heap/own.h), so that a call costs
 * no fence. What is held against each other here, that word and the pieces' words, was therefore
 * written at least a pause before it is read, longer than any CPU keeps a store to itself: each
 * drains its own at the latest with the next interrupt of its clock.
 */
#ifndef CAIRN_HEAP_EMPTY_H
#define CAIRN_HEAP_EMPTY_H

#include "heap/shadow.h"

enum { CAIRN_HEAP_EMPTY_BATCH = 64 };

enum cairn_heap_empty_step {
    CAIRN_HEAP_EMPTY_LOOKING,
    CAIRN_HEAP_EMPTY_CLOSED,
    CAIRN_HEAP_EMPTY_DUE
};

struct cairn_heap_empty {
    struct cairn_lock lock; /* of who does a step; nobody waits for it but fork(3) */
    _Atomic(uint64_t) next_ns;
    enum cairn_heap_empty_step step;
    uint32_t look;    /* the number of this batch: own.h, outside */
    uint32_t n_tries; /* at which a thread was within a call */
    uint32_t hand;    /* the chunk to go on from */
    uint32_t n;
    uint32_t chunks[CAIRN_HEAP_EMPTY_BATCH];
    struct cairn_heap_leaf leaves[CAIRN_HEAP_EMPTY_BATCH]; /* of these chunks */
};

struct cairn_tracked_heap;

/* The next step, if it is due: half a millisecond at most, about. The calling thread holds no place
 * of the shadow table, nor any lock. */
void cairn_heap_empty_look(struct cairn_tracked_heap *heap, uint64_t now_ns);

/* Between two steps; tests make it shorter. Not below ten milliseconds where it has to hold what is
 * said above. */
extern uint64_t cairn_heap_empty_pause_ns __attribute__((visibility("hidden")));

#endif /* CAIRN_HEAP_EMPTY_H */
