/* SPDX-License-Identifier: MIT */
#include "trace/sums.h"

#include "base/alloc.h"
#include "base/error.h"

/* A key of the kernel's. */
struct cairn_sums_known {
    uint32_t row; /* number in `rows`; the next one that is free */
    struct cairn_bpf_trace_sum last;
};

void cairn_sums_done(struct cairn_sums *sums)
{
    cairn_table_done(&sums->by_key);
    cairn_table_done(&sums->by_row);
    cairn_free(sums->known);
    cairn_free(sums->rows);
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

/* Least and most are those of all, not of the difference. */
static struct cairn_bpf_trace_sum since(const struct cairn_bpf_trace_sum *now,
                                        const struct cairn_bpf_trace_sum *last)
{
    return (struct cairn_bpf_trace_sum){.n = now->n - last->n,
                                        .n_errors = now->n_errors - last->n_errors,
                                        .ns = now->ns - last->ns,
                                        .min_ns = now->min_ns,
                                        .max_ns = now->max_ns,
                                        .bytes = now->bytes - last->bytes,
                                        .n_lost_returns =
                                            now->n_lost_returns - last->n_lost_returns};
}

static bool take_number(struct cairn_sums *sums, uint32_t *ret_number)
{
    if (sums->n_free) {
        *ret_number = sums->first_free;
        sums->first_free = sums->known[*ret_number].row;
        sums->n_free--;
        return true;
    }
    if (cairn_grow((void **)&sums->known, &sums->cap_known, sums->n_known + 1,
                   sizeof *sums->known) < 0)
        return false;
    *ret_number = (uint32_t)sums->n_known++;
    return true;
}

int cairn_sums_read(struct cairn_sums *sums, const struct cairn_bpf_trace_key *key,
                    const struct cairn_bpf_trace_sum *sum, const struct cairn_collected *stack)
{
    const uint64_t hash = cairn_hash_bytes(key, sizeof *key);
    uint32_t number, row;
    if (!cairn_table_find(&sums->by_key, hash, &number)) {
        if (find_row(sums, key->row, stack, &row) < 0 || !take_number(sums, &number) ||
            cairn_table_set(&sums->by_key, hash, number) < 0)
            return CAIRN_E_NOMEM;
        sums->known[number] = (struct cairn_sums_known){.row = row};
    }
    struct cairn_sums_known *known = &sums->known[number];
    const struct cairn_bpf_trace_sum more = since(sum, &known->last);
    cairn_trace_sum_add(&sums->rows[known->row].sum, &more);
    known->last = *sum;
    return CAIRN_OK;
}

void cairn_sums_forget(struct cairn_sums *sums, const struct cairn_bpf_trace_key *key)
{
    const uint64_t hash = cairn_hash_bytes(key, sizeof *key);
    uint32_t number;
    if (!cairn_table_find(&sums->by_key, hash, &number))
        return;
    cairn_table_remove(&sums->by_key, hash);
    sums->known[number].row = sums->first_free;
    sums->first_free = number;
    sums->n_free++;
}

int cairn_sums_add(struct cairn_sums *sums, uint32_t row, const struct cairn_collected *stack,
                   const struct cairn_bpf_trace_sum *one)
{
    uint32_t number;
    if (find_row(sums, row, stack, &number) < 0)
        return CAIRN_E_NOMEM;
    cairn_trace_sum_add(&sums->rows[number].sum, one);
    return CAIRN_OK;
}
