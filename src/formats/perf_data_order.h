/* SPDX-License-Identifier: MIT */
/*
 * Perf data order: records of several CPUs in the order of time.
 *
 * perf empties one ring buffer after the other, so that a file is in order only within what came of
 * one ring. After each turn over all rings it writes FINISHED_ROUND: what is older than the newest
 * record of the turn before cannot be preceded by anything that follows.
 */
#ifndef CAIRN_FORMATS_PERF_DATA_ORDER_H
#define CAIRN_FORMATS_PERF_DATA_ORDER_H

#include <cairn/error.h>

#include "base/buffer.h"

enum { CAIRN_PERF_DATA_ORDER_BYTES = 256 << 20 }; /* held at most; then the older half goes out */

struct cairn_perf_data_waiting {
    uint64_t time, number; /* of equal times the first one goes first */
    uint64_t off;          /* in the file; for messages */
    size_t at, size;       /* in `bytes` */
};

struct cairn_perf_data_order {
    struct cairn_buffer bytes; /* copies of the records */
    struct cairn_perf_data_waiting *items;
    size_t n, cap;
    uint64_t n_ever;
    uint64_t newest;    /* of all */
    uint64_t round_end; /* newest of the rounds before this one */
    uint64_t gone;      /* newest that went out */
    uint64_t n_late;    /* came after newer ones had gone out */
    size_t bytes_max;   /* CAIRN_PERF_DATA_ORDER_BYTES; less in tests */
};

/* Takes a record that goes out; CAIRN_OK or a failure, which ends it. */
typedef int (*cairn_perf_data_out_fn)(void *ctx, struct cairn_span record, uint64_t off,
                                      struct cairn_err *err);

void cairn_perf_data_order_done(struct cairn_perf_data_order *order);

/* Keeps a copy. CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_perf_data_order_add(struct cairn_perf_data_order *order, uint64_t time,
                              struct cairn_span record, uint64_t off);

/* More is held than should be: the older half goes out. */
bool cairn_perf_data_order_is_full(const struct cairn_perf_data_order *order);
int cairn_perf_data_order_relieve(struct cairn_perf_data_order *order, cairn_perf_data_out_fn out,
                                  void *ctx, struct cairn_err *err);

/* A round has ended. */
int cairn_perf_data_order_round(struct cairn_perf_data_order *order, cairn_perf_data_out_fn out,
                                void *ctx, struct cairn_err *err);

/* All that is left. */
int cairn_perf_data_order_end(struct cairn_perf_data_order *order, cairn_perf_data_out_fn out,
                              void *ctx, struct cairn_err *err);

#endif /* CAIRN_FORMATS_PERF_DATA_ORDER_H */
