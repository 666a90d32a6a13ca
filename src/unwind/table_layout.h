/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/* Where the parts of a table's image begin, for who makes one and who opens one. */
#ifndef CAIRN_UNWIND_TABLE_LAYOUT_H
#define CAIRN_UNWIND_TABLE_LAYOUT_H

#include "unwind/table.h"

#define CAIRN_TABLE_MAGIC "CUT\n"

enum { CAIRN_TABLE_ORDER = 0x01020304 };

/* In blocks[]: no row begins in this block. */
static const uint32_t CAIRN_TABLE_EMPTY = 1u << 31;

/* Bytes from the image's first one. */
struct cairn_unwind_table_layout {
    uint64_t blocks, pages, rules, low, side, end;
};

struct cairn_unwind_table_counts {
    uint32_t n_blocks, n_kept, n_rows, n_side;
};

/* No sum can overflow: the counts have 32 bits. */
static inline struct cairn_unwind_table_layout
cairn_unwind_table_layout(struct cairn_unwind_table_counts n)
{
    struct cairn_unwind_table_layout l = {.blocks = sizeof(struct cairn_unwind_table_header)};
    l.pages = l.blocks + (uint64_t)n.n_blocks * sizeof(uint32_t);
    l.rules = l.pages + ((uint64_t)n.n_kept + 1) * sizeof(uint32_t);
    l.low = l.rules + (uint64_t)n.n_rows * sizeof(uint32_t);
    l.side = (l.low + n.n_rows + CAIRN_TABLE_PAD + 7) & ~UINT64_C(7);
    l.end = l.side + (uint64_t)n.n_side * sizeof(uint64_t);
    return l;
}

/* How many blocks so many pages are. */
static inline uint32_t cairn_unwind_table_blocks(uint32_t n_pages)
{
    return (uint32_t)(((uint64_t)n_pages + CAIRN_TABLE_BLOCK - 1) / CAIRN_TABLE_BLOCK);
}

/* A side entry: its source in the two top bits, its offset below. */
static inline uint64_t cairn_unwind_table_pack_side(enum cairn_unwind_table_source source,
                                                    uint64_t off)
{
    return (uint64_t)source << 62 | (off & (UINT64_MAX >> 2));
}

#endif /* CAIRN_UNWIND_TABLE_LAYOUT_H */
