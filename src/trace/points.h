/* SPDX-License-Identifier: MIT */
/*
 * Points: system calls and tracepoints by perf events, where BPF is refused.
 *
 *     spec ─► perf events (sys_enter, sys_exit, tracepoints), filters ─► records, by time
 *     record ─► row, terms of the filter ─► stack of the copy, texts ─► event
 *
 * Events are those of the programs in the kernel (bpf/trace.h), with the same meaning.
 */
#ifndef CAIRN_TRACE_POINTS_H
#define CAIRN_TRACE_POINTS_H

#include "base/buffer.h"
#include "sample/sampler_state.h"
#include "trace/plain.h"
#include "trace/plain_event.h"

struct cairn_points {
    const struct cairn_spec *spec;
    struct cairn_sampler *sampler; /* borrowed, as the spec */
    bool no_stack, enter_only, user_only, kernel_only, wants_regs;
    bool wants_texts;        /* what arguments point to is printed, or in a filter */
    bool is_machine;         /* whole CPUs: who traces is left out */
    bool user_filters;       /* a filter that the kernel could not be given */
    int tid;                 /* this thread alone; 0: all */
    cairn_plain_fn on_event; /* a nonzero answer ends the reports */
    void *event_ctx;
    bool is_over;
    struct cairn_perf_points perf;
    struct cairn_perf_point items[CAIRN_TRACE_PROBES + 2];
    uint32_t rows[CAIRN_TRACE_PROBES + 2]; /* of each the row; or one of the next two */
    struct cairn_buffer *filters;          /* of each */
    struct cairn_table calls;              /* tid -> 1 + number of `pending` */
    struct cairn_plain_pending **pending;
    size_t n_pending, cap_pending;
    struct cairn_table uids;  /* pid -> user; UINT32_MAX: unknown */
    struct cairn_table looks; /* pid -> when it was looked for, ms */
    struct cairn_table sites; /* of instructions that make calls: is it int 0x80? */
    uint64_t n_seen, n_filtered, n_lost;
    uint64_t n_gaps; /* losses that were told of */
};

enum { CAIRN_POINT_ENTER = CAIRN_TRACE_ROWS, CAIRN_POINT_EXIT };

/* Can the events of the spec be caught so? */
bool cairn_points_can(const struct cairn_spec *spec);

/* The caller has set `spec`, `no_stack` to `tid`, `on_event` and `event_ctx`. Makes the sampler,
 * which starts the command. CAIRN_E_ACCESS, CAIRN_E_SUPPORT. */
int cairn_points_open(struct cairn_points *points, const struct cairn_sampler_opts *whom,
                      struct cairn_sampler **ret_sampler, struct cairn_err *err);
void cairn_points_done(struct cairn_points *points); /* all-zero is fine */

/* Events that no record came of, as far as the kernel tells, and records that there was no room for
 * here; of the end. */
uint64_t cairn_points_lost(const struct cairn_points *points);

/* How it was attached, and what that costs. */
void cairn_points_say(const struct cairn_points *points, struct cairn_buffer *out);

/* A process that is traced from the start on: who its user is, for it may end soon. CAIRN_OK or
 * CAIRN_E_NOMEM. */
int cairn_points_meet(struct cairn_points *points, uint32_t pid);

/* One record, in the order of time. For cairn_perf_points. */
int cairn_points_take(void *ctx, const struct cairn_perf_record *record);

#endif /* CAIRN_TRACE_POINTS_H */
