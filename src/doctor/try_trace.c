/* SPDX-License-Identifier: MIT */
/* Attempts to trace system calls, one for each method. */
#include <errno.h>
#include <stddef.h>

#include <cairn/trace.h>

#include "doctor/tries.h"

static const char *const events[] = {"syscall:getppid"};

/* From start to end. */
static int try_trace(struct cairn_trace_opts *opts, struct cairn_doctor_answer *answer)
{
    struct cairn_trace *trace;
    struct cairn_err err = {0};
    opts->size = sizeof *opts;
    opts->events = events;
    opts->n_events = 1;
    opts->sums_only = 1;
    opts->enter_only = 1; /* fewer programs to load */
    int code = cairn_trace_new(opts, &trace, &err);
    if (code < 0)
        return cairn_try_refuse(&err, answer);
    code = cairn_trace_start(trace, &err);
    if (code == CAIRN_OK)
        code = cairn_trace_finish(trace, &err);
    cairn_trace_free(trace);
    return code < 0 ? cairn_try_refuse(&err, answer) : 0;
}

int cairn_try_trace_bpf(const struct cairn_doctor_subject *subject,
                        struct cairn_doctor_answer *answer)
{
    struct cairn_trace_opts opts = {.pids = &subject->pid, .n_pids = 1, .way = CAIRN_TRACE_WAY_BPF};
    return try_trace(&opts, answer);
}

int cairn_try_trace_perf(const struct cairn_doctor_subject *subject,
                         struct cairn_doctor_answer *answer)
{
    struct cairn_trace_opts opts = {
        .pids = &subject->pid, .n_pids = 1, .way = CAIRN_TRACE_WAY_PERF};
    return try_trace(&opts, answer);
}

int cairn_try_trace_ptrace(const struct cairn_doctor_subject *subject,
                           struct cairn_doctor_answer *answer)
{
    struct cairn_trace_opts opts = {
        .pids = &subject->pid, .n_pids = 1, .way = CAIRN_TRACE_WAY_PTRACE};
    return try_trace(&opts, answer);
}

/* The program is missing on purpose: the child installs its filter before execve(2) fails. */
int cairn_try_trace_seccomp(const struct cairn_doctor_subject *subject,
                            struct cairn_doctor_answer *answer)
{
    (void)subject;
    char name[] = "/proc/self/none", *argv[] = {name, NULL};
    struct cairn_trace_opts opts = {.argv = argv, .way = CAIRN_TRACE_WAY_PTRACE};
    const int os_errno = try_trace(&opts, answer);
    if (os_errno != ENOENT)
        return os_errno;
    *answer = (struct cairn_doctor_answer){0};
    return 0;
}
