/* SPDX-License-Identifier: MIT */
/*
 * Sums: what calls come to, by stack, call and thread.
 *
 *     the kernel's sums, read once a second ──► known: as read last ──┐ the difference
 *     events that are filtered here ──────────────────────────────────┴─► rows
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

struct cairn_sums_known;

struct cairn_sums {
    struct cairn_table by_key, by_row;
    struct cairn_sums_known *known;
    size_t n_known, cap_known;
    uint32_t first_free;
    size_t n_free;
    struct cairn_sum_row *rows;
    size_t n, cap;
};

void cairn_sums_done(struct cairn_sums *sums);

/* `stack`: NULL, it did not come, and the row has an empty one, cut with the text `lost`. */
int cairn_sums_read(struct cairn_sums *sums, const struct cairn_bpf_trace_key *key,
                    const struct cairn_bpf_trace_sum *sum, const struct cairn_collected *stack);

/* The key comes no more. */
void cairn_sums_forget(struct cairn_sums *sums, const struct cairn_bpf_trace_key *key);

/* One event. */
int cairn_sums_add(struct cairn_sums *sums, uint32_t row, const struct cairn_collected *stack,
                   const struct cairn_bpf_trace_sum *one);

#endif /* CAIRN_TRACE_SUMS_H */
