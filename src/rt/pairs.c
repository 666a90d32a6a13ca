/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "rt/pairs.h"

#include <stdbool.h>

static bool less(const struct cairn_pair *a, const struct cairn_pair *b)
{
    return a->key < b->key || (a->key == b->key && a->value < b->value);
}

/* Lets what is at `i` sink into a heap of `n`. */
static void sink(struct cairn_pair *pairs, size_t i, size_t n)
{
    struct cairn_pair moved = pairs[i];
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && less(&pairs[child], &pairs[child + 1]))
            child++;
        if (!less(&moved, &pairs[child]))
            break;
        pairs[i] = pairs[child];
    }
    pairs[i] = moved;
}

void cairn_pairs_sort(struct cairn_pair *pairs, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        sink(pairs, i, n);
    for (size_t last = n; last-- > 1;) {
        struct cairn_pair largest = pairs[0];
        pairs[0] = pairs[last];
        pairs[last] = largest;
        sink(pairs, 0, last);
    }
}

size_t cairn_pairs_find(const struct cairn_pair *pairs, size_t n, uint64_t key)
{
    size_t low = 0;
    while (low < n) {
        size_t middle = low + (n - low) / 2;
        if (pairs[middle].key < key)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}
