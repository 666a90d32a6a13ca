/* SPDX-License-Identifier: MIT */
/*
 * Sampler: catches the stacks of a running process at a steady rate into a raw profile: addresses
 * and modules, no names.
 *
 * Threads: one sampler may be used by one thread, always the same, for ptrace(2) knows its tracer.
 * Needs perf_event_open(2); a child of our own can be sampled through ptrace(2) where that is
 * forbidden.
 */
#ifndef CAIRN_SAMPLER_H
#define CAIRN_SAMPLER_H

#include <stddef.h>
#include <stdint.h>

#include <cairn/api.h>
#include <cairn/error.h>
#include <cairn/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cairn_sampler;

enum cairn_sample_method {
    CAIRN_SAMPLE_AUTO,   /* the first that is allowed: BPF, DUMP, PERF, and for a child PTRACE */
    CAIRN_SAMPLE_PERF,   /* perf_event_open: the kernel interrupts, nothing is stopped; stacks by
                            frame pointers */
    CAIRN_SAMPLE_PTRACE, /* stops each running thread for some microseconds; user frames alone, and
                            those of interpreters such as Lua */
    CAIRN_SAMPLE_BPF,    /* as PERF, with stacks by unwind tables, walked and counted in the kernel:
                            Linux 5.17 and later on x86-64; root, or CAP_BPF and CAP_PERFMON */
    CAIRN_SAMPLE_DUMP /* as PERF, with stacks by unwind tables, walked here out of a copy that the
                         kernel makes with each sample: needs no more rights than PERF. Where the
                         copy ends, by frame pointers. x86-64 and aarch64 */
};

/* What a sample is taken of. The profile's second value is of that type. */
enum cairn_sample_event {
    CAIRN_EVENT_CPU,       /* CPU time, cpu/nanoseconds: by the CPU's cycles where they are counted,
                              else by the kernel's timer */
    CAIRN_EVENT_CPU_CLOCK, /* CPU time by the kernel's timer */
    CAIRN_EVENT_CYCLES,    /* cycles/count; this and the next two need the CPU's counters */
    CAIRN_EVENT_INSTRUCTIONS,    /* instructions/count */
    CAIRN_EVENT_CACHE_MISSES,    /* cache_misses/count */
    CAIRN_EVENT_PAGE_FAULTS,     /* page_faults/count */
    CAIRN_EVENT_CONTEXT_SWITCHES /* context_switches/count; needs the right to see the kernel */
};

/* Set .size to sizeof(struct cairn_sampler_opts); zero means the default. Exactly one is set of
 * `argv`, `pid` with `pids`, `all_processes` and `cgroup`; all that they point to is borrowed until
 * cairn_sampler_new() returns, `argv` until cairn_sampler_start() does. */
struct cairn_sampler_opts {
    size_t size;
    int pid;             /* all its threads, and those that it starts */
    char *const *argv;   /* NULL-terminated: a command to start and sample, with its children */
    double frequency_hz; /* 0: 99 */
    int user_only;       /* nonzero: no kernel frames; time in the kernel is not counted then */
    enum cairn_sample_method method;
    uint32_t ring_pages; /* per CPU, a power of two; 0: 128, by PERF a second's worth of samples if
                            that is more, at most 1024, by DUMP 1024; fewer where the limit is
                            lower */
    uint32_t max_frames; /* per stack, kernel and user together, at most 1024; 0: what the kernel
                            allows (kernel.perf_event_max_stack) */
    enum cairn_sample_event event;
    int off_cpu; /* nonzero: instead of samples each time that a thread leaves the CPU, with
                    how long it stays off: samples/count and off_cpu/nanoseconds; method BPF.
                    Labels: off_cpu (sleep, blocked, preempted, stopped), woken_by,
                    woken_by_pid */
    uint64_t event_period; /* a sample for each so many, not for CPU time. 0: frequency_hz; where
                              that is 0 too, each page fault and context switch, on whole CPUs up
                              to 4000 a second of each */
    int timeline;          /* nonzero: no samples are summed; each has the label cairn.time_ns; a
                              time off the CPU that of its begin */
    const int *pids;       /* `n_pids` processes, all in one profile; who is gone is left out */
    size_t n_pids;
    int all_processes;  /* nonzero: whoever runs on any CPU, kernel threads too; for root,
                           CAP_PERFMON, or kernel.perf_event_paranoid of 0 and below */
    const char *cgroup; /* whoever runs in this cgroup of version 2 and those below it: its folder,
                           or a name below /sys/fs/cgroup; same rights. Linux 4.5 */
    int no_inherit;     /* nonzero: no processes that the target starts; its new threads are sampled
                           (before Linux 5.13 not even those) */
    uint32_t
        stack_bytes; /* of a stack are copied by DUMP: a multiple of 8 below 64 KiB; 0: 32 KiB */
    uint64_t memory_bytes; /* at most so much memory for stacks and samples, at least 64,000; 0: 256
                              MiB. What is new then is cut to what is known of it, or not kept:
                              the quality says how often */
    int no_guests; /* nonzero: BPF and PTRACE do not look for frames of interpreters, such as
                              Lua, and the other methods do not hint at them */
};

/* What a capture was worth: the quality line. */
struct cairn_sample_quality {
    size_t size;
    uint64_t n_samples;
    uint64_t n_whole;     /* stacks that reach the start of the program or of the thread */
    uint64_t n_cut;       /* the rest: cairn_profile_cuts() has the reasons; or with a gap, n_gap of
                             cairn_profile_stats() */
    uint64_t n_lost;      /* records that the kernel dropped, or that made no sense; rounds that
                             came too late, by ptrace */
    uint64_t n_throttled; /* times that the kernel slowed us down */
    uint64_t duration_ns;
    uint64_t n_threads;    /* seen in samples */
    int method;            /* enum cairn_sample_method, as used */
    int has_kernel;        /* 1: kernel frames were recorded */
    int hardware_event;    /* 1: CPU cycles; 0: the cpu-clock timer */
    int exit_status;       /* of the command, as waitpid gives it; -1: still running or none */
    uint64_t cpu_ns;       /* CPU time that the target used, the kernel's included; of all processes
                              as /proc/stat has it; 0: not known */
    uint64_t period_ns;    /* of it for each sample; 0: an event is sampled that is not CPU time */
    uint64_t own_ns;       /* CPU time that this process used meanwhile, whatever for */
    uint64_t walk_ns;      /* by BPF: of a sample in the kernel, at the mean; 0: not known, as
                              kernel.bpf_stats_enabled is off */
    uint64_t n_processes;  /* seen in samples */
    int off_cpu;           /* 1: samples are times off the CPU */
    uint64_t value;        /* what all samples together stand for; 0: CPU time, see period_ns */
    uint64_t n_unkept;     /* samples beside n_samples: there was no memory for them, see
                              memory_bytes */
    int event;             /* enum cairn_sample_event, where samples stand for a value: */
    uint64_t event_period; /* one for each so many; 0: by frequency_hz */
    double frequency_hz;   /* samples a second */
    uint64_t n_folded;     /* threads that have ended, and whose samples have no labels pid and tid
                              any more: where there are many, those with the most keep them */
    uint64_t n_guest;      /* samples with frames of an interpreter */
    uint64_t n_doubt;      /* of them: where those may be wrong, as the label cairn.guest says */
    uint64_t n_unread;     /* samples whose frames of an interpreter are missing, as it says, too */
};

/*
 * Prepares everything (a command is started, but held until cairn_sampler_start()).
 * CAIRN_E_ACCESS: forbidden; the hint names the setting and the command that changes it.
 * CAIRN_E_MISSING: no such process or program. CAIRN_E_SUPPORT: the kernel lacks what is needed.
 */
CAIRN_API int cairn_sampler_new(const struct cairn_sampler_opts *opts,
                                struct cairn_sampler **ret_sampler, struct cairn_err *err);
CAIRN_API int cairn_sampler_start(struct cairn_sampler *sampler, struct cairn_err *err);

/* Waits at most `timeout_ms` and takes in what has come. Returns 1 while the target lives, 0 when
 * it, or the last of several, has ended, or a negative code. A signal that interrupts the wait is
 * no error: it returns 1. */
CAIRN_API int cairn_sampler_poll(struct cairn_sampler *sampler, int timeout_ms,
                                 struct cairn_err *err);

/* Samples taken in so far. */
CAIRN_API uint64_t cairn_sampler_count(const struct cairn_sampler *sampler);

/*
 * Stops, takes in the rest and hands out the raw profile (pprof value types samples/count and
 * the event's, cpu/nanoseconds); the caller frees it. Set ret_quality->size before; it may be NULL.
 * The profile has the comments "command: ...", "kernel: RELEASE" where there are kernel frames, and
 * "quality: ...", and each sample the labels pid, tid,
 * process, thread, cgroup where that is known and not the root, and, where its stack ends early,
 * cairn.cut.
 */
CAIRN_API int cairn_sampler_finish(struct cairn_sampler *sampler,
                                   struct cairn_profile **ret_profile,
                                   struct cairn_sample_quality *ret_quality, struct cairn_err *err);

/*
 * The same while the sampling goes on: hands out what came since the start or the last window, and
 * begins the next one. Not by ptrace, with off_cpu or with timeline (CAIRN_E_SUPPORT). Samples of
 * the last tenth of a second may be in the next window; what was lost is counted one window late.
 * On failure nothing is lost: the next window has it.
 */
CAIRN_API int cairn_sampler_window(struct cairn_sampler *sampler,
                                   struct cairn_profile **ret_profile,
                                   struct cairn_sample_quality *ret_quality, struct cairn_err *err);

/* Another rate of CPU time from now on, at best right behind a window: a profile has one period. As
 * for windows; CAIRN_E_ARG for other events. */
CAIRN_API int cairn_sampler_set_frequency(struct cairn_sampler *sampler, double frequency_hz,
                                          struct cairn_err *err);

/* "1234 samples in 5.0 s, 1200 whole (97.2 %), 34 cut: 30 no frame pointer in libc.so.6, 4 ...; 0
 * lost"; the reasons are those of `profile`. Where fewer samples came than the CPU time that was
 * used should have given, it says so. Returns the length of the whole, as snprintf does. May
 * hold names from the target: escape it for a terminal. */
CAIRN_API int cairn_sample_quality_text(const struct cairn_sample_quality *quality,
                                        const struct cairn_profile *profile, char *buf,
                                        size_t size);

/* Files of the profile that was handed out last, for cairn_resolve_opts.module_files: by number of
 * its modules, -1 where there is none; returns how many. They were opened while processes had them
 * mapped, and name what has ended, was replaced, or lives in another mount namespace. Borrowed
 * until the next window or cairn_sampler_free(). */
CAIRN_API size_t cairn_sampler_files(const struct cairn_sampler *sampler, const int **ret_fds);

/* Accepts NULL. A command that still runs is left alone. */
CAIRN_API void cairn_sampler_free(struct cairn_sampler *sampler);

/* The pid that is sampled, the first of several; 0 where whole CPUs are. */
CAIRN_API int cairn_sampler_pid(const struct cairn_sampler *sampler);

/* The method that was chosen; never CAIRN_SAMPLE_AUTO. */
CAIRN_API enum cairn_sample_method cairn_sampler_method(const struct cairn_sampler *sampler);

#ifdef __cplusplus
}
#endif
#endif /* CAIRN_SAMPLER_H */
