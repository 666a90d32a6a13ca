/* SPDX-License-Identifier: MIT */
/*
 * Flood: reads blocks that are reached, window after window in the order of addresses, round and
 * round until none is left. Within a window all is followed at once. So dense parts of the heap are
 * read in large pieces, and a list that runs through the whole heap costs a small read for a block.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "reach/form.h"
#include "reach/reach.h"

enum { WINDOW = CAIRN_REACH_WINDOW, SPAN_MIN = 4096, GAP = 16384, SPARSE = 8, PEEK = 16384 };

struct flood {
    struct cairn_reach *reach;
    const struct cairn_reach_memory *memory;
    enum cairn_reach_mark mark; /* what is spread */
    struct cairn_err *err;
};

/* The window that was read: blocks [first, end) are whole in it. */
struct window {
    uint64_t va, end_va;
    uint32_t first, end;
};

/* The first pending block in [from, end). */
static bool next_pending(const struct cairn_reach *r, uint32_t from, uint32_t end,
                         uint32_t *ret_index)
{
    while (from < end) {
        uint64_t bits = r->pending[from / 64] >> from % 64;
        if (bits) {
            *ret_index = from + (uint32_t)__builtin_ctzll(bits);
            return *ret_index < end;
        }
        from = (from / 64 + 1) * 64;
        uint64_t words = r->pending_words[from / 4096] >> from / 64 % 64;
        if (!words)
            from = (from / 4096 + 1) * 4096;
        else
            from += (uint32_t)__builtin_ctzll(words) * 64;
    }
    return false;
}

static void clear_pending(struct cairn_reach *r, uint32_t index)
{
    r->pending[index / 64] &= ~(UINT64_C(1) << index % 64);
    if (!r->pending[index / 64])
        r->pending_words[index / 4096] &= ~(UINT64_C(1) << index / 64 % 64);
    r->n_pending--;
}

static int fetch(const struct flood *f, uint64_t va, uint8_t *to, size_t size)
{
    f->reach->n_read_bytes += size;
    if (f->memory->read(f->memory->ctx, va, to, size))
        return CAIRN_OK;
    return cairn_fail(f->err, CAIRN_E_STOPPED, "reading ended at 0x%llx", (unsigned long long)va);
}

/* One that a window has no room for. */
static int scan_large(const struct flood *f, uint32_t index)
{
    struct cairn_reach *r = f->reach;
    const struct cairn_reach_block block = cairn_reach_blocks_get(&r->blocks, index);
    uint64_t va = block.va, end = block.va + block.size;
    clear_pending(r, index);
    while (va < end) {
        if (f->memory->skip)
            va = f->memory->skip(f->memory->ctx, va, end) & ~UINT64_C(7);
        if (va >= end)
            break;
        size_t size = end - va < WINDOW ? (size_t)(end - va) : WINDOW;
        int code = fetch(f, va, r->window, size);
        if (code < 0)
            return code;
        cairn_reach_words(r, r->window, size, f->mark, index);
        va += size;
    }
    return CAIRN_OK;
}

/* Around block `index`, with those pending blocks behind it that are near. */
static struct window choose(const struct cairn_reach *r, uint32_t index)
{
    const struct cairn_reach_area *area = cairn_reach_blocks_area(&r->blocks, index);
    struct cairn_reach_block block = cairn_reach_blocks_get(&r->blocks, index);
    uint64_t spare = WINDOW - block.size - 8, around = (r->span < spare ? r->span : spare) / 2;
    uint64_t low = block.va - area->base > around ? (block.va - around) & ~UINT64_C(7) : area->base;
    uint64_t high = block.va + block.size + around;
    struct window window = {.va = low, .first = cairn_reach_blocks_first(&r->blocks, low)};
    for (uint32_t i = index + 1; next_pending(r, i, area->first + area->n, &i); i++) {
        block = cairn_reach_blocks_get(&r->blocks, i);
        if (block.va > high + GAP || block.va + block.size - low > WINDOW)
            break;
        high = high > block.va + block.size ? high : block.va + block.size;
    }
    window.end_va = high < area->end ? high : area->end;
    window.end = cairn_reach_blocks_first(&r->blocks, window.end_va);
    if (window.end <= index + 1) { /* an empty block may begin at the window's end */
        window.end = index + 1;
        return window;
    }
    block = cairn_reach_blocks_get(&r->blocks, window.end - 1);
    window.end -= block.va + block.size > window.end_va;
    return window;
}

static void scan_window(const struct flood *f, const struct window *window, uint32_t *ret_n)
{
    struct cairn_reach *r = f->reach;
    uint32_t index, from = window->first;
    while (next_pending(r, from, window->end, &index) ||
           next_pending(r, window->first, window->end, &index)) {
        const struct cairn_reach_block block = cairn_reach_blocks_get(&r->blocks, index);
        clear_pending(r, index);
        cairn_reach_words(r, r->window + (block.va - window->va), (size_t)block.size, f->mark,
                          index);
        from = index + 1;
        ++*ret_n;
    }
}

/* Whether neighbours are worth reading shows in the window before. */
static void adapt(struct cairn_reach *r, uint32_t n_read, uint32_t n_window)
{
    if (n_read > 1 && n_read * SPARSE >= n_window)
        r->span = r->span < WINDOW / 2 ? r->span * 2 : WINDOW;
    else if (r->span > SPAN_MIN)
        r->span /= 2;
}

static int sweep(const struct flood *f)
{
    struct cairn_reach *r = f->reach;
    uint32_t from = 0, index, n = (uint32_t)r->blocks.n;
    while (r->n_pending) {
        if (!next_pending(r, from, n, &index) && !next_pending(r, 0, n, &index))
            break;
        int code = CAIRN_OK;
        from = index + 1;
        if (cairn_reach_blocks_get(&r->blocks, index).size > WINDOW / 2) {
            code = scan_large(f, index);
        } else {
            const struct window window = choose(r, index);
            uint32_t n_read = 0;
            code = fetch(f, window.va, r->window, (size_t)(window.end_va - window.va));
            if (code == CAIRN_OK)
                scan_window(f, &window, &n_read);
            adapt(r, n_read, window.end - window.first);
            from = window.end > from ? window.end : from;
        }
        if (code < 0)
            return code;
    }
    return CAIRN_OK;
}

/* Some bytes of a block. Hints come in the order of addresses, so that one read serves many. */
static int peek(const struct flood *f, struct cairn_reach_range *window, uint64_t va,
                uint64_t limit, uint64_t *to, size_t size)
{
    if (va < window->start || va + size > window->end) {
        uint64_t end = limit - va < PEEK ? limit : va + PEEK;
        int code = fetch(f, va, f->reach->window, (size_t)(end - va));
        if (code < 0)
            return code;
        *window = (struct cairn_reach_range){va, end};
    }
    memcpy(to, f->reach->window + (va - window->start), size);
    return CAIRN_OK;
}

static int read_form(const struct flood *f, const struct cairn_reach_hint *hint,
                     struct cairn_reach_range *window, struct cairn_reach_form *form)
{
    uint64_t limit = cairn_reach_blocks_area(&f->reach->blocks, hint->index)->end;
    form->block = cairn_reach_blocks_get(&f->reach->blocks, hint->index);
    form->off = hint->off;
    form->tables = f->reach->tables;
    form->n_tables = f->reach->n_tables;
    form->slack = f->reach->slack;
    if (form->off >= form->block.size)
        return CAIRN_OK;
    size_t head =
        form->block.size < sizeof form->head ? (size_t)form->block.size : sizeof form->head;
    int code = peek(f, window, form->block.va, limit, form->head, head);
    if (code == CAIRN_OK && form->off >= 8 && form->block.size - form->off >= 8)
        code = peek(f, window, form->block.va + form->off - 8, limit, form->around,
                    sizeof form->around);
    return code;
}

static int compare_hints(const void *x, const void *y)
{
    const struct cairn_reach_hint *a = x, *b = y;
    return a->index != b->index ? (a->index < b->index ? -1 : 1)
           : a->off != b->off   ? (a->off < b->off ? -1 : 1)
                                : 0;
}

static int judge_hints(const struct flood *f)
{
    struct cairn_reach *r = f->reach;
    struct cairn_reach_range window = {0};
    if (r->n_hints)
        qsort(r->hints, r->n_hints, sizeof *r->hints, compare_hints);
    for (size_t i = 0; i < r->n_hints; i++) {
        struct cairn_reach_form form = {0};
        if (cairn_reach_mark_of(r, r->hints[i].index) == CAIRN_REACH_HELD)
            continue;
        int code = read_form(f, &r->hints[i], &window, &form);
        if (code < 0)
            return code;
        if (cairn_reach_form_holds(&form))
            cairn_reach_raise(r, r->hints[i].index, CAIRN_REACH_HELD);
    }
    r->n_hints = 0;
    return CAIRN_OK;
}

int cairn_reach_flood(struct cairn_reach *reach, const struct cairn_reach_memory *memory,
                      struct cairn_err *err)
{
    struct flood f = {reach, memory, CAIRN_REACH_HELD, err};
    int code = CAIRN_OK;
    reach->span = reach->span ? reach->span : SPAN_MIN;
    while (code == CAIRN_OK && (reach->n_pending || reach->n_hints)) {
        code = sweep(&f);
        if (code == CAIRN_OK)
            code = judge_hints(&f);
    }
    if (code < 0)
        return code;
    cairn_reach_raise_doubtful(reach);
    f.mark = CAIRN_REACH_POSSIBLY;
    return sweep(&f);
}
