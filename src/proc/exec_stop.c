/* SPDX-License-Identifier: MIT */
#include "proc/exec_stop.h"

#include <elf.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "proc/process.h"
#include "proc/ptrace.h"

enum { EVENT_SHIFT = 16, TRAP_OF_PERF = 6 /* TRAP_PERF, Linux 5.13 */ };

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
    stop->is_there = status >> EVENT_SHIFT == PTRACE_EVENT_EXEC;
    if (!stop->is_there)
        (void)cairn_ptrace_go_on(stop->pid, status);
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

/* The thread gets SIGTRAP before the instruction, once. */
static int open_trap(int pid, uint64_t va)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_BREAKPOINT,
                                   .size = sizeof attr,
                                   .bp_type = HW_BREAKPOINT_X,
                                   .bp_addr = va,
                                   .bp_len = sizeof(long),
                                   .sample_period = 1,
                                   .exclude_kernel = 1,
                                   .sigtrap = 1,
                                   .remove_on_exec = 1};
    return (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Signals that come before it are passed on. */
static bool wait_for_trap(struct cairn_exec_stop *stop)
{
    siginfo_t info;
    int status;
    ptrace(PTRACE_CONT, stop->pid, NULL, 0L);
    stop->is_there = false;
    while (waitpid(stop->pid, &status, __WALL) == stop->pid || errno == EINTR) {
        if (!WIFSTOPPED(status))
            return false;
        stop->is_there = status >> EVENT_SHIFT == 0 && WSTOPSIG(status) == SIGTRAP &&
                         ptrace(PTRACE_GETSIGINFO, stop->pid, NULL, &info) == 0 &&
                         info.si_code == TRAP_OF_PERF;
        if (stop->is_there)
            return true;
        pass_on(stop, status);
        if (stop->is_there) /* it called execve(2) in a constructor: that program is another one */
            return false;
    }
    return false;
}

int cairn_exec_stop_run_to_entry(struct cairn_exec_stop *stop, struct cairn_err *err)
{
    uint64_t entry;
    int code = cairn_process_auxv(stop->pid, AT_ENTRY, &entry, err);
    if (code < 0)
        return code;
    const int fd = open_trap(stop->pid, entry);
    if (fd < 0) {
        cairn_fail(err, CAIRN_E_SUPPORT,
                   "the command cannot be held where its libraries are mapped: %s",
                   strerror(errno));
        cairn_hint(err, "it takes a hardware breakpoint; start the command, and give --pid PID");
        return CAIRN_E_SUPPORT;
    }
    const bool is_there = wait_for_trap(stop);
    close(fd);
    if (is_there)
        return CAIRN_OK;
    return cairn_fail(err, CAIRN_E_MISSING, "the command ended before its program began");
}

void cairn_exec_stop_end(struct cairn_exec_stop *stop)
{
    if (stop->pid && stop->is_there)
        ptrace(PTRACE_DETACH, stop->pid, NULL, 0L);
    *stop = (struct cairn_exec_stop){0};
}
