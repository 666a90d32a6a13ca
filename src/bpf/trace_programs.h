/* SPDX-License-Identifier: MIT */
/*
 * Trace programs: system calls, probes and tracepoints of chosen processes, with their stacks,
 * counted in the kernel or sent one by one. A part of the walker (walker.h), which has the stacks.
 */
#ifndef CAIRN_BPF_TRACE_PROGRAMS_H
#define CAIRN_BPF_TRACE_PROGRAMS_H

#include <stdbool.h>
#include <stdint.h>

#include <cairn/error.h>
#include <cairn/regs.h>

#include "bpf/off_cpu.h"
#include "bpf/trace.h"

struct walk_bpf;

enum { CAIRN_TRACE_PROGRAMS = 8, CAIRN_TRACE_PROBE_PROGRAMS = 10 };

/* What a probe is attached to. */
enum cairn_trace_place {
    CAIRN_TRACE_IN_PROGRAM, /* uprobe */
    CAIRN_TRACE_IN_KERNEL,  /* kprobe */
    CAIRN_TRACE_POINT,      /* tracepoint */
    CAIRN_TRACE_STATIC,     /* USDT */
    CAIRN_TRACE_MEMORY,     /* hardware breakpoint */
    CAIRN_TRACE_FAULT,      /* software event of perf: page faults */
    CAIRN_TRACE_BEGIN,      /* uprobe, whose event is reported at CAIRN_TRACE_END */
    CAIRN_TRACE_KERNEL_BEGIN,
    CAIRN_TRACE_END, /* uretprobe; those from here on see no event that was not seen before */
    CAIRN_TRACE_KERNEL_END
};

static inline bool cairn_trace_is_perf_event(enum cairn_trace_place place)
{
    return place == CAIRN_TRACE_MEMORY || place == CAIRN_TRACE_FAULT;
}

/* Is it where a function begins that has one event for its begin and its return? */
static inline bool cairn_trace_is_pair(enum cairn_trace_place place)
{
    return place == CAIRN_TRACE_BEGIN || place == CAIRN_TRACE_KERNEL_BEGIN;
}

static inline bool cairn_trace_is_end(enum cairn_trace_place place)
{
    return place == CAIRN_TRACE_END || place == CAIRN_TRACE_KERNEL_END;
}

static inline bool cairn_trace_is_in_kernel(enum cairn_trace_place place)
{
    return place == CAIRN_TRACE_IN_KERNEL || place == CAIRN_TRACE_KERNEL_BEGIN ||
           place == CAIRN_TRACE_KERNEL_END;
}

/* Is it a place of a program's file? Those may be attached many at once. */
static inline bool cairn_trace_is_of_file(enum cairn_trace_place place)
{
    return place == CAIRN_TRACE_STATIC || place == CAIRN_TRACE_IN_PROGRAM ||
           place == CAIRN_TRACE_BEGIN || place == CAIRN_TRACE_END;
}

struct cairn_trace_memory_at {
    uint64_t va;          /* 0: not known before the command has called execve(2) */
    uint64_t stack_start; /* of the address space (proc/process.h); 0: the kernel's */
    uint32_t bytes, type; /* HW_BREAKPOINT_W, _RW, _X */
    int pid;              /* 0: the kernel's */
};

/* Where an event is that is no system call; of a USDT probe, one of its places. */
struct cairn_trace_probe_at {
    enum cairn_trace_place place;
    uint32_t number;                   /* of the probe: its row is CAIRN_TRACE_CALLS + number */
    bool at_return;                    /* where the function returns */
    const char *path;                  /* of a program's file; of a tracepoint its group */
    const char *name;                  /* of a function of the kernel, or of a tracepoint */
    uint64_t off;                      /* in the file, or behind the function's begin */
    uint64_t semaphore_off;            /* in the file; the kernel raises it while it is attached.
                                           0: there is none */
    const struct cairn_bpf_usdt *args; /* of a USDT probe */
    const char *event;                 /* as the user wrote it, for messages */
    struct cairn_trace_memory_at memory;
};

struct cairn_trace_programs_opts {
    const struct cairn_bpf_call *calls;        /* CAIRN_TRACE_ROWS rows; borrowed until the start */
    const struct cairn_trace_probe_at *probes; /* at most CAIRN_TRACE_PLACES; likewise */
    size_t n_probes;
    bool all;        /* every process but this one */
    bool is_cgroup;  /* of them those in this cgroup of version 2 */
    int cgroup_fd;   /* its folder; borrowed until the start */
    bool no_inherit; /* not what targets start */
    bool no_stack;
    bool user_only;      /* no frames of the kernel, at its probes and tracepoints */
    bool regs;           /* events have the registers of the user side */
    bool kernel_only;    /* no others; all probes are in the kernel */
    bool enter_only;     /* calls are counted as they begin: no result, no duration */
    uint32_t tid;        /* of the targets this thread alone; 0: all */
    uint32_t signal;     /* is sent to the process at each event; 0: none */
    uint64_t per_second; /* so many events cross, of each CPU; 0: none, they are summed alone */
    uint64_t max;        /* events; 0: no bound */
    uint64_t every;      /* report every Nth event; 0 or 1: all */
};

struct cairn_trace_programs {
    struct walk_bpf *program; /* borrowed; NULL: not asked for */
    const struct cairn_bpf_call *calls;
    const struct cairn_trace_probe_at *probes;
    size_t n_probes;
    bool is_cgroup;
    int cgroup_fd;
    size_t n_cpus;
    struct bpf_link *links[CAIRN_TRACE_PROGRAMS];
    bool many_at_once; /* those of programs are attached file by file (places.h) */
    struct bpf_link *probe_links[CAIRN_TRACE_PLACES];
    int probe_fds[CAIRN_TRACE_PLACES]; /* of those, by their first place, plus one; 0: none */
    struct {
        struct bpf_link **links; /* of each place one for each CPU */
        size_t n, cap;
    } memory;
    struct bpf_link *replaced_link; /* follows execve(2) of processes with breakpoints */
};

static inline bool cairn_trace_has_place(const struct cairn_trace_probe_at *probes, size_t n,
                                         enum cairn_trace_place place)
{
    for (size_t i = 0; i < n; i++)
        if (probes[i].place == place)
            return true;
    return false;
}

/* Is any system call wanted? */
static inline bool cairn_trace_has_calls(const struct cairn_bpf_call *calls)
{
    for (uint32_t i = 0; i < CAIRN_TRACE_CALLS; i++)
        if (calls[i].is_wanted)
            return true;
    return false;
}

/* Before the walker's programs are loaded: with these, or, where `opts` is NULL, without. */
void cairn_trace_programs_prepare(struct walk_bpf *program,
                                  const struct cairn_trace_programs_opts *opts, size_t n_cpus,
                                  bool *ret_many_at_once);

/* A process whose calls are traced; from its next execve(2) on. 0 or a negative errno. */
int cairn_trace_programs_add(struct cairn_trace_programs *trace, int pid, bool from_exec);

/* From now on. CAIRN_E_ACCESS, CAIRN_E_SUPPORT: nothing stays attached. */
int cairn_trace_programs_start(struct cairn_trace_programs *trace, struct cairn_err *err);

/* Part of cairn_trace_programs_prepare(), _start() and _stop(): breakpoints and page faults. Places
 * whose `va` is not known yet are left out. */
void cairn_trace_memory_prepare(struct walk_bpf *program,
                                const struct cairn_trace_programs_opts *opts);
int cairn_trace_memory_start(struct cairn_trace_programs *trace, struct cairn_err *err);
void cairn_trace_memory_stop(struct cairn_trace_programs *trace);

/* The breakpoints of a place, whose `va` is known now. CAIRN_E_LIMIT: all are in
 * use. CAIRN_E_SUPPORT: the machine has none. */
int cairn_trace_memory_attach(struct cairn_trace_programs *trace,
                              const struct cairn_trace_probe_at *at, struct cairn_err *err);

/* Did a process with breakpoints call execve(2) since? They are not of its new program. */
bool cairn_trace_memory_is_replaced(const struct cairn_trace_programs *trace, int pid);

/* No more: calls that have begun are not reported. */
void cairn_trace_programs_stop(struct cairn_trace_programs *trace);

/* Mappings of some process have changed: remembered stacks count no more. */
void cairn_trace_programs_forget(struct cairn_trace_programs *trace);

/* What was summed since it was asked last, in no order, each key once; all of it once they are
 * stopped. A negative answer stops, and comes back: then the rest of that batch is lost. It waits
 * until every program that runs has ended: some milliseconds. */
typedef int (*cairn_trace_sum_fn)(void *ctx, const struct cairn_bpf_trace_key *key,
                                  const struct cairn_bpf_trace_sum *sum);
int cairn_trace_programs_sums(struct cairn_trace_programs *trace, cairn_trace_sum_fn fn, void *ctx);

/* Will there soon be no space for other sums? */
bool cairn_trace_programs_are_crowded(const struct cairn_trace_programs *trace);

/* The registers that an event came with; false: with none. */
bool cairn_trace_programs_regs(const struct cairn_bpf_event *event,
                               struct cairn_cursor_regs *ret_regs);

/* Of all CPUs. `run_ns`: of all programs, where kernel.bpf_stats_enabled is on. */
void cairn_trace_programs_stats(const struct cairn_trace_programs *trace,
                                struct cairn_bpf_trace_cpu *ret_stats);

#endif /* CAIRN_BPF_TRACE_PROGRAMS_H */
