/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * The search of a table (see table.h), but for its innermost step: how many of the bytes at `low`,
 * which rise, are not above `key`. table_find_CPU.c brings that, with what the CPU has for it;
 * meson chooses the file.
 */
#ifndef CAIRN_UNWIND_PAGE_SEARCH_H
#define CAIRN_UNWIND_PAGE_SEARCH_H

#include "unwind/table_layout.h"

/* Of `n` <= 256 bytes; CAIRN_TABLE_PAD bytes behind them may be read. */
typedef uint32_t (*cairn_page_count_fn)(const uint8_t *low, uint32_t n, uint8_t key);

/* Of at most 8 bytes of `word` that rise from its lowest on: how many are not above `key`. Each
 * byte is compared without its top bit first, so that no carry leaves it. */
static inline uint32_t cairn_page_count_word(uint64_t word, uint8_t key)
{
    const uint64_t ones = 0x0101010101010101, tops = ones << 7;
    uint64_t above = (word & ~tops) + (0x7fu - (key & 0x7fu)) * ones;
    above = (key & 0x80 ? word & above : word | above) & tops;
    return above ? (uint32_t)__builtin_ctzll(above) / 8 : 8;
}

/* For any CPU; also what the others are held against. */
static inline uint32_t cairn_page_count_portable(const uint8_t *low, uint32_t n, uint8_t key)
{
    uint32_t count = 0;
    while (count < n) {
        uint64_t word;
        memcpy(&word, low + count, sizeof word);
        if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
            word = __builtin_bswap64(word);
        uint32_t more = cairn_page_count_word(word, key);
        count += more;
        if (more < 8)
            break;
    }
    return count < n ? count : n;
}

/* The rows that begin in `page`, which is below n_pages: [first, next). False: the image is
 * damaged; they may be wrong in other ways, but count no more than a page has bytes, and end in the
 * table. */
static inline bool cairn_unwind_table_page(const struct cairn_unwind_table *t, uint64_t page,
                                           uint32_t *ret_first, uint32_t *ret_next)
{
    if (t->n_blocks) {
        uint32_t block = __atomic_load_n(&t->blocks[page / CAIRN_TABLE_BLOCK], __ATOMIC_RELAXED);
        if (block & CAIRN_TABLE_EMPTY) {
            *ret_first = *ret_next = block & ~CAIRN_TABLE_EMPTY;
            return *ret_next <= t->n_rows;
        }
        page = (uint64_t)block + page % CAIRN_TABLE_BLOCK;
        if (page >= t->n_kept)
            return false;
    }
    *ret_first = __atomic_load_n(&t->pages[page], __ATOMIC_RELAXED);
    *ret_next = __atomic_load_n(&t->pages[page + 1], __ATOMIC_RELAXED);
    return *ret_first <= *ret_next && *ret_next - *ret_first <= CAIRN_TABLE_PAGE &&
           *ret_next <= t->n_rows;
}

/* Inlined with the CPU's `count`. The image may have changed since it was opened: what is read out
 * of it is bounded here, by numbers that are not in it. */
static inline uint32_t cairn_unwind_table_find_by(const struct cairn_unwind_table *t,
                                                  uint64_t vaddr, cairn_page_count_fn count)
{
    uint64_t at = vaddr - t->base, page = at / CAIRN_TABLE_PAGE;
    uint32_t first, next;
    if (page >= t->n_pages || __builtin_expect(!cairn_unwind_table_page(t, page, &first, &next), 0))
        return CAIRN_RULE_NONE;
    uint32_t row = first + count(t->low + first, next - first, (uint8_t)at) - 1;
    return __builtin_expect(row < t->n_rows, 1) ? t->rules[row] & CAIRN_RULE_MASK : CAIRN_RULE_NONE;
}

#endif /* CAIRN_UNWIND_PAGE_SEARCH_H */
