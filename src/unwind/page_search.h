/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * The search of a table (see table.h), but for its innermost step: how many of the bytes at `low`,
 * which rise, are not above `key`. table_find_CPU.c brings that, with what the CPU has for it;
 * meson chooses the file.
 */
#ifndef CAIRN_UNWIND_PAGE_SEARCH_H
#define CAIRN_UNWIND_PAGE_SEARCH_H

#include "unwind/table.h"

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

/* Inlined with the CPU's `count`. The image may have changed since it was opened: what is read out
 * of it is bounded here, by numbers that are not in it. */
static inline uint32_t cairn_unwind_table_find_by(const struct cairn_unwind_table *t,
                                                  uint64_t vaddr, cairn_page_count_fn count)
{
    uint64_t at = vaddr - t->base, page = at / CAIRN_TABLE_PAGE;
    if (page >= t->n_pages)
        return CAIRN_RULE_NONE;
    uint32_t first = __atomic_load_n(&t->pages[page], __ATOMIC_RELAXED);
    uint32_t next = __atomic_load_n(&t->pages[page + 1], __ATOMIC_RELAXED);
    uint32_t n = next - first;
    if (__builtin_expect(n > CAIRN_TABLE_PAGE || next > t->n_rows, 0))
        return CAIRN_RULE_NONE;
    uint32_t row = first + count(t->low + first, n, (uint8_t)at) - 1;
    return __builtin_expect(row < t->n_rows, 1) ? t->rules[row] & CAIRN_RULE_MASK : CAIRN_RULE_NONE;
}

#endif /* CAIRN_UNWIND_PAGE_SEARCH_H */
