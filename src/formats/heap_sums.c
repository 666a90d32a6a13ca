/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"
#include "base/error.h"
#include "formats/heap_profile.h"

struct summing {
    struct cairn_heap_sums *sums;
    const struct cairn_heap_select *select;
    uint32_t peak; /* the header's */
    uint64_t mean; /* the header's sample_bytes */
};

static void add(int64_t *to, int64_t value)
{
    *to = cairn_profile_add_clamped(*to, value);
}

/* Counts are unsigned in the file; half of their range is more than any process allocates. */
static int64_t count(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static void add_block(void *ctx, const struct cairn_heap_block *block)
{
    const struct summing *s = ctx;
    struct cairn_heap_sums *sums = s->sums;
    uint32_t stack = block->stack;
    if (stack >= sums->n || block->epoch < s->select->first || block->epoch > s->select->last)
        return;
    int64_t *values = sums->values[stack];
    if (values[CAIRN_HEAP_INUSE_OBJECTS] == 0 || block->epoch < sums->oldest[stack])
        sums->oldest[stack] = block->epoch;
    if (block->epoch > sums->youngest[stack])
        sums->youngest[stack] = block->epoch;
    struct cairn_heap_share share = cairn_heap_live_share(block->va, block->size, s->mean);
    add(&values[CAIRN_HEAP_INUSE_OBJECTS], count(share.blocks));
    add(&values[CAIRN_HEAP_INUSE_SPACE], count(share.bytes));
}

/* What malloc maps holds blocks that are counted by themselves. */
static void add_map(void *ctx, const struct cairn_heap_map *map)
{
    const struct summing *s = ctx;
    int64_t *values = s->sums->values[map->stack];
    if (map->kind == CAIRN_HEAP_MAP_ALLOCATOR)
        return;
    add(&values[CAIRN_HEAP_MAPPED_OBJECTS], 1);
    add(&values[CAIRN_HEAP_MAPPED_SPACE], count(map->to - map->from));
}

static int64_t how_many(uint64_t both)
{
    return count(cairn_heap_counted_blocks(both));
}

static int64_t bytes_of(uint64_t both)
{
    return count(cairn_heap_counted_bytes(both));
}

/* Of what was at the high-water mark it is a part where it is from before. */
static void add_delta(void *ctx, const struct cairn_heap_delta *delta)
{
    const struct summing *s = ctx;
    uint64_t key = delta->key, allocs = delta->allocs, frees = delta->frees;
    int64_t *values = s->sums->values[(uint32_t)key];
    add(&values[CAIRN_HEAP_ALLOC_OBJECTS], how_many(allocs));
    add(&values[CAIRN_HEAP_ALLOC_SPACE], bytes_of(allocs));
    add(&values[CAIRN_HEAP_TEMPORARY_OBJECTS], delta->n_temporary);
    if (key >> 32 >= s->peak)
        return;
    add(&values[CAIRN_HEAP_PEAK_OBJECTS], how_many(allocs) - how_many(frees));
    add(&values[CAIRN_HEAP_PEAK_SPACE], bytes_of(allocs) - bytes_of(frees));
}

/* What was handed in. At the high-water mark it had what it noted then, or, if nothing changed
 * since, what it has. */
static void add_counts(struct cairn_heap_view *view, uint32_t stack, int64_t *values)
{
    struct cairn_heap_stack counts;
    if (!cairn_heap_view_stack(view, stack, &counts))
        return;
    int64_t blocks = count(counts.n_allocs) - count(counts.n_frees);
    int64_t bytes = count(counts.alloc_bytes) - count(counts.free_bytes);
    if (counts.peak == view->header.peak) {
        blocks = counts.peak_blocks;
        bytes = counts.peak_bytes;
    }
    values[CAIRN_HEAP_ALLOC_OBJECTS] = count(counts.n_allocs);
    values[CAIRN_HEAP_ALLOC_SPACE] = count(counts.alloc_bytes);
    values[CAIRN_HEAP_TEMPORARY_OBJECTS] = counts.n_temporary;
    values[CAIRN_HEAP_PEAK_OBJECTS] = blocks;
    values[CAIRN_HEAP_PEAK_SPACE] = bytes;
}

/* Blocks that one thread allocated and another one freed are counted in two places, which were not
 * read at the same moment. */
static void no_less_than_none(int64_t *values)
{
    for (size_t i = 0; i < CAIRN_HEAP_VALUES; i++)
        values[i] = values[i] > 0 ? values[i] : 0;
}

int cairn_heap_sums_make(struct cairn_heap_view *view, const struct cairn_heap_select *select,
                         struct cairn_heap_sums *ret_sums, struct cairn_err *err)
{
    uint32_t n = view->n_stacks;
    struct cairn_heap_sums sums = {.n = n};
    struct summing summing = {&sums, select, view->header.peak, view->header.sample_bytes};
    sums.values = cairn_alloc(n + 1, sizeof *sums.values);
    sums.oldest = cairn_alloc(n + 1, sizeof *sums.oldest);
    sums.youngest = cairn_alloc(n + 1, sizeof *sums.youngest);
    if (!sums.values || !sums.oldest || !sums.youngest) {
        cairn_heap_sums_done(&sums);
        return cairn_fail_memory(err);
    }
    for (uint32_t stack = 0; stack < n; stack++)
        add_counts(view, stack, sums.values[stack]);
    cairn_heap_view_deltas(view, add_delta, &summing);
    for (uint32_t stack = 0; stack < n; stack++)
        no_less_than_none(sums.values[stack]);
    cairn_heap_view_blocks(view, add_block, &summing);
    if (view->header.flags & CAIRN_HEAP_MAPPINGS)
        cairn_heap_view_maps(view, add_map, &summing);
    *ret_sums = sums;
    return CAIRN_OK;
}

void cairn_heap_sums_done(struct cairn_heap_sums *sums)
{
    cairn_free(sums->values);
    cairn_free(sums->oldest);
    cairn_free(sums->youngest);
    cairn_heap_births_done(&sums->births);
    *sums = (struct cairn_heap_sums){0};
}
