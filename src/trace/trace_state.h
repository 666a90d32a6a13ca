/* SPDX-License-Identifier: MIT */
/* Trace state: the members of a trace, for trace.c (from start to end), result.c (what it gives)
 * and explain.c (where its events would be attached). */
#ifndef CAIRN_TRACE_TRACE_STATE_H
#define CAIRN_TRACE_TRACE_STATE_H

#include "sample/sampler_state.h"
#include "trace/decode.h"
#include "trace/depth.h"
#include "trace/names.h"
#include "trace/places.h"
#include "trace/plain.h"
#include "trace/points.h"
#include "trace/spec.h"
#include "trace/sums.h"

struct cairn_trace {
    struct cairn_trace_opts opts;
    struct cairn_spec spec;
    struct cairn_sampler *sampler;
    struct cairn_decoder decoder;
    struct cairn_trace_names frames;
    struct cairn_sums sums;
    struct cairn_trace_stats stats;
    uint32_t lost_stack; /* a text of the profile: why an event has no stack */
    uint64_t n_taken;    /* events that were counted here */
    uint64_t n_crossed;  /* events that the kernel counted, and sent to be shown */
    uint64_t n_rest_filtered, n_each;
    uint64_t n_held; /* events that passed a filter that is evaluated here */
    struct cairn_depth depth;
    struct cairn_cursor_regs regs; /* of the event that is taken */
    bool has_regs;
    uint64_t slice_ns, left;
    uint64_t turn_ns; /* when sums were taken last */
    struct cairn_places places;
    struct cairn_buffer attached;
    struct cairn_plain *plain;   /* without rights; NULL: the kernel's programs report */
    struct cairn_points *points; /* by perf events; NULL: by another way */
    int answer;                  /* of `report`, that ends the poll */
    bool is_finished, is_measured;
};

/* The options, and what they ask for as a spec. */
int cairn_trace_take_opts(const struct cairn_trace_opts *given, struct cairn_trace *trace,
                          struct cairn_err *err);

/* What the counters say; what waits on its way is lost only when the trace is finished. */
void cairn_trace_measure(const struct cairn_trace *trace, struct cairn_trace_stats *stats);

#endif /* CAIRN_TRACE_TRACE_STATE_H */
