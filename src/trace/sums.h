/* SPDX-License-Identifier: MIT */
/*
 * Sums: what calls come to, by stack, call and thread.
 *
 *     the kernel's sums, taken each second ─┬─► waiting: their stacks have not come ─┐
 *     events that are filtered here ────────┴────────────────────────────────────────┴─► rows
 */
#ifndef CAIRN_TRACE_SUMS_H
#define CAIRN_TRACE_SUMS_H

#include "base/table.h"
#include "bpf/trace.h"
#include "sample/collect.h"

enum { CAIRN_SUMS_ROWS_MAX = 1 << 20 }; /* beyond, threads of a stack are summed together */

struct cairn_sum_row {
    struct cairn_collected of; /* the stack, and whose it is; pid and tid 0: of several */
    uint32_t row;              /* of the call */
    struct cairn_bpf_trace_sum sum;
};

/* The kernel's sum of a stack that has not come yet. */
struct cairn_sum_waiting {
    struct cairn_bpf_trace_key key;
    struct cairn_bpf_trace_sum sum;
    uint64_t since_ns;
};

struct cairn_sums {
    struct cairn_table by_row;
    struct cairn_sum_waiting *waiting;
    size_t n_waiting, cap_waiting;
    struct cairn_sum_row *rows;
    size_t n, cap;
};

void cairn_sums_done(struct cairn_sums *sums);

/* Adds one event, or a sum of several of one kind and thread. CAIRN_E_NOMEM. */
int cairn_sums_add(struct cairn_sums *sums, uint32_t row, const struct cairn_collected *stack,
                   const struct cairn_bpf_trace_sum *more);

/* Keeps one until its stack comes. CAIRN_E_NOMEM. */
int cairn_sums_wait(struct cairn_sums *sums, const struct cairn_sum_waiting *one);

/* Asks for each that waits, oldest first: true, it is taken, and `ret_code` is a code. */
typedef bool (*cairn_sum_take_fn)(void *ctx, const struct cairn_sum_waiting *one, int *ret_code);
int cairn_sums_retry(struct cairn_sums *sums, cairn_sum_take_fn fn, void *ctx);

#endif /* CAIRN_TRACE_SUMS_H */
