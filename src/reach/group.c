/* SPDX-License-Identifier: MIT */
/*
 * Group: which of the blocks that nothing reaches hang on which others.
 *
 * Blocks are taken in the order of addresses. One that no other has reached yet is a head until
 * another head reaches it; then it and its group belong to that one. Groups are joined as sets are
 * (union-find, with path halving), so that each block is read once.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "reach/reach.h"

enum { NONE = UINT32_MAX };

struct grouping {
    struct cairn_reach *reach;
    const struct cairn_reach_memory *memory;
    uint32_t *heads; /* by block: another one of its group that is nearer to the head, or itself */
    uint32_t *list;  /* blocks whose bytes are still to be read */
    size_t n_list, cap_list;
    uint64_t va, end_va; /* what the window has */
    struct cairn_err *err;
};

static uint32_t head_of(struct grouping *g, uint32_t index)
{
    while (g->heads[index] != index) {
        g->heads[index] = g->heads[g->heads[index]];
        index = g->heads[index];
    }
    return index;
}

static int push(struct grouping *g, uint32_t index)
{
    if (cairn_grow((void **)&g->list, &g->cap_list, g->n_list + 1, sizeof *g->list) < 0)
        return cairn_fail_memory(g->err);
    g->list[g->n_list++] = index;
    return CAIRN_OK;
}

static int point(struct grouping *g, uint64_t word, uint32_t head)
{
    uint32_t index;
    uint64_t off;
    enum cairn_reach_hit hit = cairn_reach_resolve(g->reach, word, &index, &off);
    if (hit != CAIRN_REACH_START && hit != CAIRN_REACH_INSIDE)
        return CAIRN_OK;
    if (cairn_reach_mark_of(g->reach, index) != CAIRN_REACH_NONE)
        return CAIRN_OK;
    if (g->heads[index] == NONE) {
        g->heads[index] = head;
        return push(g, index);
    }
    uint32_t other = head_of(g, index);
    if (other == index && other != head) /* it was a head until now */
        g->heads[other] = head;
    return CAIRN_OK;
}

static int words(struct grouping *g, const uint8_t *bytes, size_t size, uint32_t head)
{
    const struct cairn_reach *r = g->reach;
    for (size_t at = 0; at + sizeof(uint64_t) <= size; at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, bytes + at, sizeof word);
        word &= ~r->tag_bits;
        if (word - r->low > r->high - r->low)
            continue;
        int code = point(g, word, head);
        if (code < 0)
            return code;
    }
    return CAIRN_OK;
}

/* Blocks that were allocated one after the other are mostly neighbours. */
static int fill(struct grouping *g, uint64_t va, uint64_t end)
{
    enum { BEFORE = 16 << 10 };
    const struct cairn_reach *r = g->reach;
    if (va >= g->va && end <= g->end_va)
        return CAIRN_OK;
    uint64_t from = va - r->low > BEFORE ? va - BEFORE : r->low;
    uint64_t to = from + 2 * BEFORE > end ? from + 2 * BEFORE : end;
    if (to - from > CAIRN_REACH_WINDOW) {
        from = va;
        to = end - va < CAIRN_REACH_WINDOW ? end : va + CAIRN_REACH_WINDOW;
    }
    g->va = g->end_va = 0;
    if (!g->memory->read(g->memory->ctx, from, r->window, (size_t)(to - from)))
        return cairn_fail(g->err, CAIRN_E_STOPPED, "reading ended at 0x%llx",
                          (unsigned long long)from);
    g->va = from;
    g->end_va = to;
    return CAIRN_OK;
}

static int scan(struct grouping *g, uint32_t index, uint32_t head)
{
    const struct cairn_reach_block block = cairn_reach_blocks_get(&g->reach->blocks, index);
    uint64_t va = block.va, end = va + block.size;
    while (va < end) {
        if (g->memory->skip)
            va = g->memory->skip(g->memory->ctx, va, end) & ~UINT64_C(7);
        if (va >= end)
            break;
        uint64_t to = end - va < CAIRN_REACH_WINDOW / 2 ? end : va + CAIRN_REACH_WINDOW / 2;
        int code = fill(g, va, to);
        if (code == CAIRN_OK)
            code = words(g, g->reach->window + (va - g->va), (size_t)(to - va), head);
        if (code < 0)
            return code;
        va = to;
    }
    return CAIRN_OK;
}

static int flood_from(struct grouping *g, uint32_t head)
{
    int code = push(g, head);
    while (code == CAIRN_OK && g->n_list)
        code = scan(g, g->list[--g->n_list], head);
    return code;
}

int cairn_reach_group(struct cairn_reach *reach, const struct cairn_reach_memory *memory,
                      uint32_t *ret_heads, struct cairn_err *err)
{
    struct grouping g = {.reach = reach, .memory = memory, .heads = ret_heads, .err = err};
    uint32_t n = (uint32_t)reach->blocks.n;
    int code = CAIRN_OK;
    for (uint32_t i = 0; i < n; i++)
        ret_heads[i] = NONE;
    for (uint32_t i = 0; code == CAIRN_OK && i < n; i++) {
        if (ret_heads[i] != NONE || cairn_reach_mark_of(reach, i) != CAIRN_REACH_NONE)
            continue;
        ret_heads[i] = i;
        code = flood_from(&g, i);
    }
    for (uint32_t i = 0; code == CAIRN_OK && i < n; i++)
        if (ret_heads[i] != NONE)
            ret_heads[i] = head_of(&g, i);
    cairn_free(g.list);
    return code;
}
