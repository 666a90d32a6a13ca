/* SPDX-License-Identifier: MIT */
/*
 * Ptrace sampler: the way where perf_event_open(2) is forbidden, and for processes with an
 * interpreter such as Lua. Threads that run are stopped one after the other. Of most the stack is
 * copied, and walked while they go on; where an interpreter is, all is read while they stand.
 *
 * It sees the user side only. A sample stands for the CPU time that its thread used since its last
 * one, so that threads which wait for a CPU do not count too much.
 */
#ifndef CAIRN_SAMPLE_PTRACE_SAMPLER_H
#define CAIRN_SAMPLE_PTRACE_SAMPLER_H

#include "proc/ptrace.h"
#include "sample/collect.h"

/* What is known of the processes and threads. */
struct cairn_ptrace_known {
    struct cairn_spaces *spaces; /* borrowed */
    struct cairn_table used_us;  /* tid -> CPU time at its last sample, or before the first one that
                                    could come, in microseconds, mod 2^31 */
};

struct cairn_ptrace_sampler {
    struct cairn_tracer **tracers; /* one for each process that was named */
    size_t n;
    int64_t period_ns;
    uint64_t next_ns; /* when to look again */
    struct cairn_ptrace_known *known;
    uint64_t n_late; /* times that a round came so late that one was left out */
    uint8_t *stack;  /* the copy */
    bool no_guests;  /* interpreters are not looked for */
};

struct cairn_ptrace_opts {
    const int *pids; /* with the processes that they start; who has ended is left out */
    size_t n_pids;
    struct cairn_spaces *spaces; /* borrowed; what is kept of a process ends with its execve(2) */
    int64_t period_ns;
    bool no_inherit; /* not those that they start */
    bool no_guests;
};

/* CAIRN_E_ACCESS: one of them may not be traced. CAIRN_E_MISSING: all have ended. */
int cairn_ptrace_sampler_open(const struct cairn_ptrace_opts *opts,
                              struct cairn_ptrace_sampler *ret_sampler, struct cairn_err *err);
void cairn_ptrace_sampler_close(struct cairn_ptrace_sampler *sampler); /* all-zero is fine */

/* Answers what traced threads wait for. False: all have ended. */
bool cairn_ptrace_sampler_serve(struct cairn_ptrace_sampler *sampler);
/* What waitpid() gave for the first process; -1 before it ended. */
int cairn_ptrace_sampler_exit_status(const struct cairn_ptrace_sampler *sampler);

/* Samples and serves the threads until `until_ns` of CLOCK_MONOTONIC. 1 while a thread lives, 0
 * when all have ended, or a negative code. */
int cairn_ptrace_sampler_run(struct cairn_ptrace_sampler *sampler, struct cairn_collect *collect,
                             uint64_t until_ns, struct cairn_err *err);

#endif /* CAIRN_SAMPLE_PTRACE_SAMPLER_H */
