/* SPDX-License-Identifier: MIT */
/*
 * Call stops: system calls of processes, each caught by ptrace(2) as it begins and, where asked, as
 * it ends; with what these processes start.
 *
 *     a command       its filter (call_filter.h) stops the wanted calls alone
 *     a running one   stops at each call that it makes, twice
 *
 *     waitpid() ─┬─► seccomp, call begins ─► enter ─► it goes on ─► resumed
 *                ├─► call ends            ─► leave ─► it goes on ─► resumed
 *                ├─► fork, clone, exec    ─► born, replaced
 *                └─► it ended             ─► gone
 *
 * Signals are handed on unchanged. A thread that SIGSTOP stopped stays stopped. A stop where a call
 * begins or ends does not interrupt the call: nothing returns EINTR.
 *
 * A filter cannot be taken back, and without a tracer its calls fail with ENOSYS. Whoever started
 * a command goes on until cairn_call_stops_poll() says that all have ended; if it is killed, the
 * kernel kills the command (PTRACE_O_EXITKILL).
 *
 * All calls come from one OS thread. While it polls, other children of this thread may be waited
 * for, and SIGCHLD is blocked.
 */
#ifndef CAIRN_PROC_CALL_STOPS_H
#define CAIRN_PROC_CALL_STOPS_H

#include <stddef.h>

#include <cairn/error.h>

#include "base/table.h"
#include "proc/call_cpu.h"
#include "proc/call_filter.h"

/* Answers of `enter` and `leave`; a negative one ends the poll, and comes back. */
enum cairn_call_answer {
    CAIRN_CALL_GO_ON,
    CAIRN_CALL_TO_ITS_END, /* of `enter`: `leave` is called where it ends */
    CAIRN_CALL_TELL = 2    /* `resumed` is called when it goes on; may be added */
};

/* One traced thread. */
struct cairn_call_thread {
    int tid, pid;     /* pid 0: its parent's event has not come yet */
    bool is_begun;    /* a command's thread is, once its program has begun */
    bool is_left_out; /* a process that is not to be traced, but has the filter */
    bool is_in_call;  /* `leave` is to be called */
    bool is_asked;    /* it was interrupted */
    bool is_held;     /* stopped, until its parent's event comes */
    uint64_t held_ns; /* since when */
    void *data;       /* of the caller, `data_bytes`, all-zero first */
};

/* One call. */
struct cairn_stopped_call {
    uint32_t arch;   /* AUDIT_ARCH_* */
    uint64_t number; /* where it begins; the rest, too: */
    uint64_t args[6];
    int64_t result; /* where it ends */
};

struct cairn_call_watcher {
    void *ctx;
    size_t data_bytes;
    /* The thread is stopped. */
    int (*enter)(void *ctx, struct cairn_call_thread *thread,
                 const struct cairn_stopped_call *call);
    int (*leave)(void *ctx, struct cairn_call_thread *thread,
                 const struct cairn_stopped_call *call);
    /* It runs again. */
    int (*resumed)(void *ctx, struct cairn_call_thread *thread);
    /* `parent` started it; it is stopped, or has not begun. Not called where the parent was killed
     * before its event came. */
    int (*born)(void *ctx, const struct cairn_call_thread *parent,
                struct cairn_call_thread *thread);
    /* It has called execve(2), and is stopped where its program begins. */
    int (*replaced)(void *ctx, struct cairn_call_thread *thread);
    int (*gone)(void *ctx, struct cairn_call_thread *thread);
};

struct cairn_call_stops {
    struct cairn_call_watcher watcher;
    struct cairn_call_thread **threads;
    size_t n, cap;
    struct cairn_table by_tid;
    int pid;          /* the first process */
    int exit_status;  /* of it, as waitpid() gives it; -1: it runs */
    bool is_filter;   /* seccomp stops the calls; else each call stops */
    bool no_inherit;  /* processes that are started are left out */
    bool is_over;     /* no call is reported any more */
    uint64_t look_ns; /* when held threads are looked at; 0: none is held */
    struct cairn_call_cpu cpu;
    uint64_t stop_ns; /* how long threads were stopped */
};

/* A child that waits for its execve(2), and will lay a filter over itself. CAIRN_E_ACCESS. */
int cairn_call_stops_command(struct cairn_call_stops *stops, int pid, struct cairn_err *err);

/* Takes a running process; `tid`: of it this thread alone, 0: all. CAIRN_E_ACCESS: the hint names
 * the setting. CAIRN_E_MISSING. */
int cairn_call_stops_process(struct cairn_call_stops *stops, int pid, int tid,
                             struct cairn_err *err);

/* Waits at most `timeout_ms`, and answers what waits. 1: a thread lives; 0: all have ended; or
 * what a function of the watcher answered. */
int cairn_call_stops_poll(struct cairn_call_stops *stops, int timeout_ms, struct cairn_err *err);

/* Nothing is reported any more. Running processes are let go; what a command started needs polls
 * until its end. */
void cairn_call_stops_end(struct cairn_call_stops *stops);

/* Frees all; a command that still runs ends. All-zero is fine. */
void cairn_call_stops_done(struct cairn_call_stops *stops);

#endif /* CAIRN_PROC_CALL_STOPS_H */
