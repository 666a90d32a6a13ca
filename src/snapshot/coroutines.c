/* SPDX-License-Identifier: MIT */
#include "snapshot/coroutines.h"

#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "snapshot/guest_rows.h"

struct finding {
    struct cairn_coroutines *coroutines;
    struct cairn_stacks *stacks;
};

static int add_group(struct cairn_coroutines *coroutines, struct cairn_stacks *stacks,
                     const struct cairn_guest_state *state)
{
    if (cairn_grow((void **)&coroutines->groups, &coroutines->cap, coroutines->n + 1,
                   sizeof *coroutines->groups) < 0)
        return CAIRN_E_NOMEM;
    struct cairn_coroutine_group *group = &coroutines->groups[coroutines->n];
    *group = (struct cairn_coroutine_group){
        .n = 1,
        .rest = state->rest,
        .may_be_collected = state->may_be_freed,
        .first_row = stacks->n_rows,
        .guest_row = stacks->n_guest_rows,
    };
    int code = cairn_target_guests_name(stacks->guests);
    if (code == CAIRN_OK)
        code = cairn_guest_rows_weave(stacks, stacks->n_rows);
    group->n_rows = stacks->n_rows - group->first_row;
    coroutines->n += code == CAIRN_OK;
    return code;
}

static int count(void *ctx, struct cairn_target_guests *guests, uint64_t key)
{
    const struct finding *finding = ctx;
    struct cairn_coroutines *coroutines = finding->coroutines;
    uint32_t number;
    coroutines->n_all++;
    if (cairn_table_find(&coroutines->by_stack, key, &number)) {
        coroutines->groups[number].n++;
        coroutines->groups[number].may_be_collected |= guests->result.states[0].may_be_freed;
        return CAIRN_OK;
    }
    if (finding->stacks->n_rows + guests->result.n_frames > CAIRN_STACK_ROWS_MAX) {
        coroutines->n_unlisted++;
        return CAIRN_OK;
    }
    number = (uint32_t)coroutines->n;
    int code = cairn_table_set(&coroutines->by_stack, key, number);
    return code < 0 ? code : add_group(coroutines, finding->stacks, &guests->result.states[0]);
}

/* The most frequent first, else as they lie in memory. */
static int compare(const void *a, const void *b)
{
    const struct cairn_coroutine_group *x = a, *y = b;
    if (x->n != y->n)
        return x->n < y->n ? 1 : -1;
    return (x->first_row > y->first_row) - (x->first_row < y->first_row);
}

static int add_samples(const struct cairn_coroutines *coroutines, struct cairn_stacks *stacks,
                       int pid)
{
    int code = CAIRN_OK;
    for (size_t i = 0; i < coroutines->n && code == CAIRN_OK; i++) {
        struct cairn_coroutine_group *group = &coroutines->groups[i];
        const char *rest = group->rest == CAIRN_GUEST_SUSPENDED ? "suspended" : "not begun";
        const struct cairn_stack_owner owner = {
            .pid = pid, .name = "", .cut = "", .coroutine = rest, .n = (int64_t)group->n};
        code =
            cairn_stacks_add_sample(stacks, group->first_row, group->n_rows, &owner, &group->stack);
    }
    return code;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int cairn_coroutines_find(struct cairn_coroutines *coroutines, struct cairn_stacks *stacks, int pid)
{
    struct finding finding = {coroutines, stacks};
    uint64_t begun = now_ns();
    cairn_table_done(&coroutines->by_stack);
    coroutines->by_stack = (struct cairn_table){0};
    coroutines->n = 0;
    coroutines->n_all = coroutines->n_unlisted = 0;
    int code =
        cairn_target_guests_find_resting(stacks->guests, count, &finding, &coroutines->search);
    coroutines->search_ns = now_ns() - begun;
    if (code == CAIRN_OK && coroutines->n)
        qsort(coroutines->groups, coroutines->n, sizeof *coroutines->groups, compare);
    return code == CAIRN_OK ? add_samples(coroutines, stacks, pid) : code;
}

void cairn_coroutines_done(struct cairn_coroutines *coroutines)
{
    cairn_table_done(&coroutines->by_stack);
    cairn_free(coroutines->groups);
    *coroutines = (struct cairn_coroutines){0};
}
