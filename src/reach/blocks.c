/* SPDX-License-Identifier: MIT */
#include "reach/blocks.h"

#include "base/alloc.h"
#include "base/below.h"
#include "base/error.h"

static const uint64_t AREA_GAP = 1 << 20;
static const uint64_t AREA_SPAN = (uint64_t)UINT32_MAX * CAIRN_REACH_ALIGN;
enum { LARGE = UINT32_MAX, BLOCKS_MAX = UINT32_MAX - 1 };

void cairn_reach_blocks_done(struct cairn_reach_blocks *blocks)
{
    cairn_free(blocks->slots);
    cairn_free(blocks->areas);
    cairn_free(blocks->large);
    cairn_free(blocks->pages);
    *blocks = (struct cairn_reach_blocks){0};
}

static uint64_t large_size(const struct cairn_reach_blocks *b, uint32_t index)
{
    size_t low = 0, high = b->n_large;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (b->large[middle].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    return b->large[low].size;
}

static struct cairn_reach_block block_of(const struct cairn_reach_blocks *b,
                                         const struct cairn_reach_area *area, uint32_t index)
{
    const struct cairn_reach_slot *slot = &b->slots[index];
    return (struct cairn_reach_block){area->base + (uint64_t)slot->off * CAIRN_REACH_ALIGN,
                                      slot->size == LARGE ? large_size(b, index) : slot->size};
}

static bool set_size(struct cairn_reach_blocks *b, uint32_t index, uint64_t size)
{
    if (b->n_large && b->large[b->n_large - 1].index == index)
        b->n_large--;
    b->slots[index].size = size < LARGE ? (uint32_t)size : LARGE;
    if (size < LARGE)
        return true;
    if (cairn_grow((void **)&b->large, &b->cap_large, b->n_large + 1, sizeof *b->large) < 0)
        return false;
    b->large[b->n_large++] = (struct cairn_reach_large){index, size};
    return true;
}

static uint64_t last_va(const struct cairn_reach_blocks *b)
{
    return block_of(b, &b->areas[b->n_areas - 1], (uint32_t)b->n - 1).va;
}

/* Where the block goes; NULL: memory is gone. Sizes are not asked: they may lie. */
static struct cairn_reach_area *area_for(struct cairn_reach_blocks *b, uint64_t va)
{
    struct cairn_reach_area *last = b->n_areas ? &b->areas[b->n_areas - 1] : NULL;
    if (last && va - last->base <= AREA_SPAN && va - last_va(b) < AREA_GAP)
        return last;
    if (cairn_grow((void **)&b->areas, &b->cap_areas, b->n_areas + 1, sizeof *b->areas) < 0)
        return NULL;
    last = &b->areas[b->n_areas++];
    *last = (struct cairn_reach_area){.base = va, .end = va, .first = (uint32_t)b->n};
    return last;
}

/* The block that was added last ends where the next one begins. One that says otherwise was freed
 * while the list was read, or lies. */
static bool cut_last(struct cairn_reach_blocks *b, uint64_t va)
{
    struct cairn_reach_area *area = &b->areas[b->n_areas - 1];
    uint32_t index = (uint32_t)b->n - 1;
    if (area->end <= va)
        return true;
    b->n_cut++;
    area->end = va;
    return set_size(b, index, va - block_of(b, area, index).va);
}

int cairn_reach_blocks_add(struct cairn_reach_blocks *blocks, uint64_t va, uint64_t size,
                           struct cairn_err *err)
{
    if (!va || va % CAIRN_REACH_ALIGN || (blocks->n && va <= last_va(blocks))) {
        blocks->n_refused++;
        return CAIRN_OK;
    }
    if (blocks->n >= BLOCKS_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, "more than %u blocks", BLOCKS_MAX);
    if (blocks->n && !cut_last(blocks, va))
        return cairn_fail_memory(err);
    struct cairn_reach_area *area = area_for(blocks, va);
    if (!area ||
        cairn_grow((void **)&blocks->slots, &blocks->cap, blocks->n + 1, sizeof *blocks->slots) < 0)
        return cairn_fail_memory(err);
    uint32_t index = (uint32_t)blocks->n++;
    blocks->slots[index].off = (uint32_t)((va - area->base) / CAIRN_REACH_ALIGN);
    area->n++;
    size = size < UINT64_MAX - va ? size : UINT64_MAX - va;
    area->end = va + size;
    return set_size(blocks, index, size) ? CAIRN_OK : cairn_fail_memory(err);
}

/* Of the blocks alone: the last of them may say that it has terabytes. */
static uint32_t count_pages(const struct cairn_reach_blocks *b, const struct cairn_reach_area *area)
{
    uint64_t span = (uint64_t)b->slots[area->first + area->n - 1].off * CAIRN_REACH_ALIGN;
    return (uint32_t)(span >> CAIRN_REACH_PAGE_BITS) + 1;
}

static void fill_pages(const struct cairn_reach_blocks *b, const struct cairn_reach_area *area)
{
    uint32_t page = 0;
    for (uint32_t i = area->first; i < area->first + area->n; i++) {
        uint64_t at = (uint64_t)b->slots[i].off * CAIRN_REACH_ALIGN;
        for (; (uint64_t)page << CAIRN_REACH_PAGE_BITS <= at; page++)
            b->pages[area->pages + page] = i;
    }
    for (; page < area->n_pages; page++)
        b->pages[area->pages + page] = area->first + area->n;
}

int cairn_reach_blocks_seal(struct cairn_reach_blocks *blocks, struct cairn_err *err)
{
    size_t n = 0;
    for (size_t i = 0; i < blocks->n_areas; i++) {
        blocks->areas[i].pages = n;
        blocks->areas[i].n_pages = count_pages(blocks, &blocks->areas[i]);
        n += blocks->areas[i].n_pages;
    }
    blocks->pages = cairn_alloc(n + 1, sizeof *blocks->pages);
    if (!blocks->pages)
        return cairn_fail_memory(err);
    for (size_t i = 0; i < blocks->n_areas; i++)
        fill_pages(blocks, &blocks->areas[i]);
    return CAIRN_OK;
}

const struct cairn_reach_area *cairn_reach_blocks_area(const struct cairn_reach_blocks *blocks,
                                                       uint32_t index)
{
    size_t low = 0, high = blocks->n_areas;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (blocks->areas[middle].first <= index)
            low = middle;
        else
            high = middle;
    }
    return &blocks->areas[low];
}

struct cairn_reach_block cairn_reach_blocks_get(const struct cairn_reach_blocks *blocks,
                                                uint32_t index)
{
    return block_of(blocks, cairn_reach_blocks_area(blocks, index), index);
}

static const struct cairn_reach_area *area_before(const struct cairn_reach_blocks *b, uint64_t va)
{
    size_t n = CAIRN_COUNT_BELOW(b->areas, b->n_areas, base, va);
    return n ? &b->areas[n - 1] : NULL;
}

bool cairn_reach_blocks_before(const struct cairn_reach_blocks *blocks, uint64_t va,
                               uint32_t *ret_index, struct cairn_reach_block *ret_block)
{
    const struct cairn_reach_area *area = area_before(blocks, va);
    if (!area || va > area->end)
        return false;
    uint64_t page = (va - area->base) >> CAIRN_REACH_PAGE_BITS;
    const uint32_t *pages = blocks->pages + area->pages;
    uint32_t end = area->first + area->n;
    uint32_t low = page < area->n_pages ? pages[page] : end;
    uint32_t high = page + 1 < area->n_pages ? pages[page + 1] : end;
    uint64_t off = (va - area->base) / CAIRN_REACH_ALIGN;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (blocks->slots[middle].off <= off)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_index = low - 1; /* the area's first block begins where it does */
    *ret_block = block_of(blocks, area, low - 1);
    return true;
}

uint32_t cairn_reach_blocks_first(const struct cairn_reach_blocks *blocks, uint64_t va)
{
    uint32_t index;
    struct cairn_reach_block block;
    const struct cairn_reach_area *area = area_before(blocks, va);
    if (!area)
        return 0;
    if (!cairn_reach_blocks_before(blocks, va, &index, &block))
        return area->first + area->n;
    return block.va < va ? index + 1 : index;
}
