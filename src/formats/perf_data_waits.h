/* SPDX-License-Identifier: MIT */
/*
 * Perf data waits: how long threads were off the CPU.
 *
 *     sample of sched_switch                          the thread leaves the CPU, with this stack
 *         ...                                         off the CPU
 *     SWITCH, a sched_switch to it, a sample of it    it is back, at the latest
 *
 * The time is a value of the sample by which the thread left. One that does not come back waits up
 * to the end of the recording, unless it exited.
 */
#ifndef CAIRN_FORMATS_PERF_DATA_WAITS_H
#define CAIRN_FORMATS_PERF_DATA_WAITS_H

#include "stream/stream.h"

struct cairn_perf_data_wait {
    uint64_t since;
    uint32_t row; /* of the stream; UINT32_MAX: the thread does not wait */
    bool has_exited;
};

struct cairn_perf_data_waits {
    struct cairn_table by_tid; /* number in `items` */
    struct cairn_perf_data_wait *items;
    size_t n, cap;
};

void cairn_perf_data_waits_done(struct cairn_perf_data_waits *waits); /* all-zero is fine */

/* The functions that return int return CAIRN_OK or CAIRN_E_NOMEM. */

/* The thread left the CPU by the last sample of the stream. */
int cairn_perf_data_waits_start(struct cairn_perf_data_waits *waits,
                                const struct cairn_stream *stream, int tid, uint64_t time);

/* The thread is on a CPU. */
int cairn_perf_data_waits_stop(struct cairn_perf_data_waits *waits, struct cairn_stream *stream,
                               int tid, uint64_t time);

/* When the thread came back is unknown. */
void cairn_perf_data_waits_forget(struct cairn_perf_data_waits *waits, int tid);

/* A thread exits, which leaves the CPU once more; or it is a new one. */
int cairn_perf_data_waits_exit(struct cairn_perf_data_waits *waits, int tid, bool is_new);

/* After the last record. */
int cairn_perf_data_waits_end(struct cairn_perf_data_waits *waits, struct cairn_stream *stream,
                              uint64_t time);

/* The event of times off the CPU: the name and unit that our own recordings have. UINT32_MAX: as of
 * cairn_stream_add_event(). */
uint32_t cairn_perf_data_waits_event(struct cairn_stream *stream);

/* Why a thread is off the CPU, by the state that sched_switch says, in the words of our own
 * recordings. `*ret_ends`: it does not come back. */
const char *cairn_perf_data_waits_reason(uint64_t state, bool *ret_ends);

#endif /* CAIRN_FORMATS_PERF_DATA_WAITS_H */
