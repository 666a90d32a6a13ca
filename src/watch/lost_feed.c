/* SPDX-License-Identifier: MIT */
#include "watch/lost_feed.h"

static int feed(struct cairn_lost_feed *f, uint64_t va, struct cairn_span bytes, uint64_t from,
                uint64_t to)
{
    from = (from + 7) & ~UINT64_C(7);
    if (from >= to)
        return CAIRN_OK;
    return f->root(f->ctx, from,
                   (struct cairn_span){bytes.data + (from - va), (size_t)(to - from)});
}

/* [from, to) is no block. */
static int feed_gap(struct cairn_lost_feed *f, uint64_t va, struct cairn_span bytes, uint64_t from,
                    uint64_t to)
{
    const struct cairn_lost_ranges *arenas = &f->search->space.arenas;
    while (f->arena < arenas->n && arenas->items[f->arena].end <= from)
        f->arena++;
    int code = CAIRN_OK;
    for (size_t i = f->arena; code == CAIRN_OK && i < arenas->n && from < to; i++) {
        const struct cairn_reach_range *arena = &arenas->items[i];
        if (arena->start >= to || f->search->has_gaps)
            break;
        code = feed(f, va, bytes, from, arena->start > from ? arena->start : from);
        from = arena->end < to ? arena->end : to;
    }
    return code < 0 ? code : feed(f, va, bytes, from, to);
}

static bool is_suspect(struct cairn_lost_feed *f, uint64_t va)
{
    const struct cairn_lost_suspects *suspects = &f->search->suspects;
    while (f->next < suspects->n && suspects->items[f->next].va < va)
        f->next++;
    return f->next < suspects->n && suspects->items[f->next].va == va;
}

int cairn_lost_feed_piece(void *ctx, uint64_t va, struct cairn_span bytes)
{
    struct cairn_lost_feed *f = ctx;
    int code = CAIRN_OK;
    uint64_t at = va, end = va + bytes.size;
    uint32_t i = cairn_reach_blocks_first(f->blocks, va);
    i -= i > 0; /* the one before may reach into it */
    for (; code == CAIRN_OK && at < end && i < f->blocks->n; i++) {
        const struct cairn_reach_block block = cairn_reach_blocks_get(f->blocks, i);
        uint64_t from = block.va > at ? block.va : at, to = block.va + block.size;
        if (block.va >= end)
            break;
        if (from > at)
            code = feed_gap(f, va, bytes, at, from);
        to = to < end ? to : end;
        if (code == CAIRN_OK && to > from && f->with_blocks && !is_suspect(f, block.va))
            code = feed(f, va, bytes, from, to);
        at = to > at ? to : at;
    }
    return code < 0 || at >= end ? code : feed_gap(f, va, bytes, at, end);
}
