/* SPDX-License-Identifier: MIT */
/*
 * Perf data joined: call chains that simpleperf extended after the recording, from chains of the
 * same thread that overlap. Each is a record of its own. It replaces the user side of the sample
 * with the same thread and time.
 */
#ifndef CAIRN_FORMATS_PERF_DATA_JOINED_H
#define CAIRN_FORMATS_PERF_DATA_JOINED_H

#include "base/buffer.h"
#include "base/reader.h"
#include "base/table.h"

struct cairn_perf_data_joined {
    struct cairn_buffer bytes; /* {u64 n; addresses} of each, as in the file */
    struct cairn_table at;     /* hash of thread and time -> where, in words */
};

void cairn_perf_data_joined_done(struct cairn_perf_data_joined *joined);

/* A record behind its header. 1; 0: it is damaged, or beyond the limit; CAIRN_E_NOMEM. */
int cairn_perf_data_joined_add(struct cairn_perf_data_joined *joined, struct cairn_span body,
                               bool swap);

/* The addresses; empty: the sample has none. Borrowed until the next one is added. */
struct cairn_span cairn_perf_data_joined_find(const struct cairn_perf_data_joined *joined, int tid,
                                              uint64_t time);

#endif /* CAIRN_FORMATS_PERF_DATA_JOINED_H */
