/* SPDX-License-Identifier: MIT */
/* Spec: the events that are asked for, as rows for the programs in the kernel, and filters. */
#ifndef CAIRN_TRACE_SPEC_H
#define CAIRN_TRACE_SPEC_H

#include "base/buffer.h"
#include "trace/filter.h"
#include "trace/probe.h"

struct cairn_spec {
    struct cairn_bpf_call *calls; /* CAIRN_TRACE_ROWS rows */
    struct cairn_probes probes;   /* its targets are set before the first event is added */
    uint16_t *filter_of;          /* by row: two numbers of `filters`, each plus one; 0: none */
    struct cairn_trace_filter *filters;
    size_t n_filters, cap_filters;
    bool enter_only; /* calls have no results; set before the first event is added */
};

/* What is known of the event of a row; false: there is no such row. */
bool cairn_spec_call(const struct cairn_spec *spec, uint32_t row, struct cairn_syscall *ret_call);
/* What the record of a tracepoint holds; NULL: the row is none. */
const struct cairn_fields *cairn_spec_fields(const struct cairn_spec *spec, uint32_t row);
/* The breakpoint of a row; NULL: the row is none. */
const struct cairn_probe *cairn_spec_memory(const struct cairn_spec *spec, uint32_t row);
/* Has it one event for the begin and the return of a function? */
bool cairn_spec_is_pair(const struct cairn_spec *spec, uint32_t row);
/* Is it a tracepoint or a function of the kernel, where the kernel's stack says who came there? */
bool cairn_spec_is_in_kernel(const struct cairn_spec *spec, uint32_t row);
/* "syscall", or the kind of a probe. Static. */
const char *cairn_spec_kind(const struct cairn_spec *spec, uint32_t row);
const char *cairn_spec_name(const struct cairn_spec *spec, uint32_t row);

/* Adds one -e, such as "syscall:open*,!openat2[ret < 0]". CAIRN_E_ARG, CAIRN_E_NOMEM. */
int cairn_spec_add(struct cairn_spec *spec, const char *text, struct cairn_err *err);
/* Has an event that was added, of a call or probe, a field of that name, as filters have them? */
bool cairn_spec_has_field(const struct cairn_spec *spec, const char *name);
/* When all are added: a filter of all calls, NULL: none. What the kernel needs is written to the
 * rows. */
int cairn_spec_finish(struct cairn_spec *spec, const char *filter, struct cairn_err *err);
void cairn_spec_done(struct cairn_spec *spec);

bool cairn_spec_holds(const struct cairn_spec *spec, uint32_t row,
                      const struct cairn_trace_filter_subject *subject);

/* How its events are attached, and what that costs (attached.c). `enter_only`: of calls, nothing is
 * at their return. */
void cairn_spec_say_attached(const struct cairn_spec *spec, bool enter_only,
                             struct cairn_buffer *out);

/* How one place of a probe is attached, and what a hit costs. Static. */
const char *cairn_spec_cost(const struct cairn_spec *spec, const struct cairn_trace_probe_at *at);

/* Does a word of a list, such as "open*", "%file" or "all", hold the call of that name? */
bool cairn_spec_matches(const char *word, const char *name);

#endif /* CAIRN_TRACE_SPEC_H */
