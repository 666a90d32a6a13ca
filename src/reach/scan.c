/* SPDX-License-Identifier: MIT */
#include "reach/scan.h"

#include "base/error.h"

enum { WINDOW = CAIRN_REACH_WINDOW, GAP = 4096 };

static bool wants(const struct cairn_reach_scan *s, uint32_t index)
{
    return !s->wants || s->wants(s->ctx, index);
}

/* [va, end), and those wanted blocks behind it that are near and fit. */
static int fill(struct cairn_reach_scan *s, uint64_t va, uint64_t end, uint32_t next,
                struct cairn_err *err)
{
    const struct cairn_reach_blocks *blocks = &s->reach->blocks;
    if (va >= s->va && end <= s->end_va)
        return CAIRN_OK;
    uint64_t to = end;
    for (; next < blocks->n; next++) {
        const struct cairn_reach_block block = cairn_reach_blocks_get(blocks, next);
        if (block.va > to + GAP || block.size > WINDOW || block.va + block.size - va > WINDOW)
            break;
        if (wants(s, next))
            to = block.va + block.size > to ? block.va + block.size : to;
    }
    s->va = s->end_va = 0;
    s->reach->n_read_bytes += to - va;
    if (!s->memory->read(s->memory->ctx, va, s->reach->window, (size_t)(to - va)))
        return cairn_fail(err, CAIRN_E_STOPPED, "reading ended at 0x%llx", (unsigned long long)va);
    s->va = va;
    s->end_va = to;
    return CAIRN_OK;
}

static int scan_block(struct cairn_reach_scan *s, uint32_t index, struct cairn_err *err)
{
    const struct cairn_reach_block block = cairn_reach_blocks_get(&s->reach->blocks, index);
    uint64_t va = block.va, end = va + block.size;
    int code = s->words(s->ctx, index, (struct cairn_span){0});
    while (code == CAIRN_OK && va < end) {
        if (s->memory->skip && block.size > WINDOW)
            va = s->memory->skip(s->memory->ctx, va, end) & ~UINT64_C(7);
        if (va >= end)
            break;
        uint64_t to = end - va < WINDOW ? end : va + WINDOW;
        code = fill(s, va, to, index + 1, err);
        if (code == CAIRN_OK)
            code =
                s->words(s->ctx, index,
                         (struct cairn_span){s->reach->window + (va - s->va), (size_t)(to - va)});
        va = to;
    }
    return code;
}

int cairn_reach_scan_run(struct cairn_reach_scan *scan, struct cairn_err *err)
{
    int code = CAIRN_OK;
    for (uint32_t i = 0; code == CAIRN_OK && i < scan->reach->blocks.n; i++)
        if (wants(scan, i))
            code = scan_block(scan, i, err);
    return code;
}
