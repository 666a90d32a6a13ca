/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Pairs: keys with what belongs to them, sorted and searched without the C library, whose qsort(3)
 * may call malloc.
 */
#ifndef CAIRN_RT_PAIRS_H
#define CAIRN_RT_PAIRS_H

#include <stddef.h>
#include <stdint.h>

struct cairn_pair {
    uint64_t key, value;
};

/* By key, then by value. In place, n log n. */
void cairn_pairs_sort(struct cairn_pair *pairs, size_t n);

/* The first one of sorted pairs whose key is `key` or more; `n`: there is none. */
size_t cairn_pairs_find(const struct cairn_pair *pairs, size_t n, uint64_t key);

#endif /* CAIRN_RT_PAIRS_H */
