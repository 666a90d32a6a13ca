/* SPDX-License-Identifier: MIT */
/*
 * What a traced thread may tell by waitpid(), status >> 8 (ptrace(2)):
 *
 *     SIG                          a signal is about to reach it: hand it on with PTRACE_CONT
 *     SIGTRAP | EVENT_STOP << 8    our PTRACE_INTERRUPT, its birth, or SIGCONT ended a stop
 *     SIGSTOP.. | EVENT_STOP << 8  a group stop: PTRACE_LISTEN keeps it stopped, as it should be
 *     SIGTRAP | EVENT_CLONE << 8   it started a thread or a process: one more tracee
 *     SIGTRAP | EVENT_EXEC << 8    a new program; its other threads are gone
 *
 * Any of them is a stop, and any of them ends a pending PTRACE_INTERRUPT, so whatever comes first
 * serves to look at the registers.
 */
#include "proc/ptrace.h"

#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "proc/process.h"
#include "proc/threads.h"

/* NEWS_MAX: a thread that gets signals without end must not keep us from the others. */
enum {
    SEIZE_ROUNDS_MAX = 100,
    NEWS_MAX = 16,
    DETACH_TIMEOUT_MS = 100,
    YIELDS = 64,
    NAP_NS = 50000
};

struct cairn_tracer {
    int pid;
    int exit_status; /* of `pid`; -1 while it lives */
    uintptr_t options;
    cairn_tracer_exec_fn on_exec; /* NULL: no caller asked */
    void *exec_ctx;
    struct cairn_tracee *tracees; /* in no order */
    size_t n, cap;
};

static struct cairn_tracee *find_tracee(struct cairn_tracer *tracer, int tid)
{
    for (size_t i = 0; i < tracer->n; i++)
        if (tracer->tracees[i].tid == tid)
            return &tracer->tracees[i];
    return NULL;
}

static int add_tracee(struct cairn_tracer *tracer, int tid, int pid, struct cairn_err *err)
{
    if (find_tracee(tracer, tid))
        return CAIRN_OK;
    if (tracer->n == CAIRN_TRACEES_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, "pid %d: more than %d threads to trace", tracer->pid,
                          CAIRN_TRACEES_MAX);
    if (cairn_grow((void **)&tracer->tracees, &tracer->cap, tracer->n + 1,
                   sizeof *tracer->tracees) < 0)
        return cairn_fail_memory(err);
    tracer->tracees[tracer->n++] = (struct cairn_tracee){.tid = tid, .pid = pid};
    return CAIRN_OK;
}

static void remove_tracee(struct cairn_tracer *tracer, int tid)
{
    struct cairn_tracee *tracee = find_tracee(tracer, tid);
    if (tracee)
        *tracee = tracer->tracees[--tracer->n];
}

static int fail_seize(int pid, int os_errno, struct cairn_err *err)
{
    int code = cairn_fail_os(err, os_errno, "pid %d: cannot be traced", pid);
    if (code == CAIRN_E_ACCESS)
        cairn_process_hint_access(pid, err);
    return code;
}

/* Ours already, since the thread that started it was ours, or dead with its name still listed? */
static bool needs_no_seizing(int tid)
{
    struct cairn_process_status status;
    if (cairn_process_status(tid, &status, NULL) < 0)
        return true;
    return status.tracer_pid == gettid() || status.state == 'Z' || status.state == 'X';
}

static int seize(struct cairn_tracer *tracer, int tid, struct cairn_err *err)
{
    int result = add_tracee(tracer, tid, tracer->pid, err);
    if (result < 0 || ptrace(PTRACE_SEIZE, tid, NULL, tracer->options) == 0)
        return result;
    int os_errno = errno;
    remove_tracee(tracer, tid);
    return needs_no_seizing(tid) ? CAIRN_OK : fail_seize(tracer->pid, os_errno, err);
}

/* Threads may start while their list is read: again, until a round finds none that is new. */
static int seize_all(struct cairn_tracer *tracer, struct cairn_err *err)
{
    for (int round = 0; round < SEIZE_ROUNDS_MAX; round++) {
        struct cairn_threads threads = {0};
        size_t n_before = tracer->n;
        int result = cairn_threads_read(tracer->pid, &threads, err);
        for (size_t i = 0; result == CAIRN_OK && i < threads.n; i++)
            if (!find_tracee(tracer, threads.tids[i]))
                result = seize(tracer, threads.tids[i], err);
        cairn_threads_done(&threads);
        if (result < 0 || tracer->n == n_before)
            return result;
    }
    return CAIRN_OK;
}

int cairn_tracer_new(int pid, unsigned flags, struct cairn_tracer **ret_tracer,
                     struct cairn_err *err)
{
    struct cairn_tracer *tracer = cairn_alloc(1, sizeof *tracer);
    if (!tracer)
        return cairn_fail_memory(err);
    tracer->pid = pid;
    tracer->exit_status = -1;
    if (!(flags & CAIRN_TRACER_ONE_THREAD))
        tracer->options = PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;
    if (flags & CAIRN_TRACER_CHILDREN)
        tracer->options |= PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
    int result = flags & CAIRN_TRACER_ONE_THREAD ? seize(tracer, pid, err) : seize_all(tracer, err);
    if (result == CAIRN_OK && !tracer->n)
        result = cairn_fail_os(err, ESRCH, "pid %d: has ended", pid);
    if (result < 0)
        cairn_tracer_free(tracer);
    else
        *ret_tracer = tracer;
    return result;
}

void cairn_tracer_on_exec(struct cairn_tracer *tracer, cairn_tracer_exec_fn on_exec, void *ctx)
{
    tracer->on_exec = on_exec;
    tracer->exec_ctx = ctx;
}

/* A new thread or process, which the kernel has attached to us already. */
static void add_newborn(struct cairn_tracer *tracer, int tid, int parent_pid)
{
    struct cairn_process_status status;
    int pid = cairn_process_status(tid, &status, NULL) == CAIRN_OK ? status.tgid : parent_pid;
    struct cairn_err err;
    if (add_tracee(tracer, tid, pid, &err) == CAIRN_OK)
        return;
    /* It must not hang for want of an answer: wait for the stop it is born with, and let it go. */
    cairn_log_err(CAIRN_LOG_WARNING, &err);
    int wait_status;
    if (waitpid(tid, &wait_status, __WALL) == tid && WIFSTOPPED(wait_status))
        ptrace(PTRACE_DETACH, tid, NULL, 0L);
}

static bool holds(int signal_number)
{
    return signal_number == SIGSTOP || signal_number == SIGTSTP || signal_number == SIGTTIN ||
           signal_number == SIGTTOU;
}

/* What will let it go on? */
static void note_status(struct cairn_tracee *tracee, int status)
{
    int event = status >> 16, signal_number = WSTOPSIG(status);
    tracee->held = event == PTRACE_EVENT_STOP && holds(signal_number);
    tracee->interrupted = event == PTRACE_EVENT_STOP && !tracee->held;
    tracee->resume_with = event == 0 ? signal_number : 0;
}

/* The tracee `tid` stopped for `status`. Tracees may move. */
static void note_stop(struct cairn_tracer *tracer, int tid, int status)
{
    struct cairn_tracee *tracee = find_tracee(tracer, tid);
    note_status(tracee, status);
    unsigned long message = 0;
    switch (status >> 16) {
    case PTRACE_EVENT_CLONE:
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK:
        if (ptrace(PTRACE_GETEVENTMSG, tid, NULL, &message) == 0)
            add_newborn(tracer, (int)message, tracee->pid);
        break;
    case PTRACE_EVENT_EXEC:
        /* Whoever called execve() goes on under the tid of the process. */
        if (ptrace(PTRACE_GETEVENTMSG, tid, NULL, &message) == 0 && (int)message != tid)
            remove_tracee(tracer, (int)message);
        if (tracer->on_exec)
            tracer->on_exec(tracer->exec_ctx, tid);
        break;
    }
}

/* Takes what `tid` has to tell, without waiting: 1 it stopped, 0 nothing, -1 it is gone. */
static int take_news(struct cairn_tracer *tracer, int tid)
{
    int status;
    pid_t got;
    do
        got = waitpid(tid, &status, __WALL | WNOHANG);
    while (got < 0 && errno == EINTR);
    if (got == 0)
        return 0;
    if (got == tid && WIFSTOPPED(status)) {
        note_stop(tracer, tid, status);
        return 1;
    }
    if (got == tid && tid == tracer->pid)
        tracer->exit_status = status;
    remove_tracee(tracer, tid);
    return -1;
}

static void mend(const struct cairn_tracee *tracee)
{
    if (tracee->interrupted)
        (void)cairn_call_mend(tracee->tid, &tracee->seen);
}

static bool go_on(const struct cairn_tracee *tracee)
{
    mend(tracee);
    return ptrace(tracee->held ? PTRACE_LISTEN : PTRACE_CONT, tracee->tid, NULL,
                  tracee->held ? 0L : (long)tracee->resume_with) == 0;
}

bool cairn_ptrace_go_on(int tid, int status)
{
    struct cairn_tracee tracee = {.tid = tid};
    note_status(&tracee, status);
    return go_on(&tracee);
}

int cairn_ptrace_prstatus(int tid, uint8_t ret_raw[CAIRN_PRSTATUS_MAX], size_t *ret_size)
{
    struct iovec io = {ret_raw, CAIRN_PRSTATUS_MAX};
    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &io) < 0)
        return errno;
    *ret_size = io.iov_len;
    return 0;
}

bool cairn_tracer_serve(struct cairn_tracer *tracer)
{
    for (size_t i = 0; i < tracer->n; i++) {
        int tid = tracer->tracees[i].tid;
        int news = tracer->tracees[i].stopped ? 0 : take_news(tracer, tid);
        for (int n = 1; news > 0 && n <= NEWS_MAX; n++) {
            go_on(find_tracee(tracer, tid));
            news = n < NEWS_MAX ? take_news(tracer, tid) : 0;
        }
        if (news < 0)
            i--; /* another tracee stands in its place now */
    }
    return tracer->n > 0;
}

size_t cairn_tracer_threads(const struct cairn_tracer *tracer,
                            const struct cairn_tracee **ret_tracees)
{
    *ret_tracees = tracer->tracees;
    return tracer->n;
}

/* A running thread needs some microseconds until it stops: look often first, then in naps. */
static int await_stop(struct cairn_tracer *tracer, int tid, int timeout_ms)
{
    uint64_t deadline_ns = cairn_now_ns() + (uint64_t)timeout_ms * 1000000u;
    for (int tries = 0;; tries++) {
        int news = take_news(tracer, tid);
        if (news != 0 || cairn_now_ns() >= deadline_ns)
            return news;
        if (tries < YIELDS)
            sched_yield();
        else
            nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    }
}

static int fail_gone(int tid, struct cairn_err *err)
{
    return cairn_fail_os(err, ESRCH, "thread %d", tid);
}

int cairn_tracer_stop(struct cairn_tracer *tracer, int tid, int timeout_ms, struct cairn_err *err)
{
    struct cairn_tracee *tracee = find_tracee(tracer, tid);
    if (!tracee)
        return fail_gone(tid, err);
    if (tracee->stopped)
        return CAIRN_OK;
    cairn_call_see(tid, &tracee->seen);
    /* It fails where the thread stands at a stop that is not answered yet, which is as good, or
     * where it is dying. */
    bool interrupted = ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0;
    int news = await_stop(tracer, tid, interrupted ? timeout_ms : 0);
    if (news < 0 || (news == 0 && !interrupted))
        return fail_gone(tid, err);
    if (news == 0)
        return cairn_fail(err, CAIRN_E_LIMIT, "thread %d: did not stop within %d ms", tid,
                          timeout_ms);
    find_tracee(tracer, tid)->stopped = true;
    return CAIRN_OK;
}

int cairn_tracer_prstatus(struct cairn_tracer *tracer, int tid, uint8_t ret_raw[CAIRN_PRSTATUS_MAX],
                          size_t *ret_size, struct cairn_err *err)
{
    const struct cairn_tracee *tracee = find_tracee(tracer, tid);
    if (!tracee || !tracee->stopped)
        return cairn_fail(err, CAIRN_E_ARG, "thread %d: is not stopped", tid);
    int os_errno = cairn_ptrace_prstatus(tid, ret_raw, ret_size);
    return os_errno ? cairn_fail_os(err, os_errno, "thread %d: cannot read its registers", tid)
                    : CAIRN_OK;
}

int cairn_tracer_regs(struct cairn_tracer *tracer, int tid, struct cairn_regs *ret_regs,
                      struct cairn_err *err)
{
    uint8_t raw[CAIRN_PRSTATUS_MAX];
    size_t size = 0;
    int code = cairn_tracer_prstatus(tracer, tid, raw, &size, err);
    if (code == CAIRN_OK && !cairn_regs_read((struct cairn_span){raw, size}, ret_regs))
        code = cairn_fail(err, CAIRN_E_SUPPORT,
                          "thread %d: %zu bytes of registers, of no CPU that is known here", tid,
                          size);
    return code;
}

int cairn_tracer_resume(struct cairn_tracer *tracer, int tid, struct cairn_err *err)
{
    struct cairn_tracee *tracee = find_tracee(tracer, tid);
    if (!tracee || !tracee->stopped)
        return cairn_fail(err, CAIRN_E_ARG, "thread %d: is not stopped", tid);
    tracee->stopped = false;
    return go_on(tracee) ? CAIRN_OK : fail_gone(tid, err);
}

int cairn_tracer_exit_status(const struct cairn_tracer *tracer)
{
    return tracer->exit_status;
}

/* A thread detaches only from a stop. One that will not stop is let go by the kernel when we end.
 */
static void detach(struct cairn_tracer *tracer, int tid)
{
    struct cairn_err err;
    int result = cairn_tracer_stop(tracer, tid, DETACH_TIMEOUT_MS, &err);
    const struct cairn_tracee *tracee = find_tracee(tracer, tid);
    if (result == CAIRN_OK && tracee) {
        mend(tracee);
        ptrace(PTRACE_DETACH, tid, NULL, (long)tracee->resume_with);
    } else if (result == CAIRN_E_LIMIT)
        cairn_log_err(CAIRN_LOG_WARNING, &err);
    remove_tracee(tracer, tid);
}

void cairn_tracer_free(struct cairn_tracer *tracer)
{
    if (!tracer)
        return;
    while (tracer->n)
        detach(tracer, tracer->tracees[tracer->n - 1].tid);
    cairn_free(tracer->tracees);
    cairn_free(tracer);
}
