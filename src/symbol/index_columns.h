/* SPDX-License-Identifier: MIT */
/*
 * Tables of small numbers, packed: rows in blocks of 64, each column as wide as the largest of its
 * values in the block needs, any row readable by itself.
 *
 *     keys    | first key of block 0 | of block 1 | ...            u32 each; sorted tables only
 *     blocks  | where block 0 begins | block 1 | ...               u32 each, counted from `data`
 *     data    | block 0: smallest values, u32 a column | widths, u8 a column | rows, bit by bit |
 *
 * A stored 0 is the value 0; any other is counted from the smallest value of the block that is not
 * 0, which is stored as 1. So "none" costs the others nothing. Everything is little-endian, and the
 * data ends with 8 bytes of padding, so that a value can be loaded by one read of 8 bytes.
 *
 * A table may come out of a file that was damaged: a row then holds wrong numbers, but no read
 * leaves the spans.
 */
#ifndef CAIRN_SYMBOL_INDEX_COLUMNS_H
#define CAIRN_SYMBOL_INDEX_COLUMNS_H

#include <cairn/error.h>

#include "base/buffer.h"

enum {
    CAIRN_COLUMNS_MAX = 5,
    CAIRN_COLUMNS_BLOCK = 64, /* rows */
    CAIRN_COLUMNS_PADDING = 8
};

struct cairn_columns {
    struct cairn_span keys, blocks, data; /* borrowed */
    uint32_t n;                           /* rows */
    unsigned n_columns;
};

/* Do the spans fit the number of rows? What is inside the blocks is checked at each read. */
bool cairn_columns_fit(const struct cairn_columns *c, bool has_keys);

/* The values of a row; zeros where there is no such row. */
void cairn_columns_row(const struct cairn_columns *c, uint32_t row, uint32_t *ret_values);

/* The last row whose first value is not above `key`; false where there is none. */
bool cairn_columns_find(const struct cairn_columns *c, uint32_t key, uint32_t *ret_values);

/* The row that a look-up ended at: questions that come sorted mostly end there, or close behind.
 * All-zero to begin. */
struct cairn_columns_cursor {
    uint32_t low, high; /* keys whose answer it is: [low, high) */
    uint32_t block;     /* that it is in */
    uint32_t values[CAIRN_COLUMNS_MAX];
};

/* As cairn_columns_find(), beginning at the cursor. */
bool cairn_columns_find_near(const struct cairn_columns *c, struct cairn_columns_cursor *cursor,
                             uint32_t key, uint32_t *ret_values);

/* A table in the making; all-zero but for n_columns. Lack of memory latches in the buffers. */
struct cairn_columns_writer {
    unsigned n_columns;
    uint32_t n;
    struct cairn_buffer keys, blocks;
    struct cairn_buffer *data; /* where blocks go, behind what is there; borrowed */
    size_t start, size;        /* of what was appended; the size is known once it is finished */
    unsigned n_waiting;        /* rows of the block in the making */
    uint32_t waiting[CAIRN_COLUMNS_MAX][CAIRN_COLUMNS_BLOCK];
};

/* Before the first row: nobody else may append to `data` until cairn_columns_finish(). */
void cairn_columns_begin(struct cairn_columns_writer *w, struct cairn_buffer *data);

void cairn_columns_flush(struct cairn_columns_writer *w); /* the block that is full */

/* Appends a row; those that are not of the table are not looked at. */
static inline void cairn_columns_add(struct cairn_columns_writer *w, const uint32_t *values)
{
    for (unsigned c = 0; c < w->n_columns; c++)
        w->waiting[c][w->n_waiting] = values[c];
    w->n++;
    if (++w->n_waiting == CAIRN_COLUMNS_BLOCK)
        cairn_columns_flush(w);
}

/* Writes what waits, and the padding. CAIRN_E_NOMEM; CAIRN_E_LIMIT: more than 4 GiB. */
int cairn_columns_finish(struct cairn_columns_writer *w, struct cairn_err *err);
void cairn_columns_done(struct cairn_columns_writer *w); /* `data` stays */

/* Little-endian numbers, as all images keep them. */
static inline uint64_t cairn_le64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? value : __builtin_bswap64(value);
}

static inline uint32_t cairn_le32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? value : __builtin_bswap32(value);
}

#endif /* CAIRN_SYMBOL_INDEX_COLUMNS_H */
