/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Sample: which blocks are recorded where not all are: those that hold a point of a Poisson process
 * on the line of allocated bytes, one point in `mean` bytes. A block of n bytes is so with a
 * probability of 1 - exp(-n / mean), whatever its neighbours are: that is how the reader weighs it.
 */
#ifndef CAIRN_HEAP_SAMPLE_H
#define CAIRN_HEAP_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "rt/heap_state.h"

/* A thread's. All zero at first. */
struct cairn_heap_sampler {
    uint64_t random;
    int64_t until; /* bytes to the next point */
};

/* `seed`: any number, another one for each thread. */
void cairn_heap_sample_begin(struct cairn_heap_sampler *sampler, uint64_t mean, uint64_t seed);
/* Is the next block, of `bytes`, recorded? */
bool cairn_heap_sample_takes(struct cairn_heap_sampler *sampler, uint64_t mean, uint64_t bytes);
/* What one counts for that was taken (rt/heap_state.h). `mean` may be 0. */
struct cairn_heap_share cairn_heap_sample_share(struct cairn_heap_sampler *sampler, uint64_t mean,
                                                uint64_t bytes);

#endif /* CAIRN_HEAP_SAMPLE_H */
