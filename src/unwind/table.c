/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/table.h"

#include "unwind/page_search.h"

bool cairn_unwind_table_open(struct cairn_span image, struct cairn_unwind_table *ret_table)
{
    struct cairn_unwind_table_header h;
    if (image.size < sizeof h || (uintptr_t)image.data % sizeof(uint64_t))
        return false;
    memcpy(&h, image.data, sizeof h);
    if (memcmp(h.magic, CAIRN_TABLE_MAGIC, sizeof h.magic) != 0 || h.order != CAIRN_TABLE_ORDER ||
        h.version != CAIRN_TABLE_VERSION)
        return false;
    struct cairn_unwind_table_layout l = cairn_unwind_table_layout(
        (struct cairn_unwind_table_counts){h.n_blocks, h.n_kept, h.n_rows, h.n_side});
    if (l.end > h.bytes || h.bytes > image.size)
        return false;
    if (h.n_blocks ? h.n_blocks < cairn_unwind_table_blocks(h.n_pages) : h.n_kept < h.n_pages)
        return false;
    const void *blocks = image.data + l.blocks, *pages = image.data + l.pages;
    const void *rules = image.data + l.rules;
    const void *side = image.data + l.side;
    *ret_table = (struct cairn_unwind_table){.base = h.base,
                                             .n_pages = h.n_pages,
                                             .n_rows = h.n_rows,
                                             .n_blocks = h.n_blocks,
                                             .n_kept = h.n_kept,
                                             .blocks = blocks,
                                             .pages = pages,
                                             .rules = rules,
                                             .low = image.data + l.low,
                                             .side = side,
                                             .n_side = h.n_side,
                                             .machine = h.machine,
                                             .from = h.from,
                                             .to = h.to};
    return true;
}

bool cairn_unwind_table_side(const struct cairn_unwind_table *table, uint32_t rule,
                             struct cairn_unwind_table_side *ret_side)
{
    uint32_t i = rule & CAIRN_RULE_SIDE_MASK;
    if (cairn_rule_kind(rule) != CAIRN_RULE_SIDE || i >= table->n_side)
        return false;
    uint64_t side = table->side[i];
    *ret_side = (struct cairn_unwind_table_side){(enum cairn_unwind_table_source)(side >> 62),
                                                 side & (UINT64_MAX >> 2)};
    return true;
}

/* The page that row `i` begins in: the last one whose first row is not behind it. */
static uint32_t page_of_row(const struct cairn_unwind_table *t, uint32_t i)
{
    uint32_t low = 0, high = t->n_pages, first, next;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (cairn_unwind_table_page(t, middle, &first, &next) && first <= i)
            low = middle;
        else
            high = middle;
    }
    return low;
}

bool cairn_unwind_table_row(const struct cairn_unwind_table *table, uint32_t i, uint64_t *ret_vaddr,
                            uint32_t *ret_rule)
{
    if (i >= table->n_rows || !table->n_pages)
        return false;
    *ret_vaddr = table->base + (uint64_t)page_of_row(table, i) * CAIRN_TABLE_PAGE + table->low[i];
    *ret_rule = table->rules[i] & CAIRN_RULE_MASK;
    return true;
}
