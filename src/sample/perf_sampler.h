/* SPDX-License-Identifier: MIT */
/*
 * Perf sampler: what the rings of all CPUs hold, in the order of time.
 *
 *     rings ─► queue ─┬─► samples ──────────────────┬─► collect
 *                     └─► mappings, names, forks ───┤
 *     walked in the kernel, by time ────────────────┘
 */
#ifndef CAIRN_SAMPLE_PERF_SAMPLER_H
#define CAIRN_SAMPLE_PERF_SAMPLER_H

#include "sample/collect.h"
#include "sample/perf_event.h"
#include "sample/walk_intake.h"

struct cairn_perf_sampler {
    struct cairn_perf events;
    struct cairn_perf_queue queue;
    struct cairn_table only; /* pid -> whether its first thread has ended: the targets, where whole
                                CPUs are sampled in their place */
    bool no_children;        /* what targets start is none */
    bool has_idle;           /* CPUs that have nothing to do may give samples, which are none */
    bool is_inside;          /* a pid namespace; who lives outside has no number for us either */
    bool is_walked;          /* stacks come from there: */
    struct cairn_walk_intake walk;
    bool is_copied;                         /* or are walked from copies */
    bool kernel_only;                       /* or have the kernel's frames alone */
    const struct cairn_perf_points *points; /* that take the records; NULL: they are samples */
    struct cairn_perf_chain chain;          /* of one sample: too large for a stack */
    int64_t
        period_ns; /* of CPU time, for each sample; 0: a sample says itself what it stands for */
    uint64_t drained_ns; /* when the last drain began */
    uint64_t turned_ns;  /* what is done once a second was, then */
    uint64_t n_lost, n_throttled;
    uint64_t n_told; /* lost, as records say; what is behind the last one is told by the events */
    uint64_t n_outside; /* samples of who lives outside of our pid namespace */
};

/* `ret_sampler` is all-zero before, and may be closed whatever comes back. */
int cairn_perf_sampler_open(const struct cairn_perf_opts *opts, int64_t period_ns,
                            struct cairn_perf_sampler *ret_sampler, struct cairn_err *err);
/* The same with stacks that are walked in the kernel by unwind tables. */
int cairn_perf_sampler_open_walked(const struct cairn_perf_opts *opts, int64_t period_ns,
                                   struct cairn_perf_sampler *ret_sampler, struct cairn_err *err);
/* The same with stacks that are walked here by unwind tables, out of copies of
 * opts->stack_bytes. CAIRN_E_SUPPORT: of this CPU the registers are not known. */
int cairn_perf_sampler_open_copied(const struct cairn_perf_opts *opts, int64_t period_ns,
                                   struct cairn_perf_sampler *ret_sampler, struct cairn_err *err);
void cairn_perf_sampler_close(struct cairn_perf_sampler *sampler); /* all-zero is fine */

/* Empties the rings and hands over what was written before the last time that this was done: that
 * is complete by now, whichever ring it came through, while younger records wait for their elders
 * from other CPUs. With `all`, everything. CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_perf_sampler_take(struct cairn_perf_sampler *sampler, struct cairn_collect *collect,
                            bool all);

/* Takes what is complete, and forgets all stacks: no number of a sample is kept any more.
 * CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_perf_sampler_settle(struct cairn_perf_sampler *sampler, struct cairn_collect *collect);

/* The stack of a sample, for whoever takes the records. CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_perf_sampler_stack(struct cairn_perf_sampler *sampler, struct cairn_collect *collect,
                             const struct cairn_perf_record *record,
                             struct cairn_collected *ret_collected);

/* Samples and records that were lost. */
uint64_t cairn_perf_sampler_lost(const struct cairn_perf_sampler *sampler);

/* Warns of samples that were left out, of who lives outside of our pid namespace. */
void cairn_perf_sampler_log_outside(const struct cairn_perf_sampler *sampler);

#endif /* CAIRN_SAMPLE_PERF_SAMPLER_H */
