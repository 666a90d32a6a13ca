/* SPDX-License-Identifier: MIT */
/* Mappings that live, by what asked for them and by stack. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "watch/heap.h"

enum { KINDS = CAIRN_HEAP_MAP_ALLOCATOR + 1 };

static const char *const kinds[KINDS] = {
    [CAIRN_HEAP_MAP_MEMORY] = "mmap",
    [CAIRN_HEAP_MAP_FILE] = "mmap of a file",
    [CAIRN_HEAP_MAP_BREAK] = "brk",
    [CAIRN_HEAP_MAP_ALLOCATOR] = "the allocator's own",
};

/* What is collected: of the state that is read now the sums by stack and kind. */
struct listing {
    struct cairn_profile *profile;
    struct cairn_heap_leak *rows;
    size_t n, cap;
    const struct cairn_heap_state *state;
    struct sum {
        uint64_t n, bytes;
        uint32_t oldest, youngest; /* epochs */
    } (*sums)[KINDS];
};

static void add_map(void *ctx, const struct cairn_heap_map *map)
{
    const struct listing *l = ctx;
    struct sum *sum = &l->sums[map->stack][map->kind];
    if (sum->n == 0 || map->epoch < sum->oldest)
        sum->oldest = map->epoch;
    if (map->epoch > sum->youngest)
        sum->youngest = map->epoch;
    sum->n++;
    sum->bytes += map->to - map->from;
}

static int add_rows(struct listing *l, uint32_t process, const uint32_t *stacks,
                    struct cairn_err *err)
{
    for (uint32_t i = 0; i < l->state->view.n_stacks; i++)
        for (size_t kind = 0; kind < KINDS; kind++) {
            const struct sum *sum = &l->sums[i][kind];
            if (sum->n == 0)
                continue;
            if (cairn_grow((void **)&l->rows, &l->cap, l->n + 1, sizeof *l->rows) < 0)
                return cairn_fail_memory(err);
            l->rows[l->n++] = (struct cairn_heap_leak){
                .process = process,
                .n_processes = 1,
                .stack = stacks[i] == UINT32_MAX ? 0 : stacks[i],
                .n_blocks = sum->n,
                .bytes = sum->bytes,
                .oldest_ns = cairn_heap_age(l->state, sum->oldest),
                .youngest_ns = cairn_heap_age(l->state, sum->youngest),
                .kind = kinds[kind],
            };
        }
    return CAIRN_OK;
}

/* The profile gets the stacks, without samples. */
static int add_state(struct listing *l, struct cairn_heap_state *state, uint32_t process,
                     struct cairn_err *err)
{
    uint32_t n = state->view.n_stacks;
    uint32_t *stacks = cairn_alloc(n + 1, sizeof *stacks);
    struct cairn_heap_sums none = {.n = n};
    none.values = cairn_alloc(n + 1, sizeof *none.values);
    l->sums = cairn_alloc(n + 1, sizeof *l->sums);
    l->state = state;
    int result = stacks && none.values && l->sums ? CAIRN_OK : cairn_fail_memory(err);
    if (result == CAIRN_OK)
        result = cairn_heap_add_to(state, &none, l->profile, stacks, err);
    if (result == CAIRN_OK) {
        cairn_heap_view_maps(&state->view, add_map, l); /* their damage was counted with the sums */
        result = add_rows(l, process, stacks, err);
    }
    cairn_heap_sums_done(&none);
    cairn_free(l->sums);
    cairn_free(stacks);
    return result;
}

static int compare_rows(const void *x, const void *y)
{
    const struct cairn_heap_leak *a = x, *b = y;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return a->stack < b->stack ? -1 : a->stack > b->stack;
}

int cairn_heap_mapped(struct cairn_heap *heap, struct cairn_profile **ret_profile,
                      struct cairn_heap_leak **ret_rows, size_t *ret_n, struct cairn_err *err)
{
    struct listing l = {0};
    int result = cairn_heap_profile_new(&l.profile, err);
    for (size_t i = 0; result == CAIRN_OK && i < heap->n; i++)
        if (heap->states[i].view.header.flags & CAIRN_HEAP_MAPPINGS)
            result = add_state(&l, &heap->states[i], (uint32_t)i, err);
    if (result < 0) {
        cairn_profile_free(l.profile);
        cairn_free(l.rows);
        return result;
    }
    if (l.n)
        qsort(l.rows, l.n, sizeof *l.rows, compare_rows);
    *ret_profile = l.profile;
    *ret_rows = l.rows;
    *ret_n = l.n;
    return CAIRN_OK;
}
