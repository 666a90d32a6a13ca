/* SPDX-License-Identifier: MIT */
/*
 * Walk intake: stacks that were walked and counted in the kernel become samples. Each stack comes
 * once, and waits until the mappings are known that were there when it was caught; how often it was
 * met again is added up now and then.
 *
 *     ring ─► waiting, by time ─► collect ─► number of a sample ─┐
 *     counts: (hash, thread, space) ─────────────────────────────┴─► n times more
 */
#ifndef CAIRN_SAMPLE_WALK_INTAKE_H
#define CAIRN_SAMPLE_WALK_INTAKE_H

#include "bpf/walker.h"
#include "sample/collect.h"
#include "sample/off_cpu.h"

struct cairn_walk_known;
struct cairn_perf;

struct cairn_walk_intake {
    struct cairn_walker *walker;
    struct cairn_buffer waiting; /* stacks with their frames */
    size_t taken;                /* of them: these bytes went on already */
    bool is_off_cpu;             /* time off the CPU is measured */
    bool is_traced;              /* events come with their stacks, and go to: */
    int (*on_event)(void *ctx, const struct cairn_bpf_event *event,
                    const struct cairn_collected *stack); /* NULL: the stack did not come */
    int (*on_turn)(void *ctx, bool is_end); /* once a second, before stacks of threads that are over
                                               are forgotten, and at the end */
    void *event_ctx;
    bool no_guests;            /* interpreters are not looked for */
    bool keeps_stacks;         /* that, or samples have times: each has to find its stack again */
    struct cairn_table by_key; /* hash of the stack's key -> number in one of these: */
    struct cairn_collected *stacks; /* where they are kept */
    struct cairn_walk_known *known; /* where their samples are all that is asked for */
    size_t n_known, cap_known;
    struct cairn_table early;         /* hash of a key -> number in: */
    struct cairn_bpf_sum *early_sums; /* of stacks that waited yet when all were forgotten */
    size_t n_early, cap_early;
    size_t n_free; /* of threads that have ended; the numbers are given again */
    uint32_t first_free;
    struct cairn_table fruitless;   /* hash of a place -> copies since one led further from there */
    struct cairn_off_cpu_sums sums; /* where time off the CPU is measured */
    int64_t period_ns; /* of CPU time, for each sample; 0: the kernel sums what they stand for */
};

/* How the walker is to be is in `opts`. */
int cairn_walk_intake_open(int64_t period_ns, const struct cairn_walker_opts *opts,
                           struct cairn_walk_intake *ret_intake, struct cairn_err *err);
void cairn_walk_intake_close(struct cairn_walk_intake *intake); /* all-zero is fine */

/* The events' samples come here from now on. */
int cairn_walk_intake_attach(struct cairn_walk_intake *intake, const struct cairn_perf *events,
                             struct cairn_err *err);

/* Time off the CPU is measured: threads of the process that sleep already are part of it. */
int cairn_walk_intake_before(struct cairn_walk_intake *intake, int pid);

/* Takes what is in the ring. CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_walk_intake_take(struct cairn_walk_intake *intake);

/* The time of the next stack that waits; UINT64_MAX: none does. */
uint64_t cairn_walk_intake_next_ns(const struct cairn_walk_intake *intake);

/* The interpreters in a process, of which the kernel's side is told; NULL: none, or not looked for
 * yet. CAIRN_E_NOMEM. */
int cairn_walk_intake_guests(struct cairn_walk_intake *intake, struct cairn_collect *collect,
                             int pid, struct cairn_guest_walk **ret_guests);

/* Hands the next one on. */
int cairn_walk_intake_pass(struct cairn_walk_intake *intake, struct cairn_collect *collect);

/* The stack of that name, where stacks are kept; NULL: it did not come, or waits yet. Borrowed
 * until the next is passed.
 */
const struct cairn_collected *cairn_walk_intake_find(const struct cairn_walk_intake *intake,
                                                     uint64_t hash, uint32_t tid, uint32_t id);

/* One was met that often since it was handed over; `is_last`: it will be counted anew.
 * CAIRN_WALKER_FORGET: nothing of that thread comes any more, and it is forgotten here. */
int cairn_walk_intake_met(struct cairn_walk_intake *intake, struct cairn_collect *collect,
                          const struct cairn_bpf_count *key, const struct cairn_bpf_sum *sum,
                          bool is_last);

/* Adds up how often each was met again; to be called once a second, and at the end. Where samples
 * are to be packed all are forgotten, and come again. */
int cairn_walk_intake_count(struct cairn_walk_intake *intake, struct cairn_collect *collect,
                            bool is_end);

/* Adds up all, and forgets all stacks at once: they come again. Not where stacks are kept. */
int cairn_walk_intake_forget(struct cairn_walk_intake *intake, struct cairn_collect *collect);

/* Has a trace's sums taken at once where the kernel would soon have no space for others. */
int cairn_walk_intake_relieve(struct cairn_walk_intake *intake);

/* Does it know no sample's number? So it is at first, and when all were forgotten. */
bool cairn_walk_intake_is_anew(const struct cairn_walk_intake *intake);

/* Samples of the profile have other numbers (fold.h). */
void cairn_walk_intake_renumber(struct cairn_walk_intake *intake, const uint32_t *numbers);

/* Samples that were walked, and did not become some. */
uint64_t cairn_walk_intake_lost(const struct cairn_walk_intake *intake, uint64_t n_collected);

#endif /* CAIRN_SAMPLE_WALK_INTAKE_H */
