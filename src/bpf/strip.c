/* SPDX-License-Identifier: MIT */
#include "bpf/strip.h"

#include "unwind/page_search.h"

enum { PAGES = CAIRN_BPF_STRIP_PAGES, ALIGN = 16 };

uint32_t cairn_strips_of(const struct cairn_unwind_table *table)
{
    return (uint32_t)(((uint64_t)table->n_pages + PAGES - 1) / PAGES);
}

/* The rows that begin in a page; none where the image is damaged. */
static void page_rows(const struct cairn_unwind_table *table, uint64_t page, uint32_t *ret_first,
                      uint32_t *ret_next)
{
    if (!cairn_unwind_table_page(table, page, ret_first, ret_next))
        *ret_first = *ret_next = 0;
}

static uint32_t rule_before(const struct cairn_unwind_table *table, uint32_t row)
{
    return row && row <= table->n_rows ? table->rules[row - 1] & CAIRN_RULE_MASK : CAIRN_RULE_NONE;
}

/* Pages of the strip that the table has. */
static uint32_t pages_of(const struct cairn_unwind_table *table, uint32_t number)
{
    uint64_t left = table->n_pages - (uint64_t)number * PAGES;
    return left < PAGES ? (uint32_t)left : PAGES;
}

struct cairn_strip cairn_strip_measure(const struct cairn_unwind_table *table, uint32_t number)
{
    struct cairn_strip strip = {.number = number};
    uint32_t n = 0, first, next, n_pages = pages_of(table, number);
    for (uint32_t i = 0; i < n_pages; i++) {
        page_rows(table, (uint64_t)number * PAGES + i, &first, &next);
        if (i == 0)
            strip.first_row = first;
        n += next - first;
    }
    strip.rule = rule_before(table, strip.first_row);
    if (!n && (n_pages == PAGES || strip.rule == CAIRN_RULE_NONE))
        return strip;
    strip.n_rows = 1 + n + (n_pages < PAGES); /* behind the last page a row of its own */
    strip.bytes = (CAIRN_BPF_STRIP_RULES + strip.n_rows * 5 + ALIGN - 1) & ~(uint32_t)(ALIGN - 1);
    return strip;
}

bool cairn_strip_write(const struct cairn_unwind_table *table, const struct cairn_strip *strip,
                       uint8_t *bytes)
{
    uint32_t *pages = (uint32_t *)(void *)bytes;
    uint32_t *rules = (uint32_t *)(void *)(bytes + CAIRN_BPF_STRIP_RULES);
    uint8_t *low = bytes + CAIRN_BPF_STRIP_RULES + (size_t)strip->n_rows * sizeof *rules;
    uint32_t n = 1, first, next, n_pages = pages_of(table, strip->number);
    rules[0] = strip->rule;
    low[0] = 0;
    for (uint32_t i = 0; i < n_pages; i++) {
        pages[i] = n;
        page_rows(table, (uint64_t)strip->number * PAGES + i, &first, &next);
        if (next - first > strip->n_rows - n)
            return false;
        for (; first < next; first++, n++) {
            rules[n] = table->rules[first] & CAIRN_RULE_MASK;
            low[n] = table->low[first];
        }
    }
    if (n_pages < PAGES) {
        if (n == strip->n_rows)
            return false;
        pages[n_pages] = n;
        rules[n] = CAIRN_RULE_NONE;
        low[n++] = 0;
    }
    for (uint32_t i = n_pages + (n_pages < PAGES); i <= PAGES; i++)
        pages[i] = n;
    return n == strip->n_rows;
}

uint64_t cairn_strip_word(const struct cairn_strip *strip, uint32_t segment, uint32_t at)
{
    if (!strip->bytes)
        return strip->rule;
    return (uint64_t)(segment + 1) << (CAIRN_BPF_STRIP_AT_BITS + CAIRN_BPF_STRIP_ROWS_BITS) |
           (uint64_t)(at / ALIGN) << CAIRN_BPF_STRIP_ROWS_BITS | strip->n_rows;
}
