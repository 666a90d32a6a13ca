/* SPDX-License-Identifier: MIT */
#include "dwarf/split_index.h"

#include "base/error.h"
#include "dwarf/constants.h"

enum {
    HEADER_BYTES = 16,
    COLUMNS_MAX = 64, /* 8 kinds of sections are known */
    PROBES_MAX = 4096 /* honest tables are at most two thirds full: a few are enough */
};

static enum cairn_dwarf_part part_of(unsigned version, uint32_t id)
{
    switch (id) {
    case CAIRN_DW_SECT_INFO:
        return CAIRN_DWARF_PART_INFO;
    case CAIRN_DW_SECT_GNU_TYPES:
        return version == 2 ? CAIRN_DWARF_PART_TYPES : CAIRN_DWARF_N_PARTS;
    case CAIRN_DW_SECT_ABBREV:
        return CAIRN_DWARF_PART_ABBREV;
    case CAIRN_DW_SECT_STR_OFFSETS:
        return CAIRN_DWARF_PART_STR_OFFSETS;
    case CAIRN_DW_SECT_RNGLISTS: /* DW_SECT_MACRO in version 2 */
        return version == 5 ? CAIRN_DWARF_PART_RNGLISTS : CAIRN_DWARF_N_PARTS;
    default:
        return CAIRN_DWARF_N_PARTS;
    }
}

/* The tables in the order in which they stand. */
static uint64_t rows_off(const struct cairn_dwarf_split_index *x)
{
    return HEADER_BYTES + 8ull * x->n_slots;
}

static uint64_t columns_off(const struct cairn_dwarf_split_index *x)
{
    return rows_off(x) + 4ull * x->n_slots;
}

static uint64_t offsets_off(const struct cairn_dwarf_split_index *x)
{
    return columns_off(x) + 4ull * x->n_columns;
}

static uint64_t sizes_off(const struct cairn_dwarf_split_index *x)
{
    return offsets_off(x) + 4ull * x->n_columns * x->n_units;
}

static uint64_t end_off(const struct cairn_dwarf_split_index *x)
{
    return sizes_off(x) + 4ull * x->n_columns * x->n_units;
}

static struct cairn_reader reader_at(const struct cairn_dwarf_split_index *x, uint64_t off)
{
    struct cairn_reader r = cairn_reader_of(x->bytes, x->swap);
    cairn_reader_seek(&r, off);
    return r;
}

static void read_header(struct cairn_dwarf_split_index *x)
{
    struct cairn_reader r = reader_at(x, 0);
    uint32_t word = cairn_reader_u32(&r);
    cairn_reader_seek(&r, 0);
    x->version = cairn_reader_u16(&r); /* two bytes and padding in version 5, four in version 2 */
    if (word == 2)
        x->version = 2;
    cairn_reader_seek(&r, 4);
    x->n_columns = cairn_reader_u32(&r);
    x->n_units = cairn_reader_u32(&r);
    x->n_slots = cairn_reader_u32(&r);
}

int cairn_dwarf_split_index_read(struct cairn_span section, bool swap,
                                 struct cairn_dwarf_split_index *ret_index, struct cairn_err *err)
{
    struct cairn_dwarf_split_index x = {.bytes = section, .swap = swap};
    if (!section.size) {
        *ret_index = x;
        return CAIRN_OK;
    }
    if (section.size < HEADER_BYTES)
        return cairn_fail(err, CAIRN_E_FORMAT, "index of %zu bytes, expected at least %d",
                          section.size, HEADER_BYTES);
    read_header(&x);
    if (x.version != 2 && x.version != 5)
        return cairn_fail(err, CAIRN_E_FORMAT, "index of version %u, expected 2 or 5", x.version);
    if (x.n_columns > COLUMNS_MAX || (x.n_slots & (x.n_slots - 1)) || x.n_units > x.n_slots ||
        end_off(&x) > section.size)
        return cairn_fail(err, CAIRN_E_FORMAT,
                          "index claims %u columns, %u units and %u slots, more than its 0x%zx "
                          "bytes hold, or slots that are no power of two",
                          x.n_columns, x.n_units, x.n_slots, section.size);
    struct cairn_reader r = reader_at(&x, columns_off(&x));
    for (uint32_t i = 0; i < x.n_columns; i++) {
        enum cairn_dwarf_part part = part_of(x.version, cairn_reader_u32(&r));
        if (part != CAIRN_DWARF_N_PARTS && !x.column[part])
            x.column[part] = i + 1;
    }
    *ret_index = x;
    return CAIRN_OK;
}

/* The row in a slot, 1 to n_units; 0: the slot is free. */
static uint32_t row_in(const struct cairn_dwarf_split_index *x, uint64_t slot)
{
    struct cairn_reader r = reader_at(x, rows_off(x) + 4 * slot);
    return cairn_reader_u32(&r);
}

static uint64_t signature_in(const struct cairn_dwarf_split_index *x, uint64_t slot)
{
    struct cairn_reader r = reader_at(x, HEADER_BYTES + 8 * slot);
    return cairn_reader_u64(&r);
}

static bool read_row(const struct cairn_dwarf_split_index *x, uint32_t row,
                     struct cairn_dwarf_contribution *ret_contribution)
{
    struct cairn_dwarf_contribution found = {0};
    if (row > x->n_units)
        return false;
    for (int i = 0; i < CAIRN_DWARF_N_PARTS; i++) {
        if (!x->column[i])
            continue;
        uint64_t cell = 4 * ((row - 1ull) * x->n_columns + x->column[i] - 1);
        struct cairn_reader off = reader_at(x, offsets_off(x) + cell);
        struct cairn_reader size = reader_at(x, sizes_off(x) + cell);
        found.part[i].off = cairn_reader_u32(&off);
        found.part[i].size = cairn_reader_u32(&size);
    }
    *ret_contribution = found;
    return true;
}

bool cairn_dwarf_split_index_find(const struct cairn_dwarf_split_index *index, uint64_t signature,
                                  struct cairn_dwarf_contribution *ret_contribution)
{
    uint64_t mask = index->n_slots - 1u, slot = signature & mask;
    uint64_t step = (signature >> 32 & mask) | 1;
    for (uint32_t i = 0; i < index->n_slots && i < PROBES_MAX; i++, slot = (slot + step) & mask) {
        uint32_t row = row_in(index, slot);
        if (!row)
            return false;
        if (signature_in(index, slot) == signature)
            return read_row(index, row, ret_contribution);
    }
    return false;
}

bool cairn_dwarf_split_index_next(const struct cairn_dwarf_split_index *index, uint32_t *cursor,
                                  uint64_t *ret_signature)
{
    while (*cursor < index->n_slots) {
        uint32_t slot = (*cursor)++;
        if (row_in(index, slot)) {
            *ret_signature = signature_in(index, slot);
            return true;
        }
    }
    return false;
}
