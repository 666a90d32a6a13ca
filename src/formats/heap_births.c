/* SPDX-License-Identifier: MIT */
#include "formats/heap_births.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/table.h"
#include "profile/profile.h"

struct gathering {
    struct cairn_heap_births *births;
    struct cairn_table known; /* stack and epoch -> number of the birth */
    size_t cap;
    uint32_t n_stacks;
    uint64_t mean; /* the header's sample_bytes */
    bool failed;
};

/* The birth of that stack and epoch, a new one where there is none yet; NULL: memory is gone. */
static struct cairn_heap_birth *birth_of(struct gathering *g, const struct cairn_heap_block *block)
{
    struct cairn_heap_births *births = g->births;
    uint64_t key = (uint64_t)block->stack << 32 | block->epoch;
    uint32_t number;
    if (cairn_table_find(&g->known, key, &number))
        return &births->rows[number];
    if (births->n >= UINT32_MAX ||
        cairn_grow((void **)&births->rows, &g->cap, births->n + 1, sizeof *births->rows) < 0 ||
        cairn_table_set(&g->known, key, (uint32_t)births->n) < 0)
        return NULL;
    births->rows[births->n] =
        (struct cairn_heap_birth){.stack = block->stack, .epoch = block->epoch};
    return &births->rows[births->n++];
}

static int64_t clamped(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static void add_block(void *ctx, const struct cairn_heap_block *block)
{
    struct gathering *g = ctx;
    if (block->stack >= g->n_stacks || g->failed)
        return;
    struct cairn_heap_birth *birth = birth_of(g, block);
    if (!birth) {
        g->failed = true;
        return;
    }
    struct cairn_heap_share share = cairn_heap_live_share(block->va, block->size, g->mean);
    birth->blocks = cairn_profile_add_clamped(birth->blocks, clamped(share.blocks));
    birth->bytes = cairn_profile_add_clamped(birth->bytes, clamped(share.bytes));
}

static int compare(const void *a, const void *b)
{
    const struct cairn_heap_birth *x = a, *y = b;
    if (x->stack != y->stack)
        return x->stack < y->stack ? -1 : 1;
    return x->epoch < y->epoch ? -1 : x->epoch > y->epoch;
}

int cairn_heap_births_make(struct cairn_heap_view *view, uint32_t n_stacks,
                           struct cairn_heap_births *ret_births, struct cairn_err *err)
{
    struct cairn_heap_births births = {0};
    struct gathering g = {
        .births = &births, .n_stacks = n_stacks, .mean = view->header.sample_bytes};
    cairn_heap_view_blocks(view, add_block, &g);
    cairn_table_done(&g.known);
    if (g.failed) {
        cairn_heap_births_done(&births);
        return cairn_fail_memory(err);
    }
    if (births.n)
        qsort(births.rows, births.n, sizeof *births.rows, compare);
    *ret_births = births;
    return CAIRN_OK;
}

void cairn_heap_births_done(struct cairn_heap_births *births)
{
    cairn_free(births->rows);
    *births = (struct cairn_heap_births){0};
}

/* Epochs count on the monotonic clock, the header says what the other one showed at the first. */
int64_t cairn_heap_birth_ns(const struct cairn_heap_view *view, uint32_t number)
{
    struct cairn_heap_epoch first, epoch;
    uint64_t base = view->header.begin_ns;
    if (!base || !cairn_heap_view_epoch(view, 0, &first) ||
        !cairn_heap_view_epoch(view, number, &epoch))
        return 0;
    uint64_t since = epoch.begin_ns > first.begin_ns ? epoch.begin_ns - first.begin_ns : 0;
    return base > INT64_MAX || since > INT64_MAX - base ? 0 : (int64_t)(base + since);
}
