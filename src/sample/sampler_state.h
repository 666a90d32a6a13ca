/* SPDX-License-Identifier: MIT */
/* Sampler state: what a sampler is made of, for the files that make it: sampler.c, which is its
 * life, methods.c, which chooses the way, and worth.c, which says what came of it. */
#ifndef CAIRN_SAMPLE_SAMPLER_STATE_H
#define CAIRN_SAMPLE_SAMPLER_STATE_H

#include <cairn/sampler.h>

#include "proc/child.h"
#include "sample/collect.h"
#include "sample/event.h"
#include "sample/perf_sampler.h"
#include "sample/ptrace_sampler.h"
#include "sample/targets.h"

enum { CAIRN_SAMPLER_AT_ENTRY = 1 };

/* What catches stacks in place of the sampler. */
struct cairn_sampler_outside {
    cairn_child_fn in_child;  /* before the command's execve(2) */
    void (*serve)(void *ctx); /* called every few milliseconds until that */
    void *ctx;
};

/* Windows of the sampling (window.c). */
struct cairn_sampler_window {
    uint64_t start_ns;                  /* of the one that runs; 0: the first */
    struct cairn_sample_quality before; /* of all windows until its start */
    uint64_t n_missing, n_lost;         /* samples: missing at its start; reported as lost so far */
    int *files;                         /* of the last one's modules, as cairn_sampler_files() */
    size_t n_files, cap_files;
};

struct cairn_sampler {
    struct cairn_sampler_opts opts;
    int pid; /* the command, or the first process; 0: whole CPUs */
    struct cairn_targets targets;
    struct cairn_child child;
    struct cairn_buffer command; /* as a person would type it, nearly */
    int exit_status;
    bool ended, started;
    enum cairn_sample_method method;
    struct cairn_perf_sampler perf;
    struct cairn_ptrace_sampler ptrace;
    struct cairn_collect collect;
    const struct cairn_event *event;
    struct cairn_off_cpu_opts off_cpu;
    bool is_traced; /* instead of samples, calls are reported by: */
    struct cairn_trace_programs_opts trace;
    const struct cairn_sampler_outside *outside; /* or by this; borrowed, or NULL */
    const struct cairn_perf_points *points;      /* or by these, without programs; likewise */
    /* Where not NULL: called when the command has called execve(2), and no instruction of its
     * program has run; to be set before the start. Where it answers CAIRN_SAMPLER_AT_ENTRY, it is
     * called again at the program's own first instruction, behind its loader's. */
    int (*at_exec)(void *ctx, int pid, struct cairn_err *err);
    void *at_exec_ctx;
    int64_t period_ns; /* of CPU time; 0: the event is another */
    uint64_t start_ns, end_ns;
    uint64_t start_cpu_ns, end_cpu_ns; /* this process's own */
    uint64_t start_all_ns, end_all_ns; /* CPU time of all processes, where all are sampled */
    struct cairn_sampler_window window;
    bool has_hinted; /* that an interpreter is in a process, or none */
};

/* Opens the method that was asked for, or the first that is allowed: it is `s->method` then. */
int cairn_sampler_choose_method(struct cairn_sampler *s, struct cairn_err *err);

/* Says once which interpreter runs in one of the processes, where its frames are not recorded. To
 * be called at each poll. */
void cairn_sampler_hint_guests(struct cairn_sampler *s);

/* What the capture was worth, as far as `ret_quality->size` goes. */
void cairn_sampler_measure(const struct cairn_sampler *s, struct cairn_sample_quality *ret_quality);

/* Copies as much of a quality as `ret_quality->size` says. */
void cairn_sampler_copy_quality(const struct cairn_sample_quality *quality,
                                struct cairn_sample_quality *ret_quality);

/* The quality, the command and the kernel as comments of the profile. CAIRN_E_NOMEM. */
int cairn_sampler_note(const struct cairn_sampler *s, struct cairn_profile *profile,
                       const struct cairn_sample_quality *quality);

/* The same for the end of the sampling, in the collected profile. CAIRN_E_NOMEM. */
int cairn_sampler_add_notes(struct cairn_sampler *s);

/* As cairn_sampler_new(), for the room trace/: no samples are taken; the programs at system calls
 * report to `on_event` of the walk intake, which is to be set before the start. Whoever made it
 * adds samples to the profile. */
int cairn_sampler_new_traced(const struct cairn_sampler_opts *opts,
                             const struct cairn_trace_programs_opts *trace,
                             struct cairn_sampler **ret_sampler, struct cairn_err *err);

/* The same where `outside` catches the stacks and hands them to `collect`: the sampler has the
 * targets, starts the command and keeps the profile. It is not polled. */
int cairn_sampler_new_outside(const struct cairn_sampler_opts *opts,
                              const struct cairn_sampler_outside *outside,
                              struct cairn_sampler **ret_sampler, struct cairn_err *err);

/* The same where perf events at tracepoints catch the stacks, without programs. CAIRN_E_ACCESS:
 * also where one of the points is refused. */
int cairn_sampler_new_points(const struct cairn_sampler_opts *opts,
                             const struct cairn_perf_points *points,
                             struct cairn_sampler **ret_sampler, struct cairn_err *err);

#endif /* CAIRN_SAMPLE_SAMPLER_STATE_H */
