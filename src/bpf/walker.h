/* SPDX-License-Identifier: MIT */
/*
 * Walker: stacks of threads at the moment of a perf event, walked in the kernel by the modules'
 * unwind tables, and counted there.
 *
 *     perf event ──► program (walk.bpf.c) ─┬─► new stacks ──► ring ──► cairn_walker_take()
 *                         ▲                └─► counts of known ones ─► cairn_walker_counts()
 *                         └── tables ◄── cairn_walker_look(pid)
 *
 * Linux 5.17 and later, x86-64; root, or CAP_BPF and CAP_PERFMON; reads what another process has
 * mapped, for which CAP_SYS_PTRACE is needed where that is another user's. Everything is gone with
 * this process, however it ends: nothing is pinned. One thread at a time.
 */
#ifndef CAIRN_BPF_WALKER_H
#define CAIRN_BPF_WALKER_H

#include <cairn/unwind.h>

#include "base/span.h"
#include "bpf/off_cpu_programs.h"
#include "bpf/trace_programs.h"
#include "bpf/walk.h"

struct cairn_walker;

/* For cairn_bpf_check(), in bpf/load.h. */
extern const struct cairn_bpf_need cairn_walker_need;

struct cairn_walker_opts {
    uint64_t table_bytes;                     /* of tables at most; 0: 256 MiB */
    const struct cairn_off_cpu_opts *off_cpu; /* time off the CPU is measured, and no event's; NULL:
                                                 it is not */
    const struct cairn_trace_programs_opts *trace; /* system calls are traced instead; NULL: not */
    size_t stacks_max;                             /* so many are counted at a time; 0: 49152 */
    bool has_times; /* a stack that is met again, or a time off the CPU, is told each time,
                       without its frames, and not counted */
};

/* CAIRN_E_ACCESS: not allowed. CAIRN_E_SUPPORT: this kernel, or this build, cannot. */
int cairn_walker_new(const struct cairn_walker_opts *opts, struct cairn_walker **ret_walker,
                     struct cairn_err *err);
void cairn_walker_free(struct cairn_walker *walker); /* NULL is fine */

/* The program walks at each overflow of the event, and no sample record is written. `tid`: whom the
 * event was opened for; what it starts inherits it. */
int cairn_walker_attach(struct cairn_walker *walker, int event_fd, int tid, struct cairn_err *err);

/* From the first call on, only processes for which `is_one` was true last are sampled: for events
 * of whole CPUs. */
void cairn_walker_only(struct cairn_walker *walker, int pid, bool is_one);
bool cairn_walker_is_only(const struct cairn_walker *walker, int pid);

/* Looks at the mappings of a process, now or, where looks take too much time already, later. */
void cairn_walker_look(struct cairn_walker *walker, int pid, bool now);
/* Looks at it again if it was looked at before: its mappings have changed. */
void cairn_walker_changed(struct cairn_walker *walker, int pid);
/* It runs another program: what was known of it is not true any more. */
void cairn_walker_replaced(struct cairn_walker *walker, int pid);
void cairn_walker_forget(struct cairn_walker *walker, int pid);

/* Readable when somebody should call cairn_walker_take(). */
int cairn_walker_fd(const struct cairn_walker *walker);

/* Hands over new stacks, each with its frames: the user side's, then the kernel's; both borrowed
 * for the call, and aligned to 8. Looks at the processes that the program asks for. A negative
 * answer stops, and comes back. */
typedef int (*cairn_walker_stack_fn)(void *ctx, const struct cairn_bpf_stack *stack,
                                     const uint64_t *frames);
int cairn_walker_take(struct cairn_walker *walker, cairn_walker_stack_fn fn, void *ctx);

/* Of a stack that was handed over, with all that follows. */
static inline size_t cairn_walker_stack_bytes(const struct cairn_bpf_stack *stack)
{
    size_t words = (size_t)stack->n + stack->n_kernel + (stack->copied ? CAIRN_BPF_COPY_REGS : 0);
    if (stack->what == CAIRN_BPF_SLEPT)
        return sizeof(struct cairn_bpf_slept);
    if (stack->what == CAIRN_BPF_EVENT && ((const struct cairn_bpf_event *)stack)->has_regs)
        return sizeof(struct cairn_bpf_regs_event);
    if (stack->what == CAIRN_BPF_EVENT)
        return ((const struct cairn_bpf_event *)stack)->has_payload
                   ? sizeof(struct cairn_bpf_payload_event)
                   : sizeof(struct cairn_bpf_event);
    return sizeof *stack + words * sizeof(uint64_t) + stack->copied + stack->pieces;
}

/* Where the tables did not lead to the stack's end it comes with a copy, so that it can be walked
 * elsewhere, each time that it is met: all registers, and bytes that lay at stack->sp / 8 * 8.
 * Borrowed from `stack`. False: there is no copy. */
bool cairn_walker_copy(const struct cairn_bpf_stack *stack, struct cairn_cursor_regs *ret_regs,
                       struct cairn_span *ret_bytes);

/* What interpreters on the stack are made of, as struct cairn_guest_piece; empty: none was met, or
 * nothing of it copied. Borrowed from `stack`. */
struct cairn_span cairn_walker_pieces(const struct cairn_bpf_stack *stack);

/* From now on stacks of the process that lead through one of these loops come with a copy and with
 * pieces, each time. `stack_start` and the bounds are filled in. False: it is too late, or there
 * is no room. */
bool cairn_walker_guest(struct cairn_walker *walker, int pid, struct cairn_bpf_guest *guest);

/* Where the walk of that stack ended. */
struct cairn_bpf_place cairn_walker_place(const struct cairn_bpf_stack *stack);
/* Copies lead no further from there: none comes until then, unless mappings change. */
void cairn_walker_copy_no_more(struct cairn_walker *walker, const struct cairn_bpf_place *place,
                               uint64_t until_ns);

/* How often each stack was met since it was handed over, in no order. Who answers with
 * CAIRN_WALKER_FORGET wants the stack to be forgotten, and handed over again when it is met.
 * `ret_full`: there is no room for more, and all should be. */
enum { CAIRN_WALKER_FORGET = 1 };
typedef int (*cairn_walker_count_fn)(void *ctx, const struct cairn_bpf_count *key,
                                     const struct cairn_bpf_sum *sum);
int cairn_walker_counts(struct cairn_walker *walker, cairn_walker_count_fn fn, void *ctx,
                        bool *ret_full);

/* The same once more, and all are forgotten. */
int cairn_walker_last_counts(struct cairn_walker *walker, cairn_walker_count_fn fn, void *ctx);

/* What measures time off the CPU, where that was asked for; else NULL. Owned by the walker. */
struct cairn_off_cpu *cairn_walker_off_cpu(struct cairn_walker *walker);

/* What traces system calls, likewise. */
struct cairn_trace_programs *cairn_walker_trace(struct cairn_walker *walker);

struct cairn_walker_stats {
    uint64_t n_samples;            /* walked */
    uint64_t n_lost;               /* of them: no room in the ring */
    uint64_t n_double;             /* not walked: the thread has another event */
    uint64_t n_outside;            /* not walked: the thread is none of our pid namespace */
    uint64_t n_copied;             /* stacks that came with a copy */
    uint64_t n_misses;             /* frames whose rule was searched for */
    uint64_t n_no_guest;           /* stacks with an interpreter that were not copied */
    uint64_t run_ns, n_runs;       /* where kernel.bpf_stats_enabled is on; else 0 */
    uint64_t n_no_room, n_evicted; /* modules */
    uint64_t table_bytes;
    bool walks_by_files; /* the kernel tells what is mapped; false: not, or nobody was walked yet */
};
void cairn_walker_stats(const struct cairn_walker *walker, struct cairn_walker_stats *ret_stats);

#endif /* CAIRN_BPF_WALKER_H */
