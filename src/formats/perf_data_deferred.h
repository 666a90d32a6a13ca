/* SPDX-License-Identifier: MIT */
/*
 * Perf data deferred: samples whose user side follows in a record of its own, once the thread
 * leaves the kernel (perf record --call-graph fp,defer; Linux 6.19).
 *
 *     SAMPLE { .., chain: kernel addresses, -640, cookie }
 *     ...
 *     CALLCHAIN_DEFERRED { cookie, n, addresses, .. }      of all samples with that cookie
 */
#ifndef CAIRN_FORMATS_PERF_DATA_DEFERRED_H
#define CAIRN_FORMATS_PERF_DATA_DEFERRED_H

#include "base/buffer.h"

enum { CAIRN_PERF_DATA_DEFERRED_MAX = 1 << 14 }; /* samples that wait; more are cut */

struct cairn_perf_data_waiting_sample {
    uint64_t cookie;
    size_t at, size; /* the record, in `bytes` */
};

struct cairn_perf_data_deferred {
    struct cairn_perf_data_waiting_sample *items;
    size_t n, cap;
    struct cairn_buffer bytes;
};

void cairn_perf_data_deferred_done(struct cairn_perf_data_deferred *deferred);

/* Keeps a copy of the record. 1: it waits, 0: too many do, CAIRN_E_NOMEM. */
int cairn_perf_data_deferred_add(struct cairn_perf_data_deferred *deferred, uint64_t cookie,
                                 struct cairn_span record);

/* Takes out the next record that waits for `cookie`, or any where `is_any`; empty: there is none.
 * Borrowed until the next call of add. */
struct cairn_span cairn_perf_data_deferred_take(struct cairn_perf_data_deferred *deferred,
                                                uint64_t cookie, bool is_any);

#endif /* CAIRN_FORMATS_PERF_DATA_DEFERRED_H */
