/* SPDX-License-Identifier: MIT */
/* What lives, by stack. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "watch/heap.h"

/* With a filter, a stack without a block that it keeps is left out. */
static void leave_out(struct cairn_heap_sums *sums, uint64_t min_bytes)
{
    for (uint32_t i = 0; i < sums->n; i++) {
        int64_t *values = sums->values[i];
        if (values[CAIRN_HEAP_INUSE_OBJECTS] == 0 ||
            (uint64_t)values[CAIRN_HEAP_INUSE_SPACE] < min_bytes)
            memset(values, 0, sizeof sums->values[i]);
    }
}

/* What leaks are collected into; `leaks` may be NULL. */
struct listing {
    struct cairn_profile *profile;
    struct cairn_heap_leak *leaks;
    size_t n, cap;
};

const char *cairn_heap_cut_of(const struct cairn_profile *p, size_t sample)
{
    const char *cut = cairn_profile_cut_of(p, sample);
    return *cut ? cut : NULL;
}

/* The samples that a state added are in the order of its stacks, as the sums are. */
static int list_leaks(struct listing *l, const struct cairn_heap_state *state, uint32_t process,
                      const struct cairn_heap_sums *sums, size_t first_sample, bool all_stacks)
{
    size_t sample = first_sample;
    for (uint32_t i = 0; i < sums->n; i++) {
        const int64_t *values = sums->values[i];
        bool is_sample = false;
        for (size_t k = 0; k < CAIRN_HEAP_VALUES; k++)
            is_sample |= values[k] != 0;
        if (!is_sample)
            continue;
        size_t at = sample++;
        if (values[CAIRN_HEAP_INUSE_OBJECTS] == 0 && !all_stacks)
            continue;
        if (cairn_grow((void **)&l->leaks, &l->cap, l->n + 1, sizeof *l->leaks) < 0)
            return CAIRN_E_NOMEM;
        const struct cairn_profile_sample *s = &l->profile->samples[at];
        l->leaks[l->n++] = (struct cairn_heap_leak){
            .process = process,
            .n_processes = 1,
            .stack = s->stack,
            .n_blocks = (uint64_t)values[CAIRN_HEAP_INUSE_OBJECTS],
            .bytes = (uint64_t)values[CAIRN_HEAP_INUSE_SPACE],
            .oldest_ns = cairn_heap_age(state, sums->oldest[i]),
            .youngest_ns = cairn_heap_age(state, sums->youngest[i]),
            .error_bytes = cairn_heap_error((double)state->view.header.sample_bytes *
                                            (double)values[CAIRN_HEAP_INUSE_SPACE]),
            .cut = cairn_heap_cut_of(l->profile, at),
            .n_allocs = (uint64_t)values[CAIRN_HEAP_ALLOC_OBJECTS],
            .alloc_bytes = (uint64_t)values[CAIRN_HEAP_ALLOC_SPACE],
            .peak_blocks = (uint64_t)values[CAIRN_HEAP_PEAK_OBJECTS],
            .peak_bytes = (uint64_t)values[CAIRN_HEAP_PEAK_SPACE],
            .n_temporary = (uint64_t)values[CAIRN_HEAP_TEMPORARY_OBJECTS],
        };
    }
    return CAIRN_OK;
}

static int add_state(struct listing *l, struct cairn_heap *heap, size_t process,
                     const struct cairn_heap_filter *filter, bool wants_leaks,
                     struct cairn_err *err)
{
    struct cairn_heap_state *state = &heap->states[process];
    struct cairn_heap_select select;
    struct cairn_heap_sums own = {0}, *sums = &state->sums;
    size_t first_sample = l->profile->n_samples;
    int result = CAIRN_OK;
    if (!cairn_heap_filter_is_all(filter)) {
        result = cairn_heap_select_epochs(state, filter, &select, err);
        if (result == CAIRN_OK)
            result = cairn_heap_sums_make(&state->view, &select, &own, err);
        if (result < 0)
            return result;
        leave_out(&own, filter->min_bytes);
        sums = &own;
    }
    result = cairn_heap_add_to(state, sums, l->profile, NULL, err);
    if (result == CAIRN_OK && wants_leaks &&
        list_leaks(l, state, (uint32_t)process, sums, first_sample, filter->all_stacks) < 0)
        result = cairn_fail_memory(err);
    cairn_heap_sums_done(&own);
    return result;
}

static int make(struct listing *l, struct cairn_heap *heap, const struct cairn_heap_filter *given,
                bool wants_leaks, struct cairn_err *err)
{
    const struct cairn_heap_filter filter = cairn_heap_filter_of(given);
    int result = cairn_heap_profile_new(&l->profile, err);
    for (size_t i = 0; result == CAIRN_OK && i < heap->n; i++)
        result = add_state(l, heap, i, &filter, wants_leaks, err);
    if (result < 0) {
        cairn_profile_free(l->profile);
        cairn_free(l->leaks);
        return result;
    }
    l->profile->time_ns = heap->n ? (int64_t)heap->states[0].view.header.begin_ns : 0;
    return CAIRN_OK;
}

int cairn_heap_profile(struct cairn_heap *heap, const struct cairn_heap_filter *filter,
                       struct cairn_profile **ret_profile, struct cairn_err *err)
{
    struct listing l = {0};
    int result = make(&l, heap, filter, false, err);
    if (result == CAIRN_OK)
        *ret_profile = l.profile;
    return result;
}

int cairn_heap_compare_leaks(const void *x, const void *y)
{
    const struct cairn_heap_leak *a = x, *b = y;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    if (a->n_blocks != b->n_blocks)
        return a->n_blocks > b->n_blocks ? -1 : 1;
    return a->stack < b->stack ? -1 : a->stack > b->stack;
}

int cairn_heap_leaks(struct cairn_heap *heap, const struct cairn_heap_filter *filter,
                     struct cairn_profile **ret_profile, struct cairn_heap_leak **ret_leaks,
                     size_t *ret_n, struct cairn_err *err)
{
    struct listing l = {0};
    int result = make(&l, heap, filter, true, err);
    if (result < 0)
        return result;
    if (l.n)
        qsort(l.leaks, l.n, sizeof *l.leaks, cairn_heap_compare_leaks);
    *ret_profile = l.profile;
    *ret_leaks = l.leaks;
    *ret_n = l.n;
    return CAIRN_OK;
}

void cairn_heap_leaks_free(struct cairn_heap_leak *leaks)
{
    cairn_free(leaks);
}
