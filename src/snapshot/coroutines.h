/* SPDX-License-Identifier: MIT */
/* Coroutines: those of a process that no thread runs, equal stacks together. */
#ifndef CAIRN_SNAPSHOT_COROUTINES_H
#define CAIRN_SNAPSHOT_COROUTINES_H

#include "base/table.h"
#include "snapshot/stacks.h"
#include "target/resting.h"

/* Coroutines with the same stack, in the same module. */
struct cairn_coroutine_group {
    uint64_t n;
    uint8_t rest;             /* enum cairn_guest_rest */
    bool may_be_collected;    /* some of them */
    size_t first_row, n_rows; /* of stacks->rows */
    size_t guest_row;         /* of stacks->guest_rows: the first coroutine's state */
    uint32_t stack;           /* of the profile */
};

struct cairn_coroutines {
    struct cairn_coroutine_group *groups; /* those of most coroutines first */
    size_t n, cap;
    uint64_t n_all;      /* coroutines */
    uint64_t n_unlisted; /* of them, with stacks that are in no group: CAIRN_STACK_ROWS_MAX */
    struct cairn_table by_stack;
    struct cairn_target_resting search;
    uint64_t search_ns;
};

/* Of one look; those of the last are forgotten. Adds rows and, to the profile, a sample for each
 * group. CAIRN_E_NOMEM. */
int cairn_coroutines_find(struct cairn_coroutines *coroutines, struct cairn_stacks *stacks,
                          int pid);
void cairn_coroutines_done(struct cairn_coroutines *coroutines);

#endif /* CAIRN_SNAPSHOT_COROUTINES_H */
