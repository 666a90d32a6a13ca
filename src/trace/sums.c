/* SPDX-License-Identifier: MIT */
#include "trace/sums.h"

#include "base/alloc.h"
#include "base/error.h"

void cairn_sums_done(struct cairn_sums *sums)
{
    cairn_table_done(&sums->by_row);
    cairn_free(sums->rows);
    cairn_free(sums->waiting);
    *sums = (struct cairn_sums){0};
}

/* The row of a stack, a call and a thread. */
static int find_row(struct cairn_sums *sums, uint32_t row, const struct cairn_collected *of,
                    uint32_t *ret_number)
{
    struct cairn_collected whose = *of;
    if (sums->n >= CAIRN_SUMS_ROWS_MAX)
        whose.pid = whose.tid = 0;
    const uint32_t parts[] = {row, whose.stack, whose.cut, (uint32_t)whose.pid,
                              (uint32_t)whose.tid};
    const uint64_t hash = cairn_hash_bytes(parts, sizeof parts);
    if (cairn_table_find(&sums->by_row, hash, ret_number))
        return CAIRN_OK;
    if (cairn_grow((void **)&sums->rows, &sums->cap, sums->n + 1, sizeof *sums->rows) < 0 ||
        cairn_table_set(&sums->by_row, hash, (uint32_t)sums->n) < 0)
        return CAIRN_E_NOMEM;
    *ret_number = (uint32_t)sums->n;
    sums->rows[sums->n++] = (struct cairn_sum_row){.of = whose, .row = row};
    return CAIRN_OK;
}

int cairn_sums_add(struct cairn_sums *sums, uint32_t row, const struct cairn_collected *stack,
                   const struct cairn_bpf_trace_sum *more)
{
    uint32_t number;
    if (find_row(sums, row, stack, &number) < 0)
        return CAIRN_E_NOMEM;
    cairn_trace_sum_add(&sums->rows[number].sum, more);
    return CAIRN_OK;
}

int cairn_sums_wait(struct cairn_sums *sums, const struct cairn_sum_waiting *one)
{
    if (cairn_grow((void **)&sums->waiting, &sums->cap_waiting, sums->n_waiting + 1,
                   sizeof *sums->waiting) < 0)
        return CAIRN_E_NOMEM;
    sums->waiting[sums->n_waiting++] = *one;
    return CAIRN_OK;
}

int cairn_sums_retry(struct cairn_sums *sums, cairn_sum_take_fn fn, void *ctx)
{
    size_t n_kept = 0;
    int code = CAIRN_OK;
    for (size_t i = 0; i < sums->n_waiting; i++)
        if (code < 0 || !fn(ctx, &sums->waiting[i], &code))
            sums->waiting[n_kept++] = sums->waiting[i];
    sums->n_waiting = n_kept;
    return code;
}
