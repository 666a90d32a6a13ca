/* SPDX-License-Identifier: MIT */
#include "proc/call_threads.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "proc/call_mend.h"
#include "proc/process.h"
#include "proc/threads.h"

enum { SEIZE_ROUNDS_MAX = 100 };
static const uint64_t LEAVE_NS = 500000000;

struct cairn_call_thread *cairn_call_threads_find(const struct cairn_call_stops *stops, int tid)
{
    uint32_t at;
    return cairn_table_find(&stops->by_tid, (uint64_t)tid, &at) ? stops->threads[at] : NULL;
}

struct cairn_call_thread *cairn_call_threads_add(struct cairn_call_stops *stops, int tid)
{
    struct cairn_call_thread *thread = cairn_call_threads_find(stops, tid);
    if (thread)
        return thread;
    if (cairn_grow((void **)&stops->threads, &stops->cap, stops->n + 1, sizeof(void *)) < 0)
        return NULL;
    thread = cairn_alloc(1, sizeof *thread);
    void *data = cairn_alloc(1, stops->watcher.data_bytes);
    if (!thread || !data ||
        cairn_table_set(&stops->by_tid, (uint64_t)tid, (uint32_t)stops->n) < 0) {
        cairn_free(thread);
        cairn_free(data);
        return NULL;
    }
    *thread = (struct cairn_call_thread){.tid = tid, .data = data};
    stops->threads[stops->n++] = thread;
    return thread;
}

void cairn_call_threads_remove(struct cairn_call_stops *stops, struct cairn_call_thread *thread)
{
    uint32_t at;
    if (!cairn_table_find(&stops->by_tid, (uint64_t)thread->tid, &at))
        return;
    struct cairn_call_thread *last = stops->threads[--stops->n];
    stops->threads[at] = last;
    if (last != thread)
        (void)cairn_table_set(&stops->by_tid, (uint64_t)last->tid, at);
    cairn_table_remove(&stops->by_tid, (uint64_t)thread->tid);
    cairn_free(thread->data);
    cairn_free(thread);
}

int cairn_call_threads_take_over(struct cairn_call_stops *stops, struct cairn_call_thread *first,
                                 struct cairn_call_thread *caller)
{
    const struct cairn_call_watcher *w = &stops->watcher;
    void *const data = first->data;
    const bool is_in_call = first->is_in_call;
    first->data = caller->data;
    first->is_in_call = caller->is_in_call;
    caller->data = data;
    caller->is_in_call = is_in_call;
    int code = stops->is_over || caller->is_left_out ? CAIRN_OK : w->gone(w->ctx, caller);
    cairn_call_threads_remove(stops, caller);
    return code;
}

void cairn_call_threads_let_go(struct cairn_call_stops *stops, struct cairn_call_thread *thread,
                               int signal)
{
    (void)ptrace(PTRACE_DETACH, thread->tid, NULL, (long)signal);
    cairn_call_threads_remove(stops, thread);
}

void cairn_call_threads_adopt(struct cairn_call_stops *stops, struct cairn_call_thread *thread)
{
    struct cairn_process_status status;
    if (cairn_process_status(thread->tid, &status, NULL) < 0)
        return; /* killed, too */
    const struct cairn_call_thread *first = cairn_call_threads_find(stops, status.tgid);
    const bool is_thread = status.tgid != thread->tid && first;
    thread->pid = status.tgid;
    thread->is_begun = true; /* before its program has begun a command starts nothing */
    thread->is_left_out = is_thread ? first->is_left_out : stops->no_inherit;
}

void cairn_call_threads_mend(int tid)
{
    if (!cairn_call_has_signals(tid, NULL))
        (void)cairn_call_again(tid);
}

static int fail_seize(int pid, int os_errno, struct cairn_err *err)
{
    int code =
        cairn_fail_os(err, os_errno, "pid %d: its system calls cannot be traced by ptrace", pid);
    if (code == CAIRN_E_ACCESS)
        cairn_process_hint_access(pid, err);
    return code;
}

int cairn_call_stops_command(struct cairn_call_stops *stops, int pid, struct cairn_err *err)
{
    const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
                         PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESECCOMP |
                         PTRACE_O_EXITKILL;
    stops->pid = pid;
    stops->exit_status = -1;
    stops->is_filter = true;
    struct cairn_call_thread *thread = cairn_call_threads_add(stops, pid);
    if (!thread)
        return cairn_fail_memory(err);
    thread->pid = pid;
    if (ptrace(PTRACE_SEIZE, pid, NULL, options) == 0)
        return CAIRN_OK;
    const int os_errno = errno;
    cairn_call_threads_remove(stops, thread);
    return fail_seize(pid, os_errno, err);
}

/* It runs on to the first call that it makes, or to our interrupt. */
static int seize(struct cairn_call_stops *stops, int pid, int tid, long options,
                 struct cairn_err *err)
{
    struct cairn_process_status status;
    struct cairn_call_thread *thread = cairn_call_threads_add(stops, tid);
    if (!thread)
        return cairn_fail_memory(err);
    if (ptrace(PTRACE_SEIZE, tid, NULL, options) == 0) {
        thread->pid = pid;
        thread->is_begun = thread->is_asked = true;
        (void)ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
        return CAIRN_OK;
    }
    const int os_errno = errno;
    cairn_call_threads_remove(stops, thread);
    if (tid != pid && (cairn_process_status(tid, &status, NULL) < 0 || status.state == 'Z'))
        return CAIRN_OK; /* it ended meanwhile */
    return fail_seize(pid, os_errno, err);
}

/* Threads may start while their list is read: again, until a round finds none that is new. */
static int seize_all(struct cairn_call_stops *stops, int pid, long options, struct cairn_err *err)
{
    int code = CAIRN_OK;
    for (int round = 0; round < SEIZE_ROUNDS_MAX && code == CAIRN_OK; round++) {
        struct cairn_threads threads = {0};
        const size_t n_before = stops->n;
        code = cairn_threads_read(pid, &threads, err);
        for (size_t i = 0; code == CAIRN_OK && i < threads.n; i++)
            if (!cairn_call_threads_find(stops, threads.tids[i]))
                code = seize(stops, pid, threads.tids[i], options, err);
        cairn_threads_done(&threads);
        if (stops->n == n_before)
            break;
    }
    return code;
}

int cairn_call_stops_process(struct cairn_call_stops *stops, int pid, int tid,
                             struct cairn_err *err)
{
    long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC;
    if (!tid)
        options |= PTRACE_O_TRACECLONE;
    if (!tid && !stops->no_inherit)
        options |= PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
    if (!stops->pid)
        stops->pid = pid;
    stops->exit_status = -1;
    return tid ? seize(stops, pid, tid, options, err) : seize_all(stops, pid, options, err);
}

/* Each stops once more, is mended, and goes on untraced. One that does not stop in time is let go
 * by the kernel when we end. */
static void leave_all(struct cairn_call_stops *stops)
{
    const uint64_t until_ns = cairn_now_ns() + LEAVE_NS;
    for (size_t i = stops->n; i > 0; i--) {
        struct cairn_call_thread *thread = stops->threads[i - 1];
        if (thread->is_held) /* its stop came already */
            cairn_call_threads_let_go(stops, thread, 0);
        else
            (void)ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL);
    }
    while (stops->n && cairn_now_ns() < until_ns && cairn_call_stops_poll(stops, 20, NULL) > 0)
        ;
}

void cairn_call_stops_end(struct cairn_call_stops *stops)
{
    stops->is_over = true;
    if (!stops->is_filter)
        leave_all(stops);
}

void cairn_call_stops_done(struct cairn_call_stops *stops)
{
    const bool is_filter = stops->is_filter;
    if (stops->n && !is_filter)
        cairn_call_stops_end(stops);
    for (size_t i = 0; is_filter && i < stops->n; i++)
        (void)kill(stops->threads[i]->pid ? stops->threads[i]->pid : stops->threads[i]->tid,
                   SIGKILL);
    stops->is_over = true;
    for (int i = 0; is_filter && stops->n && i < 100; i++)
        (void)cairn_call_stops_poll(stops, 10, NULL);
    while (stops->n)
        cairn_call_threads_remove(stops, stops->threads[stops->n - 1]);
    cairn_free(stops->threads);
    cairn_table_done(&stops->by_tid);
    *stops = (struct cairn_call_stops){0};
}
