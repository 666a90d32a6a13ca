/* SPDX-License-Identifier: MIT */
#include "proc/call_stops.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "proc/call_threads.h"
#include "proc/process.h"

enum {
    EVENT_SHIFT = 16,
    CALL_STOP = SIGTRAP | 0x80, /* PTRACE_O_TRACESYSGOOD */
    NAP_MS = 50,
    BURST = 64,                       /* stops between two looks at the clock */
    NO_THREADS_OF_OTHERS = 0x20000000 /* __WNOTHREAD */
};
static const uint64_t HELD_NS = 1000000000;

/* It fails for a thread that was killed meanwhile: waitpid() reports its end. */
static void resume(const struct cairn_call_stops *stops, const struct cairn_call_thread *thread,
                   int signal)
{
    const bool stops_next = thread->is_in_call || (!stops->is_filter && !stops->is_over);
    (void)ptrace(stops_next ? PTRACE_SYSCALL : PTRACE_CONT, thread->tid, NULL, (long)signal);
}

static bool read_call(int tid, struct cairn_stopped_call *ret_call, bool *ret_ends)
{
    struct __ptrace_syscall_info info;
    long n = ptrace(PTRACE_GET_SYSCALL_INFO, tid, (void *)sizeof info, &info);
    if (n <= 0)
        return false;
    *ret_call = (struct cairn_stopped_call){.arch = info.arch};
    *ret_ends = info.op == PTRACE_SYSCALL_INFO_EXIT;
    if (*ret_ends)
        ret_call->result = info.exit.rval;
    else if (info.op == PTRACE_SYSCALL_INFO_ENTRY || info.op == PTRACE_SYSCALL_INFO_SECCOMP)
        ret_call->number = info.entry.nr; /* the same place as of seccomp */
    else
        return false;
    for (int i = 0; i < 6 && !*ret_ends; i++)
        ret_call->args[i] = info.entry.args[i];
    return true;
}

/* Where a call begins or ends. */
static int on_call(struct cairn_call_stops *stops, struct cairn_call_thread *thread)
{
    const struct cairn_call_watcher *w = &stops->watcher;
    struct cairn_stopped_call call;
    bool ends;
    int answer = CAIRN_CALL_GO_ON;
    const uint64_t began_ns = cairn_now_ns();
    if (!thread->is_begun || stops->is_over || !read_call(thread->tid, &call, &ends)) {
        thread->is_in_call = false;
    } else if (ends) {
        if (thread->is_in_call)
            answer = w->leave(w->ctx, thread, &call);
        thread->is_in_call = false;
    } else if (!thread->is_left_out) {
        answer = w->enter(w->ctx, thread, &call);
        thread->is_in_call = answer > 0 && answer & CAIRN_CALL_TO_ITS_END;
    }
    resume(stops, thread, 0);
    stops->stop_ns += cairn_now_ns() - began_ns;
    cairn_call_cpu_follow(&stops->cpu, thread->tid);
    if (answer < 0)
        return answer;
    return answer & CAIRN_CALL_TELL ? w->resumed(w->ctx, thread) : CAIRN_OK;
}

/* A thread of its own process, or of a new one? */
static bool is_thread_of(int pid, int tid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d", pid, tid);
    return faccessat(AT_FDCWD, path, F_OK, 0) == 0;
}

static void release(struct cairn_call_stops *stops, struct cairn_call_thread *thread)
{
    if (thread->is_left_out && !stops->is_filter) {
        cairn_call_threads_let_go(stops, thread, 0);
        return;
    }
    thread->is_held = false;
    resume(stops, thread, 0);
}

/* It started a thread, whose own first stop may have come already, or its end if it was killed. */
static int on_child(struct cairn_call_stops *stops, struct cairn_call_thread *parent, int event)
{
    const struct cairn_call_watcher *w = &stops->watcher;
    unsigned long tid = 0;
    int code = CAIRN_OK;
    if (ptrace(PTRACE_GETEVENTMSG, parent->tid, NULL, &tid) < 0 ||
        (!cairn_call_threads_find(stops, (int)tid) && kill((pid_t)tid, 0) < 0 && errno == ESRCH)) {
        resume(stops, parent, 0);
        return CAIRN_OK;
    }
    struct cairn_call_thread *child = cairn_call_threads_add(stops, (int)tid);
    if (!child)
        return CAIRN_E_NOMEM;
    const bool is_thread = event == PTRACE_EVENT_CLONE && is_thread_of(parent->pid, (int)tid);
    child->pid = is_thread ? parent->pid : (int)tid;
    child->is_begun = parent->is_begun;
    child->is_left_out = parent->is_left_out || (!is_thread && stops->no_inherit);
    if (!stops->is_over && !child->is_left_out)
        code = w->born(w->ctx, parent, child);
    if (child->is_held)
        release(stops, child);
    resume(stops, parent, 0);
    return code;
}

/* Its other threads have ended, and it has the number of the first one. */
static int on_exec(struct cairn_call_stops *stops, struct cairn_call_thread *thread)
{
    const struct cairn_call_watcher *w = &stops->watcher;
    unsigned long former = 0;
    int code = CAIRN_OK;
    (void)ptrace(PTRACE_GETEVENTMSG, thread->tid, NULL, &former);
    struct cairn_call_thread *caller = cairn_call_threads_find(stops, (int)former);
    if (caller && caller != thread)
        code = cairn_call_threads_take_over(stops, thread, caller);
    thread->is_begun = true;
    if (code == CAIRN_OK && !stops->is_over && !thread->is_left_out)
        code = w->replaced(w->ctx, thread);
    resume(stops, thread, 0);
    return code;
}

/* A stop that is neither a call nor a signal: its birth, an interrupt of ours, or SIGSTOP. */
static void on_stop(struct cairn_call_stops *stops, struct cairn_call_thread *thread, int signal)
{
    if (thread->is_asked)
        cairn_call_threads_mend(thread->tid);
    thread->is_asked = false;
    if (!thread->pid) {
        thread->is_held = true;
        thread->held_ns = cairn_now_ns();
        stops->look_ns = stops->look_ns ? stops->look_ns : thread->held_ns + HELD_NS;
    } else if (signal != SIGTRAP) {
        (void)ptrace(PTRACE_LISTEN, thread->tid, NULL, 0L);
    } else {
        release(stops, thread);
    }
}

/* What it has just started is traced, too, and is to be let go at its own stop. */
static void expect_child(struct cairn_call_stops *stops, int parent)
{
    struct cairn_process_status status;
    unsigned long tid = 0;
    if (ptrace(PTRACE_GETEVENTMSG, parent, NULL, &tid) == 0 &&
        cairn_process_status((int)tid, &status, NULL) == CAIRN_OK && status.tracer_pid)
        (void)cairn_call_threads_add(stops, (int)tid);
}

/* Whatever stop comes first has taken the place of the one that was asked for. */
static void on_last_stop(struct cairn_call_stops *stops, struct cairn_call_thread *thread,
                         int event, int signal)
{
    const bool is_signal = event == 0 && signal != CALL_STOP;
    if (!is_signal) /* also where the call ends that the interrupt has ended */
        cairn_call_threads_mend(thread->tid);
    if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK)
        expect_child(stops, thread->tid);
    cairn_call_threads_let_go(stops, thread, is_signal ? signal : 0);
}

static int on_stopped(struct cairn_call_stops *stops, struct cairn_call_thread *thread, int status)
{
    const int event = status >> EVENT_SHIFT, signal = WSTOPSIG(status);
    if (stops->is_over && !stops->is_filter) {
        on_last_stop(stops, thread, event, signal);
        return CAIRN_OK;
    }
    switch (event) {
    case 0:
        if (signal == CALL_STOP)
            return on_call(stops, thread);
        resume(stops, thread, signal);
        return CAIRN_OK;
    case PTRACE_EVENT_SECCOMP:
        return on_call(stops, thread);
    case PTRACE_EVENT_CLONE:
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK:
        return on_child(stops, thread, event);
    case PTRACE_EVENT_EXEC:
        return on_exec(stops, thread);
    case PTRACE_EVENT_STOP:
        on_stop(stops, thread, signal);
        return CAIRN_OK;
    default:
        resume(stops, thread, 0);
        return CAIRN_OK;
    }
}

static int on_end(struct cairn_call_stops *stops, struct cairn_call_thread *thread, int status)
{
    const struct cairn_call_watcher *w = &stops->watcher;
    int code = CAIRN_OK;
    if (thread->tid == stops->pid)
        stops->exit_status = status;
    if (thread->is_begun && !thread->is_left_out && !stops->is_over)
        code = w->gone(w->ctx, thread);
    cairn_call_threads_remove(stops, thread);
    return code;
}

static int on_news(struct cairn_call_stops *stops, int tid, int status)
{
    struct cairn_call_thread *thread = cairn_call_threads_find(stops, tid);
    if (!thread && !WIFSTOPPED(status))
        return CAIRN_OK; /* another child, or one whose number another has taken by execve(2) */
    if (!thread)
        thread = cairn_call_threads_add(stops, tid);
    if (!thread)
        return CAIRN_E_NOMEM;
    return WIFSTOPPED(status) ? on_stopped(stops, thread, status) : on_end(stops, thread, status);
}

/* Until a child has news, at most until then. */
static bool wait_for_news(uint64_t until_ns)
{
    sigset_t child;
    const uint64_t now_ns = cairn_now_ns();
    uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    if (!left_ns)
        return false;
    if (left_ns > NAP_MS * CAIRN_NS_PER_MS) /* a caller that ignores SIGCHLD gets none */
        left_ns = NAP_MS * CAIRN_NS_PER_MS;
    const struct timespec left = {0, (long)left_ns};
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    return sigtimedwait(&child, NULL, &left) >= 0 || errno == EAGAIN;
}

/* Nothing is pending: no event of a parent will come for a thread that was held that long. */
static void look_at_held(struct cairn_call_stops *stops)
{
    const uint64_t now_ns = cairn_now_ns();
    if (!stops->look_ns || now_ns < stops->look_ns)
        return;
    stops->look_ns = 0;
    for (size_t i = stops->n; i > 0; i--) {
        struct cairn_call_thread *thread = stops->threads[i - 1];
        if (thread->is_held && now_ns - thread->held_ns >= HELD_NS) {
            cairn_call_threads_adopt(stops, thread);
            release(stops, thread);
        } else if (thread->is_held) {
            stops->look_ns = now_ns + HELD_NS;
        }
    }
}

static int serve(struct cairn_call_stops *stops, uint64_t until_ns)
{
    for (unsigned n = 0; stops->n;) {
        int status;
        const pid_t tid = waitpid(-1, &status, __WALL | WNOHANG | NO_THREADS_OF_OTHERS);
        if (tid > 0) {
            int code = on_news(stops, tid, status);
            if (code < 0 || code > 1)
                return code;
            if (++n % BURST == 0 && cairn_now_ns() >= until_ns)
                return 1;
        } else if (tid < 0 && errno != EINTR) {
            return 0;
        } else {
            look_at_held(stops);
            if (!wait_for_news(until_ns))
                return 1;
        }
    }
    return 0;
}

int cairn_call_stops_poll(struct cairn_call_stops *stops, int timeout_ms, struct cairn_err *err)
{
    sigset_t child, before;
    const uint64_t until_ns = cairn_now_ns() + (uint64_t)timeout_ms * CAIRN_NS_PER_MS;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &child, &before);
    int code = serve(stops, until_ns);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    cairn_call_cpu_leave(&stops->cpu);
    return code == CAIRN_E_NOMEM ? cairn_fail_memory(err) : code;
}
