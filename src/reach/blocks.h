/* SPDX-License-Identifier: MIT */
/*
 * Blocks: the address and the size of each block of a heap, and which block an address is in.
 * 8 bytes a block, and 4 more for each 4 KiB that they cover.
 *
 *     areas   | base, end, first block, pages | ...      1 MiB without a start begins a new one
 *     pages   | the first block at or behind each 4 KiB of an area
 *     slots   | (va - base) / 8, size | ...              in the order of addresses
 *     large   | number, size | ...                       sizes that a slot has no room for
 */
#ifndef CAIRN_REACH_BLOCKS_H
#define CAIRN_REACH_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/error.h>

enum { CAIRN_REACH_ALIGN = 8, CAIRN_REACH_PAGE_BITS = 12 };

struct cairn_reach_slot {
    uint32_t off; /* from the area's base, in units of CAIRN_REACH_ALIGN */
    uint32_t size;
};

struct cairn_reach_area {
    uint64_t base, end; /* va: of the first block, and behind the last one */
    uint32_t first, n;  /* blocks */
    uint32_t n_pages;
    size_t pages; /* where its own begin */
};

struct cairn_reach_large {
    uint32_t index;
    uint64_t size;
};

struct cairn_reach_blocks {
    struct cairn_reach_slot *slots;
    size_t n, cap;
    struct cairn_reach_area *areas;
    size_t n_areas, cap_areas;
    struct cairn_reach_large *large;
    size_t n_large, cap_large;
    uint32_t *pages;  /* of all areas, once the table is sealed */
    size_t n_refused; /* not aligned, or not behind the block that was added before */
    size_t n_cut;     /* blocks that the next one begins inside of; they end there now */
};

struct cairn_reach_block {
    uint64_t va, size;
};

struct cairn_reach_range {
    uint64_t start, end; /* va, [start, end) */
};

void cairn_reach_blocks_done(struct cairn_reach_blocks *blocks); /* all-zero is fine */

/* The next block, in ascending order of addresses. What cannot be a block is counted and left out.
 * CAIRN_E_NOMEM, CAIRN_E_LIMIT. */
int cairn_reach_blocks_add(struct cairn_reach_blocks *blocks, uint64_t va, uint64_t size,
                           struct cairn_err *err);

/* Behind the last block: makes the table ready for cairn_reach_blocks_before(). */
int cairn_reach_blocks_seal(struct cairn_reach_blocks *blocks, struct cairn_err *err);

/* Number `index`, below `n`. */
struct cairn_reach_block cairn_reach_blocks_get(const struct cairn_reach_blocks *blocks,
                                                uint32_t index);

/* The area of that block. */
const struct cairn_reach_area *cairn_reach_blocks_area(const struct cairn_reach_blocks *blocks,
                                                       uint32_t index);

/* The last block that begins at `va` or before it, in the same area. False: there is none. */
bool cairn_reach_blocks_before(const struct cairn_reach_blocks *blocks, uint64_t va,
                               uint32_t *ret_index, struct cairn_reach_block *ret_block);

/* The number of the first block that begins at `va` or behind it; `n`: there is none. */
uint32_t cairn_reach_blocks_first(const struct cairn_reach_blocks *blocks, uint64_t va);

#endif /* CAIRN_REACH_BLOCKS_H */
