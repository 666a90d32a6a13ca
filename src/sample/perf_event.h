/* SPDX-License-Identifier: MIT */
/*
 * Perf events: perf_event_open(2) for all threads of processes, or for whole CPUs, with one ring
 * for each CPU.
 *
 * An event that is inherited by new threads can only write to a ring when it is bound to a CPU, so
 * there is one event for each thread that exists and each CPU; what those threads start inherits.
 * A thread that starts while we open may then have two: its own and an inherited one. Samples carry
 * the number of the event that we opened, so the second is told apart and dropped.
 *
 * That is one open file for each thread and CPU. Where the limit of open files (RLIMIT_NOFILE)
 * cannot be raised far enough, whole CPUs are sampled where that is allowed, and `is_filtered` says
 * that samples of other processes have to be left out.
 */
#ifndef CAIRN_SAMPLE_PERF_EVENT_H
#define CAIRN_SAMPLE_PERF_EVENT_H

#include <cairn/error.h>

#include "base/table.h"
#include "bpf/off_cpu_programs.h"
#include "bpf/trace_programs.h"
#include "sample/event.h"
#include "sample/perf_points.h"
#include "sample/perf_ring.h"
#include "sample/targets.h"

enum { CAIRN_PERF_ALL = -1 }; /* in place of a thread: whoever runs */

struct cairn_perf_opts {
    const struct cairn_targets *targets;
    bool no_inherit; /* children, not threads */
    bool no_guests;  /* interpreters are not looked for */
    bool is_child;   /* held before exec: events begin with the program */
    bool user_only;
    bool on_cpus;   /* whole CPUs, though processes are the targets: set by cairn_perf_open() */
    bool no_stacks; /* samples go to a program of bpf/, and none is written; what is written tells
                       of mappings, and is told at once */
    uint32_t stack_bytes; /* of the user stack are copied with each sample; 0: only its top */
    const struct cairn_event *event;
    const struct cairn_off_cpu_opts *off_cpu; /* instead of samples; NULL: it is not measured */
    const struct cairn_trace_programs_opts *trace; /* likewise; NULL: system calls are not traced */
    const struct cairn_perf_points *points;        /* likewise; they are hit in place of samples */
    bool has_times;    /* of samples that go to a program: one by one, with their times */
    size_t stacks_max; /* of them: so many are known at a time; 0: some 50,000 */
    double frequency_hz;
    uint64_t event_period; /* 0: by frequency */
    uint32_t ring_pages;
    uint32_t max_frames; /* 0: what the kernel allows */
};

struct cairn_perf {
    struct perf_event_attr attr;
    unsigned long flags; /* PERF_FLAG_* beside it */
    int *fds;
    int *tids; /* of each, whom it was opened for; CAIRN_PERF_ALL */
    size_t n_fds, cap_fds, cap_tids;
    struct cairn_perf_ring *rings; /* by number in `cpus` */
    int *ring_fds;                 /* what the ring was mapped from; to poll */
    int *cpus;
    size_t n_cpus;
    struct cairn_table opened_for; /* event -> tid */
    struct cairn_table has_own;    /* tid -> 1 */
    struct cairn_perf_point_fd {
        int fd;
        uint32_t point;
    } * point_fds;
    size_t n_point_fds, cap_point_fds;
    struct cairn_table point_of; /* event -> point and CPU (perf_points.c) */
    int epoll_fd;                /* of all rings; valid where has_epoll */
    bool has_epoll;
    size_t n_threads; /* that events were opened for */
    int *clock_fds;   /* a counter of CPU time for each of them, where files suffice */
    size_t n_clocks, cap_clocks;
    bool has_kernel, hardware, no_clocks;
    bool lacks_files;    /* an event was refused because this process has too many open files */
    bool is_filtered;    /* whole CPUs are sampled, and what is of no target must be left out */
    uint32_t frames_max; /* of kernel and user side together */
};

/* Are events opened for whole CPUs? */
static inline bool cairn_perf_opts_on_cpus(const struct cairn_perf_opts *opts)
{
    return opts->on_cpus || cairn_targets_are_cpus(opts->targets);
}

int cairn_perf_open(const struct cairn_perf_opts *opts, struct cairn_perf *ret_perf,
                    struct cairn_err *err);
void cairn_perf_close(struct cairn_perf *perf);        /* all-zero is fine */
void cairn_perf_close_events(struct cairn_perf *perf); /* with their rings and clocks */

void cairn_perf_enable(struct cairn_perf *perf);
void cairn_perf_disable(struct cairn_perf *perf);

/* Each event with the thread that it was opened for; a negative answer stops, and comes back. */
typedef int (*cairn_perf_event_fn)(void *ctx, int fd, int tid);
int cairn_perf_each(const struct cairn_perf *perf, cairn_perf_event_fn fn, void *ctx);

/* The CPU time of all that was sampled, of what has ended too; 0: not known, as of all CPUs. */
uint64_t cairn_perf_cpu_ns(const struct cairn_perf *perf);

/* Records for which there was no room in the rings so far, those that no record tells of included:
 * it would come with the next one, and there may be none. 0: none, or not known, before Linux 6.0.
 */
uint64_t cairn_perf_lost(const struct cairn_perf *perf);

/* Readable when a ring has something new, where that was asked for by `no_stacks`, or stacks
 * are copied; -1: it is not told. Owned by `perf`. */
int cairn_perf_fd(const struct cairn_perf *perf);

/* Counts the CPU time of a thread and of what it starts. The samples alone do not tell of threads
 * that end before their first one. What fails here costs only that knowledge. */
void cairn_perf_open_clock(struct cairn_perf *perf, int tid);
/* The same of a group, on all CPUs. */
void cairn_perf_open_group_clocks(struct cairn_perf *perf, int cgroup_fd);
/* Gives the files of the clocks back. */
void cairn_perf_close_clocks(struct cairn_perf *perf);

/* Moves what all rings hold into the queue. */
void cairn_perf_drain(struct cairn_perf *perf, struct cairn_perf_queue *queue);

/* Is this sample the second one of a thread that has two events? */
bool cairn_perf_is_double(const struct cairn_perf *perf, const struct cairn_perf_record *record);

#endif /* CAIRN_SAMPLE_PERF_EVENT_H */
