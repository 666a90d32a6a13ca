/* SPDX-License-Identifier: MIT */
/*
 * Plain: system calls without rights, by ptrace(2): of a command, which gets a filter that stops
 * the traced calls alone, or of running processes, each of whose calls stops twice.
 *
 *     call stops ─► row, terms of the filter ─► stack, texts ─► call ends ─► terms ─► event
 *
 * Events are those of the programs in the kernel (bpf/trace.h), with the same meaning.
 */
#ifndef CAIRN_TRACE_PLAIN_H
#define CAIRN_TRACE_PLAIN_H

#include "bpf/trace.h"
#include "proc/call_stops.h"
#include "sample/sampler_state.h"
#include "trace/plain_event.h"
#include "trace/plain_stack.h"
#include "trace/spec.h"

typedef int (*cairn_plain_fn)(void *ctx, const struct cairn_plain_pending *call);

struct cairn_plain {
    struct cairn_call_filter filter;
    struct cairn_call_stops stops;
    struct cairn_sampler_outside outside;
    struct cairn_sampler *sampler; /* borrowed, as the next one */
    const struct cairn_spec *spec;
    struct cairn_plain_stacks stacks;
    bool no_stack, enter_only, wants_regs;
    bool wants_texts;        /* what arguments point to is printed, or in a filter */
    bool is_quiet;           /* no event is reported as it comes, and so none is named */
    int tid;                 /* this thread alone; 0: all */
    cairn_plain_fn on_event; /* a nonzero answer ends the poll */
    void *event_ctx;
    uint64_t n_seen, n_filtered;
    uint64_t turn_ns;
    bool has_said_x32, has_said_setuid;
};

/* The caller has set `spec`, `no_stack` to `tid`, `on_event` and `event_ctx`. Makes the sampler,
 * which starts the command. CAIRN_E_ACCESS, CAIRN_E_SUPPORT. */
int cairn_plain_open(struct cairn_plain *plain, const struct cairn_sampler_opts *whom,
                     struct cairn_sampler **ret_sampler, struct cairn_err *err);
int cairn_plain_start(struct cairn_plain *plain, struct cairn_err *err);
/* As cairn_call_stops_poll(). */
int cairn_plain_poll(struct cairn_plain *plain, int timeout_ms, struct cairn_err *err);
void cairn_plain_end(struct cairn_plain *plain);
void cairn_plain_done(struct cairn_plain *plain); /* all-zero is fine */

/* How it was attached, and what that costs. */
void cairn_plain_say(const struct cairn_plain *plain, struct cairn_buffer *out);

#endif /* CAIRN_TRACE_PLAIN_H */
