/* SPDX-License-Identifier: MIT */
#include "symbol/index_columns.h"

#include "base/error.h"

enum { HEAD_OF_COLUMN = 4 + 1, WIDTH_MAX = 32, KEY = 4 };

/* One block whose rows were found to lie inside. */
struct block {
    const uint8_t *head;
    uint64_t bits; /* where the rows begin, in bits from the start of the data */
    unsigned width[CAIRN_COLUMNS_MAX];
    unsigned row_bits;
    unsigned n; /* rows; 0: damaged */
};

/* Everything here is called with a number of columns that the compiler knows. */
static inline __attribute__((always_inline)) void
open_block(const struct cairn_columns *c, unsigned n_columns, uint32_t number, struct block *block)
{
    size_t head = (size_t)n_columns * HEAD_OF_COLUMN;
    uint32_t off = cairn_le32(c->blocks.data + (size_t)number * KEY);
    unsigned widest = 0;
    block->n = 0;
    if (off > c->data.size || head > c->data.size - off)
        return;
    block->head = c->data.data + off;
    block->bits = ((uint64_t)off + head) * 8;
    block->row_bits = 0;
    for (unsigned i = 0; i < n_columns; i++) {
        block->width[i] = block->head[n_columns * 4 + i];
        block->row_bits += block->width[i];
        widest |= block->width[i] > WIDTH_MAX;
    }
    uint32_t left = c->n - number * CAIRN_COLUMNS_BLOCK;
    unsigned n = left < CAIRN_COLUMNS_BLOCK ? left : CAIRN_COLUMNS_BLOCK;
    uint64_t end = (block->bits + (uint64_t)n * block->row_bits + 7) / 8;
    if (!widest && end + CAIRN_COLUMNS_PADDING <= c->data.size)
        block->n = n;
}

/* `width` bits at a place inside the block. */
static inline uint32_t load(const struct cairn_columns *c, uint64_t bit, unsigned width)
{
    uint64_t bits = cairn_le64(c->data.data + bit / 8) >> bit % 8;
    return (uint32_t)(bits & ((1ull << width) - 1));
}

static inline uint32_t value_of(const struct block *block, unsigned column, uint32_t stored)
{
    return stored ? cairn_le32(block->head + (size_t)column * 4) + stored - 1 : 0;
}

static inline __attribute__((always_inline)) void read_row(const struct cairn_columns *c,
                                                           unsigned n_columns,
                                                           const struct block *block, unsigned row,
                                                           uint32_t *ret_values)
{
    uint64_t bit = block->bits + (uint64_t)row * block->row_bits;
    for (unsigned i = 0; i < n_columns; i++) {
        ret_values[i] = value_of(block, i, load(c, bit, block->width[i]));
        bit += block->width[i];
    }
}

bool cairn_columns_fit(const struct cairn_columns *c, bool has_keys)
{
    size_t n = c->n / CAIRN_COLUMNS_BLOCK + (c->n % CAIRN_COLUMNS_BLOCK != 0);
    return c->blocks.size == n * KEY && c->keys.size == (has_keys ? n * KEY : 0);
}

static inline __attribute__((always_inline)) void
row_of(const struct cairn_columns *c, unsigned n_columns, uint32_t row, uint32_t *ret_values)
{
    struct block block;
    block.n = 0;
    if (row < c->n)
        open_block(c, n_columns, row / CAIRN_COLUMNS_BLOCK, &block);
    if (row % CAIRN_COLUMNS_BLOCK < block.n)
        read_row(c, n_columns, &block, row % CAIRN_COLUMNS_BLOCK, ret_values);
    else
        memset(ret_values, 0, n_columns * sizeof *ret_values);
}

void cairn_columns_row(const struct cairn_columns *c, uint32_t row, uint32_t *ret_values)
{
    if (c->n_columns == 4)
        row_of(c, 4, row, ret_values);
    else
        row_of(c, c->n_columns, row, ret_values);
}

/* The number of rows of the block that do not begin above `key`. */
static inline unsigned count_rows(const struct cairn_columns *c, const struct block *block,
                                  uint32_t key)
{
    unsigned first = 0, rows = block->n;
    while (rows) {
        unsigned half = rows / 2;
        uint64_t bit = block->bits + (uint64_t)(first + half) * block->row_bits;
        bool below = value_of(block, 0, load(c, bit, block->width[0])) <= key;
        first = below ? first + half + 1 : first;
        rows = below ? rows - half - 1 : half;
    }
    return first;
}

static inline uint32_t key_of(const struct cairn_columns *c, size_t block)
{
    return cairn_le32(c->keys.data + block * KEY);
}

/* The number of blocks that begin at or below `key`. */
static size_t count_blocks(const struct cairn_columns *c, uint32_t key)
{
    size_t low = 0, n = c->keys.size / KEY;
    while (n) {
        size_t half = n / 2;
        bool below = key_of(c, low + half) <= key;
        low = below ? low + half + 1 : low;
        n = below ? n - half - 1 : half;
    }
    return low;
}

static inline __attribute__((always_inline)) bool
find_row(const struct cairn_columns *c, unsigned n_columns, uint32_t key, uint32_t *ret_values)
{
    size_t blocks = count_blocks(c, key);
    if (!blocks)
        return false;
    struct block block;
    open_block(c, n_columns, (uint32_t)(blocks - 1), &block);
    unsigned rows = count_rows(c, &block, key);
    if (rows)
        read_row(c, n_columns, &block, rows - 1, ret_values);
    return rows != 0;
}

bool cairn_columns_find(const struct cairn_columns *c, uint32_t key, uint32_t *ret_values)
{
    return c->n_columns == 4 ? find_row(c, 4, key, ret_values)
                             : find_row(c, c->n_columns, key, ret_values);
}

/* Does `key` belong to this block? */
static bool is_in_block(const struct cairn_columns *c, size_t block, uint32_t key)
{
    size_t n = c->keys.size / KEY;
    return block < n && key_of(c, block) <= key && (block + 1 == n || key < key_of(c, block + 1));
}

/* Moves the cursor to the row for `key` in block number `number`. */
static inline __attribute__((always_inline)) bool move_cursor(const struct cairn_columns *c,
                                                              unsigned n_columns, size_t number,
                                                              uint32_t key,
                                                              struct cairn_columns_cursor *cursor)
{
    struct block block;
    open_block(c, n_columns, (uint32_t)number, &block);
    unsigned rows = count_rows(c, &block, key);
    if (!rows)
        return false;
    read_row(c, n_columns, &block, rows - 1, cursor->values);
    cursor->block = (uint32_t)number;
    cursor->low = cursor->values[0];
    if (rows < block.n)
        cursor->high = value_of(
            &block, 0, load(c, block.bits + (uint64_t)rows * block.row_bits, block.width[0]));
    else
        cursor->high = number + 1 < c->keys.size / KEY ? key_of(c, number + 1) : UINT32_MAX;
    return true;
}

bool cairn_columns_find_near(const struct cairn_columns *c, struct cairn_columns_cursor *cursor,
                             uint32_t key, uint32_t *ret_values)
{
    if (key < cursor->low || key >= cursor->high) {
        size_t number = cursor->block;
        if (!is_in_block(c, number, key) && !is_in_block(c, ++number, key)) {
            number = count_blocks(c, key);
            if (!number--)
                return false;
        }
        bool found = c->n_columns == 4 ? move_cursor(c, 4, number, key, cursor)
                                       : move_cursor(c, c->n_columns, number, key, cursor);
        if (!found)
            return false;
    }
    memcpy(ret_values, cursor->values, c->n_columns * sizeof *ret_values);
    return true;
}

/* Bits on their way into bytes. */
struct bits {
    uint8_t *at;   /* behind it there is room for 8 bytes */
    uint64_t held; /* below 8 bits between two calls */
    unsigned n_held;
};

enum { BITS_AT_ONCE = 56 };

/* At most BITS_AT_ONCE. */
static inline void put_bits(struct bits *b, uint64_t value, unsigned width)
{
    uint64_t bits = b->held | value << b->n_held;
    unsigned n = b->n_held + width;
    uint64_t stored = cairn_le64((const uint8_t *)&bits);
    memcpy(b->at, &stored, sizeof stored);
    b->at += n / 8;
    b->held = bits >> (n & ~7u);
    b->n_held = n % 8;
}

/* What all values of a column are counted from, and how wide they are then. */
struct packing {
    uint32_t least[CAIRN_COLUMNS_MAX];
    unsigned width[CAIRN_COLUMNS_MAX];
    unsigned row_bits;
};

static inline __attribute__((always_inline)) struct packing
choose_packing(const struct cairn_columns_writer *w, unsigned n_columns, unsigned n)
{
    struct packing p = {.row_bits = 0};
    for (unsigned c = 0; c < n_columns; c++) {
        uint32_t most = 0, low = UINT32_MAX; /* of 0 minus 1, what is not there comes last */
        for (unsigned i = 0; i < n; i++) {
            uint32_t value = w->waiting[c][i];
            low = value - 1 < low ? value - 1 : low;
            most = value > most ? value : most;
        }
        p.least[c] = low;
        p.width[c] = most ? 32 - (unsigned)__builtin_clz(most - low) : 0;
        p.row_bits += p.width[c];
    }
    return p;
}

static inline __attribute__((always_inline)) void put_rows(const struct cairn_columns_writer *w,
                                                           unsigned n_columns, unsigned n,
                                                           const struct packing *p,
                                                           struct bits *bits)
{
    bool whole = p->row_bits <= BITS_AT_ONCE;
    for (unsigned i = 0; i < n; i++) {
        uint64_t row = 0;
        unsigned filled = 0;
        for (unsigned c = 0; c < n_columns; c++) {
            uint32_t value = w->waiting[c][i];
            uint64_t stored = value ? value - p->least[c] : 0;
            if (whole)
                row |= stored << filled;
            else
                put_bits(bits, stored, p->width[c]);
            filled += p->width[c];
        }
        if (whole)
            put_bits(bits, row, filled);
    }
}

static inline __attribute__((always_inline)) void pack_block(struct cairn_columns_writer *w,
                                                             unsigned n_columns, unsigned n)
{
    struct packing p = choose_packing(w, n_columns, n);
    uint8_t head[CAIRN_COLUMNS_MAX * HEAD_OF_COLUMN];
    for (unsigned c = 0; c < n_columns; c++) {
        uint32_t first = p.width[c] ? p.least[c] + 1 : 0;
        first = cairn_le32((const uint8_t *)&first);
        memcpy(head + (size_t)c * 4, &first, sizeof first);
        head[n_columns * 4 + c] = (uint8_t)p.width[c];
    }
    cairn_buffer_add(w->data, head, (size_t)n_columns * HEAD_OF_COLUMN);
    if (!cairn_buffer_reserve(w->data, sizeof w->waiting + 8))
        return;
    struct bits bits = {.at = w->data->data + w->data->size};
    put_rows(w, n_columns, n, &p, &bits);
    w->data->size = (size_t)(bits.at - w->data->data) + (bits.n_held != 0);
}

static void write_block(struct cairn_columns_writer *w)
{
    unsigned n = w->n_waiting;
    w->n_waiting = 0;
    cairn_buffer_le(&w->keys, w->waiting[0][0], KEY);
    cairn_buffer_le(&w->blocks, w->data->size - w->start, KEY);
    if (w->n_columns == 4 && n == CAIRN_COLUMNS_BLOCK)
        pack_block(w, 4, CAIRN_COLUMNS_BLOCK);
    else
        pack_block(w, w->n_columns, n);
}

void cairn_columns_flush(struct cairn_columns_writer *w)
{
    write_block(w);
}

void cairn_columns_begin(struct cairn_columns_writer *w, struct cairn_buffer *data)
{
    w->data = data;
    w->start = data->size;
}

int cairn_columns_finish(struct cairn_columns_writer *w, struct cairn_err *err)
{
    if (w->n_waiting)
        write_block(w);
    cairn_buffer_le(w->data, 0, CAIRN_COLUMNS_PADDING);
    if (w->keys.failed || w->blocks.failed || w->data->failed)
        return cairn_fail_memory(err);
    w->size = w->data->size - w->start;
    if (w->size > UINT32_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, "a table of the index has %zu bytes, more than 4 GiB",
                          w->size);
    return CAIRN_OK;
}

void cairn_columns_done(struct cairn_columns_writer *w)
{
    cairn_buffer_done(&w->keys);
    cairn_buffer_done(&w->blocks);
}
