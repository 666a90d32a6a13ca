/* SPDX-License-Identifier: MIT */
/* Sorted rows of any shape: which is the last one that begins at or below a number? */
#ifndef CAIRN_BASE_BELOW_H
#define CAIRN_BASE_BELOW_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* How many of `n` rows have a number of at most `at`. The number is the uint64_t that lies
 * `offset` bytes into each row of `row_bytes`; the rows rise by it. Signal-safe. */
static inline size_t cairn_count_below(const void *rows, size_t n, size_t row_bytes, size_t offset,
                                       uint64_t at)
{
    const uint8_t *bytes = rows; /* NULL where there are none */
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t number;
        memcpy(&number, bytes + middle * row_bytes + offset, sizeof number);
        if (number <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* By a member of the rows. */
#define CAIRN_COUNT_BELOW(rows, n, member, at)                                                     \
    cairn_count_below((rows), (n), sizeof *(rows),                                                 \
                      offsetof(__typeof__(*(rows)), member) +                                      \
                          0 * sizeof(struct {                                                      \
                              _Static_assert(sizeof(rows)->member == 8, "a uint64_t");             \
                              int none;                                                            \
                          }),                                                                      \
                      (at))

#endif /* CAIRN_BASE_BELOW_H */
