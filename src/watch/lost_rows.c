/* SPDX-License-Identifier: MIT */
/* What a search found, by the stack that allocated it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/below.h"
#include "base/error.h"
#include "watch/lost_pass.h"

/* What hangs on the blocks of one stack. */
struct hanging {
    uint64_t blocks, bytes;
};

struct rows {
    struct cairn_heap_state *state;
    struct cairn_heap_sums sums; /* the two values of live blocks alone */
    struct hanging *hanging;     /* by stack */
    struct cairn_heap_select select;
    uint64_t min_bytes;
    struct cairn_profile *profile;
    struct cairn_err *err;
};

static void rows_done(struct rows *rows)
{
    cairn_free(rows->sums.values);
    cairn_free(rows->sums.oldest);
    cairn_free(rows->sums.youngest);
    cairn_free(rows->hanging);
    rows->sums = (struct cairn_heap_sums){0};
    rows->hanging = NULL;
}

static int rows_begin(struct rows *rows)
{
    uint32_t n = rows->state->sums.n;
    rows->sums = (struct cairn_heap_sums){
        .values = cairn_alloc((size_t)n + 1, sizeof *rows->sums.values),
        .oldest = cairn_alloc((size_t)n + 1, sizeof *rows->sums.oldest),
        .youngest = cairn_alloc((size_t)n + 1, sizeof *rows->sums.youngest),
        .n = n,
    };
    rows->hanging = cairn_alloc((size_t)n + 1, sizeof *rows->hanging);
    if (!rows->sums.values || !rows->sums.oldest || !rows->sums.youngest || !rows->hanging)
        return cairn_fail_memory(rows->err);
    return CAIRN_OK;
}

/* A stack that the state does not have any more counts as none. */
static uint32_t stack_of(const struct rows *rows, const struct cairn_lost_suspect *suspect)
{
    return suspect->stack < rows->sums.n ? suspect->stack : 0;
}

static bool is_selected(const struct rows *rows, const struct cairn_lost_suspect *suspect)
{
    return rows->sums.n && suspect->epoch >= rows->select.first &&
           suspect->epoch <= rows->select.last;
}

static void add_block(struct rows *rows, const struct cairn_lost_suspect *suspect)
{
    uint32_t i = stack_of(rows, suspect);
    int64_t *values = rows->sums.values[i];
    if (values[CAIRN_HEAP_INUSE_OBJECTS] == 0 || suspect->epoch < rows->sums.oldest[i])
        rows->sums.oldest[i] = suspect->epoch;
    if (values[CAIRN_HEAP_INUSE_OBJECTS] == 0 || suspect->epoch > rows->sums.youngest[i])
        rows->sums.youngest[i] = suspect->epoch;
    values[CAIRN_HEAP_INUSE_OBJECTS]++;
    values[CAIRN_HEAP_INUSE_SPACE] =
        cairn_profile_add_clamped(values[CAIRN_HEAP_INUSE_SPACE],
                                  suspect->size < INT64_MAX ? (int64_t)suspect->size : INT64_MAX);
}

static int compare_rows(const void *x, const void *y)
{
    const struct cairn_heap_leak *a = x, *b = y;
    uint64_t of_a = a->bytes + a->indirect_bytes, of_b = b->bytes + b->indirect_bytes;
    if (of_a != of_b)
        return of_a > of_b ? -1 : 1;
    return cairn_heap_compare_leaks(x, y);
}

static void leave_out_small(struct rows *rows)
{
    for (uint32_t i = 0; i < rows->sums.n; i++)
        if ((uint64_t)rows->sums.values[i][CAIRN_HEAP_INUSE_SPACE] + rows->hanging[i].bytes <
            rows->min_bytes)
            memset(rows->sums.values[i], 0, sizeof rows->sums.values[i]);
}

/* The samples that a state adds are in the order of its stacks. */
static int list(struct rows *rows, struct cairn_heap_leak **ret_leaks, size_t *ret_n)
{
    size_t sample = rows->profile->n_samples, cap = 0;
    struct cairn_heap_leak *leaks = NULL;
    leave_out_small(rows);
    *ret_n = 0;
    int code = cairn_heap_add_to(rows->state, &rows->sums, rows->profile, NULL, rows->err);
    for (uint32_t i = 0; code == CAIRN_OK && i < rows->sums.n; i++) {
        const int64_t *values = rows->sums.values[i];
        if (values[CAIRN_HEAP_INUSE_OBJECTS] == 0)
            continue;
        if (sample >= rows->profile->n_samples ||
            cairn_grow((void **)&leaks, &cap, *ret_n + 1, sizeof *leaks) < 0) {
            code = cairn_fail_memory(rows->err);
            break;
        }
        leaks[(*ret_n)++] = (struct cairn_heap_leak){
            .n_processes = 1,
            .stack = rows->profile->samples[sample].stack,
            .n_blocks = (uint64_t)values[CAIRN_HEAP_INUSE_OBJECTS],
            .bytes = (uint64_t)values[CAIRN_HEAP_INUSE_SPACE],
            .oldest_ns = cairn_heap_age(rows->state, rows->sums.oldest[i]),
            .youngest_ns = cairn_heap_age(rows->state, rows->sums.youngest[i]),
            .cut = cairn_heap_cut_of(rows->profile, sample),
            .n_indirect = rows->hanging[i].blocks,
            .indirect_bytes = rows->hanging[i].bytes,
        };
        sample++;
    }
    *ret_leaks = leaks;
    if (*ret_n)
        qsort(leaks, *ret_n, sizeof *leaks, compare_rows);
    return code;
}

/* The suspect that a block of the last pass is; the pass had at least these. */
static const struct cairn_lost_suspect *suspect_at(const struct cairn_lost_suspects *suspects,
                                                   uint64_t va)
{
    size_t n = CAIRN_COUNT_BELOW(suspects->items, suspects->n, va, va);
    return n && suspects->items[n - 1].va == va ? &suspects->items[n - 1] : NULL;
}

/* Without BPF nothing shows where alternate signal stacks are, and often the kernel alone knows
 * them. They have sizes that are round, or those that the system names (sigaltstack(2)). */
static bool may_be_stack(const struct cairn_lost_search *s, uint64_t size)
{
    const uint64_t least = 2048, round = 1024;
    const uint64_t more = s->reach->slack + 1;
    long usual = sysconf(_SC_SIGSTKSZ), small = sysconf(_SC_MINSIGSTKSZ);
    if (s->threads.iterator || size < least)
        return false;
    return size % round < more || (usual > 0 && size % (uint64_t)usual < more) ||
           (small > 0 && size % (uint64_t)small < more);
}

static int add_member(struct rows *rows, struct cairn_lost_search *s,
                      const struct cairn_lost_suspect *own, const struct cairn_lost_suspect *head)
{
    if (may_be_stack(s, head->size))
        return cairn_lost_suspects_add(&s->doubtful, own) < 0 ? cairn_fail_memory(rows->err)
                                                              : CAIRN_OK;
    if (!is_selected(rows, head))
        return CAIRN_OK;
    if (own == head) {
        add_block(rows, own);
        return CAIRN_OK;
    }
    rows->hanging[stack_of(rows, head)].blocks++;
    rows->hanging[stack_of(rows, head)].bytes += own->size;
    return CAIRN_OK;
}

static int add_lost(struct rows *rows, struct cairn_lost_search *s)
{
    const struct cairn_reach_memory memory = cairn_lost_space_memory(&s->space);
    size_t n = cairn_reach_count(s->reach);
    uint32_t *heads = cairn_alloc(n + 1, sizeof *heads);
    if (!heads)
        return cairn_fail_memory(rows->err);
    int code = cairn_reach_group(s->reach, &memory, heads, rows->err);
    for (size_t i = 0; code == CAIRN_OK && i < n; i++) {
        if (heads[i] == UINT32_MAX)
            continue;
        const struct cairn_lost_suspect *own =
            suspect_at(&s->suspects, cairn_reach_get(s->reach, i).va);
        const struct cairn_lost_suspect *head =
            suspect_at(&s->suspects, cairn_reach_get(s->reach, heads[i]).va);
        if (own && head)
            code = add_member(rows, s, own, head);
    }
    cairn_free(heads);
    return code == CAIRN_E_STOPPED ? cairn_fail(rows->err, CAIRN_E_MISSING,
                                                "process %d ended while it was read", s->pid)
                                   : code;
}

static int compare_suspects(const void *x, const void *y)
{
    const struct cairn_lost_suspect *a = x, *b = y;
    return a->va < b->va ? -1 : a->va > b->va;
}

struct keeping {
    struct cairn_lost_suspects *suspects;
    size_t next, n_kept;
};

static void keep_living(void *ctx, const struct cairn_heap_block *block)
{
    struct keeping *k = ctx;
    struct cairn_lost_suspect *items = k->suspects->items;
    while (k->next < k->suspects->n && items[k->next].va < block->va)
        k->next++;
    if (k->next < k->suspects->n && cairn_lost_is_same(&items[k->next], block))
        items[k->n_kept++] = items[k->next++];
}

/* Those that were freed since a pass doubted them, or missed them, are not told of. */
static int drop_dead(struct rows *rows, struct cairn_lost_suspects *suspects)
{
    struct keeping k = {.suspects = suspects};
    if (!suspects->n)
        return CAIRN_OK;
    qsort(suspects->items, suspects->n, sizeof *suspects->items, compare_suspects);
    if (cairn_heap_view_sorted_blocks(&rows->state->view, keep_living, &k) < 0)
        return cairn_fail_memory(rows->err);
    suspects->n = k.n_kept;
    return CAIRN_OK;
}

static void add_all(struct rows *rows, const struct cairn_lost_suspects *suspects)
{
    for (size_t i = 0; i < suspects->n; i++)
        if (is_selected(rows, &suspects->items[i]))
            add_block(rows, &suspects->items[i]);
}

/* Doubtful ones get a list of their own. */
static int part_doubtful(struct cairn_lost_search *s, struct cairn_err *err)
{
    size_t n_lost = 0;
    for (size_t i = 0; i < s->suspects.n; i++)
        if (!s->suspects.items[i].is_doubtful)
            s->suspects.items[n_lost++] = s->suspects.items[i];
        else if (cairn_lost_suspects_add(&s->doubtful, &s->suspects.items[i]) < 0)
            return cairn_fail_memory(err);
    s->suspects.n = n_lost;
    return CAIRN_OK;
}

static int make(struct rows *rows, struct cairn_lost_search *s, bool is_sure,
                struct cairn_heap_lost *lost)
{
    int code = rows_begin(rows);
    if (code == CAIRN_OK && is_sure && s->suspects.n)
        code = add_lost(rows, s);
    if (code == CAIRN_OK)
        code = list(rows, &lost->lost, &lost->n_lost);
    rows_done(rows);
    if (code == CAIRN_OK)
        code = rows_begin(rows);
    if (code == CAIRN_OK) {
        add_all(rows, &s->doubtful);
        if (!is_sure)
            add_all(rows, &s->suspects);
        code = list(rows, &lost->possibly, &lost->n_possibly);
    }
    rows_done(rows);
    return code;
}

int cairn_lost_rows(struct cairn_lost_search *search, const struct cairn_heap_filter *filter,
                    bool is_sure, struct cairn_heap_lost *lost, struct cairn_err *err)
{
    const struct cairn_heap_filter all = cairn_heap_filter_of(filter);
    struct rows rows = {.min_bytes = all.min_bytes, .err = err};
    int code = cairn_lost_pass_read_state(search, &lost->heap, err);
    if (code == CAIRN_OK)
        code = cairn_heap_profile_new(&lost->profile, err);
    if (code < 0)
        return code;
    rows.state = &lost->heap->states[0];
    rows.profile = lost->profile;
    code = cairn_heap_select_epochs(rows.state, &all, &rows.select, err);
    if (code == CAIRN_OK)
        code = part_doubtful(search, err);
    if (code == CAIRN_OK)
        code = drop_dead(&rows, &search->doubtful);
    if (code == CAIRN_OK)
        code = drop_dead(&rows, &search->suspects);
    return code < 0 ? code : make(&rows, search, is_sure, lost);
}
