/* SPDX-License-Identifier: MIT */
/*
 * Trace: system calls, probes, tracepoints and accesses to memory of running processes, each with
 * its whole stack, reported one by one or summed in the kernel.
 *
 * Threads: one trace may be used by one thread. Needs BPF: root, or CAP_BPF, CAP_PERFMON and
 * CAP_SYS_PTRACE; Linux 5.17 and later. Without, system calls of a command or of processes of the
 * same user are traced by ptrace(2): Linux 5.3 and later.
 */
#ifndef CAIRN_TRACE_H
#define CAIRN_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include <cairn/api.h>
#include <cairn/error.h>
#include <cairn/profile.h>
#include <cairn/regs.h>
#include <cairn/unwind_end.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cairn_trace;
struct cairn_symbolizer_opts; /* cairn/symbolizer.h */

/* One event. All texts are borrowed for the call that reports it, and may hold anything: escape
 * them for a terminal. */
struct cairn_trace_event {
    size_t size;
    uint64_t time_ns;     /* as the call began, CLOCK_REALTIME */
    uint64_t duration_ns; /* 0 without a result */
    int pid, tid;
    uint32_t cpu; /* UINT32_MAX: not known */
    uint32_t uid;
    const char *comm; /* the thread's name, as the call began */
    const char *kind; /* "syscall", "uprobe", "uretprobe", "kprobe", "kretprobe",
                         "uprobe+uretprobe", "kprobe+kretprobe", "tracepoint", "usdt", "mem",
                         "software" */
    const char *name; /* of the system call; of others all of it: "uprobe:libc.so.6:fopen" */
    int is_compat;    /* 1: of the table of 32-bit programs */
    int has_result;   /* 0: the call does not return, or was counted as it began */
    int is_gone;      /* 1: the thread exited in the call */
    int64_t result;
    const char *error;       /* "ENOENT"; "": none */
    const char *result_text; /* as it is printed: "3</dev/null>", "-1 ENOENT" */
    uint32_t n_args;
    const char *arg_names[16], *arg_texts[16];
    uint32_t stack;                /* for cairn_trace_frames(); 0: none */
    const char *cut;               /* why the stack ends early; "": it is whole */
    int has_regs;                  /* 0: they were not asked for, or the thread has no user side */
    struct cairn_cursor_regs regs; /* of the user side, as the event began; of a system call on
                                      x86-64 rax is its number */
};

/* A nonzero answer ends the poll. */
typedef int (*cairn_trace_fn)(void *ctx, const struct cairn_trace_event *event);

enum cairn_trace_way {
    CAIRN_TRACE_WAY_AUTO,   /* the first that is allowed */
    CAIRN_TRACE_WAY_BPF,    /* programs in the kernel */
    CAIRN_TRACE_WAY_PTRACE, /* stops; of a command of the traced calls alone, by seccomp(2) */
    CAIRN_TRACE_WAY_PERF    /* perf events at system calls and tracepoints, with stacks copied */
};

/* Set .size; zero means the default. Exactly one is set of `argv`, `pids`, `all_processes` and
 * `cgroup`; all that they point to is borrowed until cairn_trace_new() returns, `argv` until
 * cairn_trace_start() does. */
struct cairn_trace_opts {
    size_t size;
    const char *const *events; /* "syscall:openat,%net,!close[ret < 0]",
                                  "uprobe:libc.so.6:fopen", "tracepoint:sched:sched_switch",
                                  "uprobe+uretprobe:libc.so.6:fopen[duration > 1ms]",
                                  "mem:counter:w", "signal:SEGV", "page-fault", "exec" */
    size_t n_events;
    const char *filter; /* of all events; NULL: none */
    char *const *argv;
    const int *pids;
    size_t n_pids;
    int all_processes;
    const char *cgroup;
    int tid;        /* of the process this thread alone */
    int no_inherit; /* not what targets start */
    int no_stack;
    int user_only;       /* probes and tracepoints of the kernel without the kernel's frames */
    int enter_only;      /* calls are counted as they begin: cheaper; no result, no duration */
    int signal;          /* is sent to the process at each event, such as SIGSTOP; 0: none */
    uint64_t max_events; /* 0: no bound */
    uint64_t per_second; /* so many are reported by `report`; the others are summed. 0: all */
    int sums_only;       /* nonzero: none is reported */
    cairn_trace_fn report;
    void *report_ctx;
    const struct cairn_symbolizer_opts *symbols; /* of names; NULL: the usual. Borrowed until
                                                    cairn_trace_free(), as what it points to */
    int timeline;      /* nonzero: events that are reported, or would be, are kept as markers of the
                     profile, also where `report` is NULL or `sums_only` is set */
    int way;           /* enum cairn_trace_way */
    uint64_t every;    /* of all events each so manieth alone; 0, 1: all */
    uint32_t depth;    /* of stacks so many innermost frames; 0: all */
    int regs;          /* nonzero: events have the registers of the user side */
    int kernel_only;   /* of stacks the kernel's frames alone: user memory is not read. All events
                          are tracepoints and probes of the kernel */
    const char *field; /* one of the events must have it, as a filter's field; NULL: none */
};

/* CAIRN_E_ARG: an event or a filter is wrong, with the column. CAIRN_E_ACCESS: not allowed, with
 * the command that allows it. CAIRN_E_SUPPORT, CAIRN_E_MISSING: no such process or program. */
CAIRN_API int cairn_trace_new(const struct cairn_trace_opts *opts, struct cairn_trace **ret_trace,
                              struct cairn_err *err);
CAIRN_API int cairn_trace_start(struct cairn_trace *trace, struct cairn_err *err);
/* Waits at most `timeout_ms` and reports what has come. 1: the target lives; 0: it has ended, or
 * there were max_events; a negative code; what `report` answered, where that is not 0, as 2. */
CAIRN_API int cairn_trace_poll(struct cairn_trace *trace, int timeout_ms, struct cairn_err *err);
/* Ends it: reports the rest, and completes the sums. */
CAIRN_API int cairn_trace_finish(struct cairn_trace *trace, struct cairn_err *err);
/* After that: a command that was traced by ptrace has a filter that cannot be taken back, and its
 * traced calls need an answer. Waits at most `timeout_ms`. 1: a process of it still runs; 0: there
 * is none, or it needs nothing; a negative code. */
CAIRN_API int cairn_trace_hold(struct cairn_trace *trace, int timeout_ms, struct cairn_err *err);
/* Accepts NULL. Kills a command that cairn_trace_hold() waits for. */
CAIRN_API void cairn_trace_free(struct cairn_trace *trace);

CAIRN_API int cairn_trace_pid(const struct cairn_trace *trace); /* of the command; 0: none */

/* The frames of a stack, innermost first, as numbers of the profile, which has their names and
 * nothing else. At most `n` are written; how many there are. Borrowed until the next call. */
CAIRN_API size_t cairn_trace_frames(struct cairn_trace *trace, uint32_t stack, uint32_t *ret_frames,
                                    size_t n, const struct cairn_profile **ret_profile);

/* What all events were; before cairn_trace_finish() what they are so far, without `attached`. */
struct cairn_trace_stats {
    size_t size;
    uint64_t n_seen;                 /* calls that began */
    uint64_t n_filtered;             /* of them: the filter did not hold */
    uint64_t n_counted;              /* in the sums */
    uint64_t n_shown;                /* reported one by one */
    uint64_t n_not_shown;            /* of the counted: nobody read as fast as they came */
    uint64_t n_lost;                 /* neither filtered nor counted: no space. Exact */
    uint64_t n_pending;              /* had not returned in the end */
    uint64_t n_whole, n_cut;         /* counted events by their stacks */
    uint64_t n_remembered, n_walked; /* stacks that were recognized, and that were walked */
    uint64_t ns_per_event; /* of the programs in the kernel; 0: kernel.bpf_stats_enabled is off */
    uint64_t duration_ns;
    const char *attached;  /* how, and what that costs; until cairn_trace_free() */
    int exit_status;       /* of the command, as waitpid gives it; -1: running, or none */
    uint64_t n_kept;       /* events that are markers of the profile */
    uint64_t n_unkept;     /* that should be, and have no room: 500,000 are kept */
    int way;               /* enum cairn_trace_way, that was taken */
    uint64_t n_unreturned; /* functions of pairs that were left without a return: by longjmp(3), an
                              exception, execve(2), or the end of their thread */
};
CAIRN_API void cairn_trace_stats(const struct cairn_trace *trace,
                                 struct cairn_trace_stats *ret_stats);

/* One row for each stack of each call of each thread. Before cairn_trace_finish(): so far, up to a
 * second ago; texts are then borrowed until the next cairn_trace_poll(). */
struct cairn_trace_sum {
    size_t size;
    const char *kind, *name; /* as of an event */
    int is_compat;
    uint32_t stack;
    const char *cut;
    int pid, tid; /* 0: of several */
    uint64_t n, n_errors, n_gone;
    uint64_t ns, min_ns, max_ns, bytes;
};
CAIRN_API size_t cairn_trace_sum_rows(const struct cairn_trace *trace);
CAIRN_API int cairn_trace_sum(const struct cairn_trace *trace, size_t index,
                              struct cairn_trace_sum *ret_sum);

/* After cairn_trace_finish(), once: the profile of the sums, with values events/count,
 * time/nanoseconds and bytes/bytes, and the label "syscall". `named`: as cairn_resolve_profile()
 * does it. The caller frees it; frames and sums of the trace are gone. */
CAIRN_API int cairn_trace_take_profile(struct cairn_trace *trace, int named,
                                       struct cairn_profile **ret_profile, struct cairn_err *err);

/* Calls `fn` with the name of each event of this kernel that a list such as "syscall:*open*" holds.
 * CAIRN_E_ARG: no such kind of events is listed. CAIRN_E_MISSING: there is none. */
typedef int (*cairn_trace_list_fn)(void *ctx, const char *name);
CAIRN_API int cairn_trace_list(const char *pattern, cairn_trace_list_fn fn, void *ctx,
                               struct cairn_err *err);

/* Where an event would be attached. Texts and bytes are borrowed for the call. */
struct cairn_trace_spot {
    size_t size;
    const char *kind, *event; /* as of an event */
    const char *file;         /* "": it is in none */
    uint64_t off;             /* in the file */
    const uint8_t *insn;      /* the instruction there */
    size_t n_insn;            /* its bytes; 0: not known */
    const char *cost;         /* how it is attached, and what a hit costs */
};

/* Calls `fn` with each place of the events of `opts`, and attaches nothing. It needs no rights but
 * to read files. Errors as of cairn_trace_new(); what `fn` answered, if that is not 0. */
typedef int (*cairn_trace_explain_fn)(void *ctx, const struct cairn_trace_spot *place);
CAIRN_API int cairn_trace_explain(const struct cairn_trace_opts *opts, cairn_trace_explain_fn fn,
                                  void *ctx, struct cairn_err *err);

/* A static probe (USDT) of a file. Texts are borrowed for the call. */
struct cairn_trace_usdt {
    size_t size;
    const char *file; /* as the target sees it */
    const char *provider, *name;
    const char *args; /* of its first place, as the file has them: "8@%rdi -4@$5"; any bytes */
    size_t n_places;
    int has_semaphore; /* the program skips it unless it is traced */
};

/* Calls `fn` with each static probe that "usdt:FILE:PROVIDER:NAME" matches, of which parts may be
 * missing at the end; of the processes `pids`, if there are any, also "usdt:PROVIDER:NAME" and
 * "usdt:". CAIRN_E_ARG, CAIRN_E_MISSING, CAIRN_E_FORMAT; what `fn` answered, if that is not 0. */
typedef int (*cairn_trace_list_usdt_fn)(void *ctx, const struct cairn_trace_usdt *probe);
CAIRN_API int cairn_trace_list_usdt(const char *pattern, const int *pids, size_t n_pids,
                                    cairn_trace_list_usdt_fn fn, void *ctx, struct cairn_err *err);

#ifdef __cplusplus
}
#endif
#endif /* CAIRN_TRACE_H */
