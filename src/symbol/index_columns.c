/* SPDX-License-Identifier: MIT */
#include "symbol/index_columns.h"

#include "base/error.h"

enum { HEAD_OF_COLUMN = 4 + 1, WIDTH_MAX = 32, KEY = 4 };

/* One block, its place and widths known; `n` is 0 where it does not lie inside. */
struct block {
    const uint8_t *head;
    uint64_t bits; /* where the rows begin, in bits from the start of the data */
    unsigned row_bits;
    unsigned n;
};

static struct block block_at(const struct cairn_columns *c, uint32_t number)
{
    struct block block = {0};
    size_t head = (size_t)c->n_columns * HEAD_OF_COLUMN;
    uint32_t off = cairn_le32(c->blocks.data + (size_t)number * KEY);
    if (off > c->data.size || head > c->data.size - off)
        return block;
    block.head = c->data.data + off;
    block.bits = ((uint64_t)off + head) * 8;
    const uint8_t *widths = block.head + (size_t)c->n_columns * 4;
    for (unsigned i = 0; i < c->n_columns; i++) {
        if (widths[i] > WIDTH_MAX)
            return block;
        block.row_bits += widths[i];
    }
    uint32_t left = c->n - number * CAIRN_COLUMNS_BLOCK;
    block.n = left < CAIRN_COLUMNS_BLOCK ? left : CAIRN_COLUMNS_BLOCK;
    uint64_t end = (block.bits + (uint64_t)block.n * block.row_bits + 7) / 8;
    if (end + CAIRN_COLUMNS_PADDING > c->data.size)
        block.n = 0;
    return block;
}

/* `width` bits at a place that block_at() found to lie inside. */
static inline uint32_t load(const struct cairn_columns *c, uint64_t bit, unsigned width)
{
    uint64_t bits = cairn_le64(c->data.data + bit / 8) >> bit % 8;
    return (uint32_t)(bits & ((1ull << width) - 1));
}

static inline uint32_t value_of(const struct block *block, unsigned column, uint32_t stored)
{
    return stored ? cairn_le32(block->head + (size_t)column * 4) + stored - 1 : 0;
}

static void read_row(const struct cairn_columns *c, const struct block *block, unsigned row,
                     uint32_t *ret_values)
{
    const uint8_t *widths = block->head + (size_t)c->n_columns * 4;
    uint64_t bit = block->bits + (uint64_t)row * block->row_bits;
    for (unsigned i = 0; i < c->n_columns; i++) {
        ret_values[i] = value_of(block, i, load(c, bit, widths[i]));
        bit += widths[i];
    }
}

bool cairn_columns_fit(const struct cairn_columns *c, bool has_keys)
{
    size_t n = c->n / CAIRN_COLUMNS_BLOCK + (c->n % CAIRN_COLUMNS_BLOCK != 0);
    return c->blocks.size == n * KEY && c->keys.size == (has_keys ? n * KEY : 0);
}

void cairn_columns_row(const struct cairn_columns *c, uint32_t row, uint32_t *ret_values)
{
    struct block block = {0};
    if (row < c->n)
        block = block_at(c, row / CAIRN_COLUMNS_BLOCK);
    if (row % CAIRN_COLUMNS_BLOCK < block.n)
        read_row(c, &block, row % CAIRN_COLUMNS_BLOCK, ret_values);
    else
        memset(ret_values, 0, c->n_columns * sizeof *ret_values);
}

bool cairn_columns_find(const struct cairn_columns *c, uint32_t key, uint32_t *ret_values)
{
    size_t low = 0, n = c->keys.size / KEY;
    while (n) { /* the number of blocks that begin at or below `key` */
        size_t half = n / 2;
        if (cairn_le32(c->keys.data + (low + half) * KEY) <= key) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    if (!low)
        return false;
    struct block block = block_at(c, (uint32_t)(low - 1));
    unsigned first = 0, rows = block.n;
    unsigned width = rows ? block.head[c->n_columns * 4] : 0;
    while (rows) {
        unsigned half = rows / 2;
        uint64_t bit = block.bits + (uint64_t)(first + half) * block.row_bits;
        if (value_of(&block, 0, load(c, bit, width)) <= key) {
            first += half + 1;
            rows -= half + 1;
        } else {
            rows = half;
        }
    }
    if (!first)
        return false;
    read_row(c, &block, first - 1, ret_values);
    return true;
}

/* Bits on their way into bytes. */
struct bits {
    uint8_t *at;
    uint64_t held;
    unsigned n_held; /* below 32 between two values */
};

static inline void put_bits(struct bits *b, uint32_t value, unsigned width)
{
    b->held |= (uint64_t)value << b->n_held;
    b->n_held += width;
    if (b->n_held < 32)
        return;
    for (unsigned i = 0; i < 4; i++)
        *b->at++ = (uint8_t)(b->held >> 8 * i);
    b->held >>= 32;
    b->n_held -= 32;
}

static void flush_bits(struct bits *b)
{
    for (; b->n_held; b->n_held = b->n_held > 8 ? b->n_held - 8 : 0) {
        *b->at++ = (uint8_t)b->held;
        b->held >>= 8;
    }
}

static void write_block(struct cairn_columns_writer *w)
{
    uint32_t least[CAIRN_COLUMNS_MAX];
    unsigned width[CAIRN_COLUMNS_MAX];
    cairn_le_add(&w->keys, w->waiting[0][0], KEY);
    cairn_le_add(&w->blocks, w->data.size, KEY);
    for (unsigned c = 0; c < w->n_columns; c++) {
        uint32_t most = 0;
        least[c] = UINT32_MAX; /* of 0 minus 1, what is not there comes last */
        for (unsigned i = 0; i < w->n_waiting; i++) {
            uint32_t value = w->waiting[i][c];
            least[c] = value - 1 < least[c] ? value - 1 : least[c];
            most = value > most ? value : most;
        }
        width[c] = most > least[c] ? 32 - (unsigned)__builtin_clz(most - least[c]) : 0;
        cairn_le_add(&w->data, most ? least[c] + 1 : 0, 4);
    }
    for (unsigned c = 0; c < w->n_columns; c++)
        cairn_le_add(&w->data, width[c], 1);
    unsigned n = w->n_waiting;
    w->n_waiting = 0;
    if (!cairn_buffer_reserve(&w->data, sizeof w->waiting + 4))
        return;
    struct bits bits = {.at = w->data.data + w->data.size};
    for (unsigned i = 0; i < n; i++)
        for (unsigned c = 0; c < w->n_columns; c++)
            put_bits(&bits, w->waiting[i][c] ? w->waiting[i][c] - least[c] : 0, width[c]);
    flush_bits(&bits);
    w->data.size = (size_t)(bits.at - w->data.data);
}

void cairn_columns_add(struct cairn_columns_writer *w, const uint32_t *values)
{
    memcpy(w->waiting[w->n_waiting], values, w->n_columns * sizeof *values);
    w->n++;
    if (++w->n_waiting == CAIRN_COLUMNS_BLOCK)
        write_block(w);
}

int cairn_columns_finish(struct cairn_columns_writer *w, struct cairn_err *err)
{
    if (w->n_waiting)
        write_block(w);
    cairn_le_add(&w->data, 0, CAIRN_COLUMNS_PADDING);
    if (w->keys.failed || w->blocks.failed || w->data.failed)
        return cairn_fail_memory(err);
    if (w->data.size > UINT32_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, "a table of the index has %zu bytes, more than 4 GiB",
                          w->data.size);
    return CAIRN_OK;
}

void cairn_columns_done(struct cairn_columns_writer *w)
{
    cairn_buffer_done(&w->keys);
    cairn_buffer_done(&w->blocks);
    cairn_buffer_done(&w->data);
}
