/* SPDX-License-Identifier: MIT */
#include "proc/exec_stop.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "base/error.h"
#include "proc/process.h"

enum { EVENT_SHIFT = 16 };

int cairn_exec_stop_begin(int pid, struct cairn_exec_stop *ret_stop, struct cairn_err *err)
{
    if (ptrace(PTRACE_SEIZE, pid, NULL, (long)PTRACE_O_TRACEEXEC) == 0) {
        *ret_stop = (struct cairn_exec_stop){.pid = pid};
        return CAIRN_OK;
    }
    const int os_errno = errno;
    int code = cairn_fail_os(err, os_errno, "the command cannot be held at its start by ptrace");
    if (code == CAIRN_E_ACCESS)
        cairn_process_hint_access(pid, err);
    return code;
}

/* What waitpid() said before the stop that we want. */
static void pass_on(struct cairn_exec_stop *stop, int status)
{
    if (!WIFSTOPPED(status)) {
        stop->has_ended = true;
        return;
    }
    const int event = status >> EVENT_SHIFT, signal = WSTOPSIG(status);
    stop->is_there = event == PTRACE_EVENT_EXEC;
    if (event == PTRACE_EVENT_STOP && signal != SIGTRAP)
        ptrace(PTRACE_LISTEN, stop->pid, NULL, 0L); /* a job control stop: until SIGCONT */
    else if (!stop->is_there)
        ptrace(PTRACE_CONT, stop->pid, NULL, event ? 0L : (long)signal);
}

static void serve(struct cairn_exec_stop *stop, int options)
{
    int status;
    while (!stop->is_there && !stop->has_ended) {
        const pid_t got = waitpid(stop->pid, &status, __WALL | options);
        if (got == stop->pid)
            pass_on(stop, status);
        else if (got == 0)
            return;
        else if (errno != EINTR)
            stop->has_ended = true;
    }
}

void cairn_exec_stop_serve(void *stop)
{
    serve(stop, WNOHANG);
}

int cairn_exec_stop_wait(struct cairn_exec_stop *stop, struct cairn_err *err)
{
    serve(stop, 0);
    if (stop->is_there)
        return CAIRN_OK;
    stop->pid = 0;
    return cairn_fail(err, CAIRN_E_MISSING, "the command ended before its program began");
}

void cairn_exec_stop_end(struct cairn_exec_stop *stop)
{
    if (stop->pid && stop->is_there)
        ptrace(PTRACE_DETACH, stop->pid, NULL, 0L);
    *stop = (struct cairn_exec_stop){0};
}
