/* SPDX-License-Identifier: MIT */
/*
 * Tracer: stops single threads of a process for a moment by ptrace(2), reads their registers, lets
 * them go on. PTRACE_SEIZE and PTRACE_INTERRUPT, so the program sees no signal of ours; system
 * calls that a stop ends with EINTR go on (call_mend.h).
 *
 *     new -> ( serve | stop -> regs -> resume )* -> free
 *
 * A traced thread waits for us at every signal it gets, at every thread it starts:
 * cairn_tracer_serve() answers, so call it every few milliseconds. Signals are handed on unchanged;
 * a thread that SIGSTOP & Co. stopped stays stopped until SIGCONT.
 *
 * All calls come from the one OS thread that called cairn_tracer_new(): the kernel demands it. Only
 * its own tids are waited for, never "any child".
 */
#ifndef CAIRN_PROC_PTRACE_H
#define CAIRN_PROC_PTRACE_H

#include <stddef.h>

#include <cairn/error.h>

#include "proc/call_mend.h"
#include "proc/regs.h"

enum { CAIRN_TRACEES_MAX = 1 << 16 };

struct cairn_tracer;

enum cairn_tracer_flag {
    CAIRN_TRACER_CHILDREN = 1,  /* processes that it forks are traced as well */
    CAIRN_TRACER_ONE_THREAD = 2 /* `pid` is a tid, and no other thread is traced */
};

/* One traced thread. */
struct cairn_tracee {
    int tid;
    int pid;          /* its process */
    bool stopped;     /* by cairn_tracer_stop(), until resume */
    bool held;        /* SIGSTOP or the like holds it: no CPU is used, nothing to sample */
    bool interrupted; /* it stands where PTRACE_INTERRUPT stopped it, or at its birth */
    int resume_with;  /* signal that it gets when it goes on; 0: none */
    struct cairn_call_seen seen; /* the call that it slept in before the stop */
};

/* Seizes all threads of `pid`; they run on. CAIRN_E_MISSING: no such process. CAIRN_E_ACCESS: the
 * hint names the setting (Yama's ptrace_scope, another tracer, another user). */
int cairn_tracer_new(int pid, unsigned flags, struct cairn_tracer **ret_tracer,
                     struct cairn_err *err);

/* Detaches from all that still runs; accepts NULL. */
void cairn_tracer_free(struct cairn_tracer *tracer);

/* serve() and stop() call `on_exec` for each execve(2) of a traced process. The process is stopped:
 * its new program has run nothing, and its only thread has the number `pid`. */
typedef void (*cairn_tracer_exec_fn)(void *ctx, int pid);
void cairn_tracer_on_exec(struct cairn_tracer *tracer, cairn_tracer_exec_fn on_exec, void *ctx);

/* Answers all that waits, without waiting itself: signals, new threads, ends. False once all
 * threads have ended. */
bool cairn_tracer_serve(struct cairn_tracer *tracer);

/* The threads that live, borrowed until the next call on the tracer. */
size_t cairn_tracer_threads(const struct cairn_tracer *tracer,
                            const struct cairn_tracee **ret_tracees);

/* Stops one thread, waiting at most `timeout_ms`. CAIRN_E_MISSING: it is gone. CAIRN_E_LIMIT: it
 * did not stop in time (it sleeps where nothing wakes it, state D); it may stop later, and serve()
 * then lets it go on. */
int cairn_tracer_stop(struct cairn_tracer *tracer, int tid, int timeout_ms, struct cairn_err *err);

/* Of a stopped thread. */
int cairn_tracer_regs(struct cairn_tracer *tracer, int tid, struct cairn_regs *ret_regs,
                      struct cairn_err *err);

/* The same as the kernel gives it for NT_PRSTATUS: the registers of any CPU, in its own layout. */
int cairn_tracer_prstatus(struct cairn_tracer *tracer, int tid, uint8_t ret_raw[CAIRN_PRSTATUS_MAX],
                          size_t *ret_size, struct cairn_err *err);

/* Lets a stopped thread go on. CAIRN_E_MISSING: it was killed meanwhile. */
int cairn_tracer_resume(struct cairn_tracer *tracer, int tid, struct cairn_err *err);

/* What waitpid() gave for the first process once it ended; -1 before that. Nobody else can wait for
 * a child of ours after the tracer has. */
int cairn_tracer_exit_status(const struct cairn_tracer *tracer);

/* For callers that trace without a tracer of the above. */

/* Lets a thread go on from the stop that waitpid() reported as `status`: a signal reaches it, and a
 * group stop (SIGSTOP and the like) stays one. False: it was killed meanwhile. */
bool cairn_ptrace_go_on(int tid, int status);

/* As cairn_tracer_prstatus(), of a thread that the calling thread traces and that is stopped. 0 or
 * an errno. */
int cairn_ptrace_prstatus(int tid, uint8_t ret_raw[CAIRN_PRSTATUS_MAX], size_t *ret_size);

#endif /* CAIRN_PROC_PTRACE_H */
