/* SPDX-License-Identifier: MIT */
/* What lives, block by block. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "watch/heap.h"

/* What blocks are collected into. */
struct listing {
    struct cairn_profile *profile;
    struct cairn_heap_block_info *blocks;
    size_t n, cap;
    /* Of the state that is being read: */
    const struct cairn_heap_state *state;
    const struct cairn_heap_filter *filter;
    struct cairn_heap_select select;
    const uint32_t *stacks; /* by number: the profile's */
    uint32_t process;
    bool failed;
};

/* No stack was taken: what it has is the caller of the allocation function. */
static bool is_caller(const struct listing *l, uint32_t stack)
{
    struct cairn_heap_record record;
    return cairn_heap_view_record(&l->state->view, stack, &record) &&
           (record.head.flags & CAIRN_HEAP_LOG_CALLER);
}

static void add_block(void *ctx, const struct cairn_heap_block *block)
{
    struct listing *l = ctx;
    if (block->epoch < l->select.first || block->epoch > l->select.last ||
        block->size < l->filter->min_bytes || l->failed)
        return;
    if (cairn_grow((void **)&l->blocks, &l->cap, l->n + 1, sizeof *l->blocks) < 0) {
        l->failed = true;
        return;
    }
    uint32_t stack = block->stack ? l->stacks[block->stack] : UINT32_MAX;
    l->blocks[l->n++] = (struct cairn_heap_block_info){
        .va = block->va,
        .size = block->size,
        .age_ns = cairn_heap_age(l->state, block->epoch),
        .process = l->process,
        .stack = stack == UINT32_MAX ? 0 : stack,
        .has_stack = stack != UINT32_MAX && !is_caller(l, block->stack),
    };
}

static int add_state(struct listing *l, struct cairn_heap_state *state, struct cairn_err *err)
{
    uint32_t *stacks = cairn_alloc(state->sums.n + 1, sizeof *stacks);
    int result = stacks ? CAIRN_OK : cairn_fail_memory(err);
    if (result == CAIRN_OK)
        result = cairn_heap_select_epochs(state, l->filter, &l->select, err);
    if (result == CAIRN_OK)
        result = cairn_heap_add_to(state, &state->sums, l->profile, stacks, err);
    if (result == CAIRN_OK) {
        l->state = state;
        l->stacks = stacks;
        cairn_heap_view_blocks(&state->view, add_block, l);
        result = l->failed ? cairn_fail_memory(err) : CAIRN_OK;
    }
    cairn_free(stacks);
    return result;
}

static int compare_blocks(const void *x, const void *y)
{
    const struct cairn_heap_block_info *a = x, *b = y;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return a->va < b->va ? -1 : a->va > b->va;
}

int cairn_heap_blocks(struct cairn_heap *heap, const struct cairn_heap_filter *given,
                      struct cairn_profile **ret_profile, struct cairn_heap_block_info **ret_blocks,
                      size_t *ret_n, struct cairn_err *err)
{
    const struct cairn_heap_filter filter = cairn_heap_filter_of(given);
    struct listing l = {.filter = &filter};
    int result = cairn_heap_profile_new(&l.profile, err);
    for (size_t i = 0; result == CAIRN_OK && i < heap->n; i++) {
        l.process = (uint32_t)i;
        result = add_state(&l, &heap->states[i], err);
    }
    if (result < 0) {
        cairn_profile_free(l.profile);
        cairn_free(l.blocks);
        return result;
    }
    if (l.n)
        qsort(l.blocks, l.n, sizeof *l.blocks, compare_blocks);
    *ret_profile = l.profile;
    *ret_blocks = l.blocks;
    *ret_n = l.n;
    return CAIRN_OK;
}

void cairn_heap_blocks_free(struct cairn_heap_block_info *blocks)
{
    cairn_free(blocks);
}
