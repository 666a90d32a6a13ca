/* SPDX-License-Identifier: MIT */
#include "attach/filters.h"

#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>

#include "attach/filter.h"
#include "attach/hold.h"
#include "attach/late_calls.h"
#include "attach/wait.h"
#include "base/error.h"
#include "proc/threads.h"

#ifndef PTRACE_SECCOMP_GET_FILTER
#define PTRACE_SECCOMP_GET_FILTER 0x420c
#endif

enum {
    PROGRAMS_MAX = 256, /* of a thread; the kernel counts instructions, 32,768 of them */
    KNOWN_MAX = 32      /* sets of programs that were found harmless */
};
#define ANYWHERE UINT64_C(0x7f1234567000) /* an address */

/* The programs of a thread, the oldest first. */
struct programs {
    struct cairn_buffer insns; /* of all, and behind them `sizes`, to be compared as one */
    uint32_t sizes[PROGRAMS_MAX];
    size_t n;
};

struct check {
    const struct cairn_target_process *target;
    struct cairn_filters_found found;
    struct programs programs;
    struct cairn_buffer known[KNOWN_MAX];
    size_t n_known;
};

int cairn_filters_are_there(int pid, bool *ret_there, struct cairn_err *err)
{
    struct cairn_process_status status;
    struct cairn_threads threads = {0};
    int result = cairn_threads_read(pid, &threads, err);
    *ret_there = false;
    for (size_t i = 0; result == CAIRN_OK && !*ret_there && i < threads.n; i++)
        *ret_there =
            cairn_process_status(threads.tids[i], &status, NULL) == CAIRN_OK && status.seccomp > 0;
    cairn_threads_done(&threads);
    return result;
}

static int fail_read(int pid, int tid, int os_errno, struct cairn_err *err)
{
    int code = cairn_fail_os(err, os_errno,
                             "pid %d: thread %d has a filter of system calls (seccomp), which may "
                             "end it for ours, and cannot be read",
                             pid, tid);
    cairn_hint(err,
               "root can read it from outside of containers (CAP_SYS_ADMIN); or start it under "
               "the tracker: cairn heap run -- COMMAND");
    return code;
}

/* Of a thread that is held. */
static int read_programs(struct check *c, int tid, struct cairn_err *err)
{
    struct programs *p = &c->programs;
    cairn_buffer_clear(&p->insns);
    for (p->n = 0; p->n < PROGRAMS_MAX; p->n++) {
        long n = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, (void *)p->n, NULL);
        if (n < 0 && errno == ENOENT && p->n > 0) {
            cairn_buffer_add(&p->insns, p->sizes, p->n * sizeof p->sizes[0]);
            return p->insns.failed ? cairn_fail_memory(err) : CAIRN_OK;
        }
        if (n <= 0)
            return fail_read(c->target->pid, tid, n < 0 ? errno : ENODATA, err);
        const size_t bytes = (size_t)n * sizeof(struct sock_filter);
        if (!cairn_buffer_reserve(&p->insns, bytes))
            return cairn_fail_memory(err);
        long got =
            ptrace(PTRACE_SECCOMP_GET_FILTER, tid, (void *)p->n, p->insns.data + p->insns.size);
        if (got != n)
            return fail_read(c->target->pid, tid, got < 0 ? errno : ENODATA, err);
        p->insns.size += bytes;
        p->sizes[p->n] = (uint32_t)n;
    }
    return cairn_fail(err, CAIRN_E_LIMIT, "pid %d: thread %d has more than %d filters",
                      c->target->pid, tid, PROGRAMS_MAX);
}

static int hold_and_read(struct check *c, int tid, struct cairn_err *err)
{
    struct cairn_stilled held;
    struct cairn_hurry hurry;
    cairn_hurry_begin(&hurry);
    int end = CAIRN_OK;
    int result = cairn_hold_begin(c->target->pid, tid, c->target->call_va, false, &held, err);
    const bool is_held = result == CAIRN_OK;
    if (is_held) {
        result = read_programs(c, tid, err);
        end = cairn_hold_end(&held, result < 0 ? NULL : err);
    }
    cairn_hurry_end(&hurry);
    if (!is_held)
        return result;
    if (held.held_ns > c->found.held_ns)
        c->found.held_ns = held.held_ns;
    return result < 0 ? result : end;
}

/* What all programs say together. */
static int ask(const struct programs *p, const struct seccomp_data *call, uint32_t *ret_answer,
               struct cairn_err *err)
{
    const struct sock_filter *insns = (const void *)p->insns.data;
    *ret_answer = SECCOMP_RET_ALLOW;
    for (size_t i = 0; i < p->n; i++) {
        uint32_t answer;
        int result = cairn_filter_run(insns, p->sizes[i], call, &answer, err);
        if (result < 0)
            return result;
        *ret_answer = cairn_filter_stronger(answer, *ret_answer);
        insns += p->sizes[i];
    }
    return CAIRN_OK;
}

/* NULL: nothing. */
static const char *harm_of(uint32_t answer, bool is_needed)
{
    switch (answer & SECCOMP_RET_ACTION_FULL) {
    case SECCOMP_RET_ALLOW:
    case SECCOMP_RET_LOG:
        return NULL;
    case SECCOMP_RET_ERRNO:
        /* Calls that were interrupted are made again, for ever. */
        if ((answer & SECCOMP_RET_DATA) == EINTR)
            return "interrupts";
        return is_needed ? "refuses" : NULL;
    case SECCOMP_RET_TRAP:
        return "sends a signal (SIGSYS) for";
    case SECCOMP_RET_USER_NOTIF:
    case SECCOMP_RET_TRACE:
        return "asks another process about";
    default:
        return "ends it for";
    }
}

static int fail_harm(const struct check *c, int tid, const char *harm,
                     const struct cairn_late_call *call, struct cairn_err *err)
{
    cairn_fail(err, CAIRN_E_SUPPORT,
               "pid %d: a filter of system calls (seccomp) of thread %d %s %s, which the tracker "
               "calls",
               c->target->pid, tid, harm, call->name);
    cairn_hint(err, "start it under the tracker: cairn heap run -- COMMAND");
    return CAIRN_E_SUPPORT;
}

/* A filter may look at the address of the instruction, too. Ours is not known yet: such a filter
 * knows the program's own. */
static int judge_call(struct check *c, int tid, const struct cairn_late_call *late,
                      struct cairn_err *err)
{
    struct seccomp_data call = {
        .nr = late->number, .arch = cairn_cpu_audit, .instruction_pointer = c->target->call_va};
    struct cairn_err why;
    memcpy(call.args, late->args, sizeof call.args);
    for (int place = 0; place < 2; place++) {
        uint32_t answer;
        if (ask(&c->programs, &call, &answer, &why) < 0)
            return cairn_fail(err, CAIRN_E_SUPPORT, "pid %d: thread %d: %s", c->target->pid, tid,
                              why.msg);
        const char *harm = harm_of(answer, late->is_needed);
        if (harm)
            return fail_harm(c, tid, harm, late, err);
        if ((answer & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO)
            c->found.lost = late->name;
        call.instruction_pointer = ANYWHERE;
    }
    return CAIRN_OK;
}

static bool is_known(const struct check *c)
{
    const struct cairn_buffer *insns = &c->programs.insns;
    for (size_t i = 0; i < c->n_known; i++)
        if (c->known[i].size == insns->size &&
            memcmp(c->known[i].data, insns->data, insns->size) == 0)
            return true;
    return false;
}

static int judge(struct check *c, int tid, struct cairn_err *err)
{
    if (is_known(c))
        return CAIRN_OK;
    for (size_t i = 0; i < cairn_late_calls_n; i++) {
        int result = judge_call(c, tid, &cairn_late_calls[i], err);
        if (result < 0)
            return result;
    }
    c->found.n_programs += c->programs.n;
    if (c->n_known < KNOWN_MAX) {
        struct cairn_buffer *known = &c->known[c->n_known++];
        cairn_buffer_add(known, c->programs.insns.data, c->programs.insns.size);
        if (known->failed)
            return cairn_fail_memory(err);
    }
    return CAIRN_OK;
}

static int check_thread(struct check *c, int tid, struct cairn_err *err)
{
    enum { STRICT = 1 };
    struct cairn_process_status status;
    if (cairn_process_status(tid, &status, NULL) < 0 || status.seccomp <= 0)
        return CAIRN_OK;
    if (status.seccomp == STRICT)
        return cairn_fail(err, CAIRN_E_SUPPORT,
                          "pid %d: thread %d may only read and write (seccomp, strict mode): the "
                          "tracker cannot get memory",
                          c->target->pid, tid);
    int result = hold_and_read(c, tid, err);
    if (result == CAIRN_OK)
        result = judge(c, tid, err);
    else if (result == CAIRN_E_MISSING && cairn_process_status(tid, &status, NULL) < 0)
        return CAIRN_OK; /* it ended: the others are who matters */
    c->found.n_threads += result == CAIRN_OK;
    return result;
}

int cairn_filters_check(const struct cairn_target_process *target,
                        struct cairn_filters_found *ret_found, struct cairn_err *err)
{
    struct check check = {.target = target}, *c = &check;
    struct cairn_threads threads = {0};
    int result = cairn_threads_read(target->pid, &threads, err);
    for (size_t i = 0; result == CAIRN_OK && i < threads.n; i++)
        result = check_thread(c, threads.tids[i], err);
    *ret_found = c->found;
    cairn_threads_done(&threads);
    for (size_t i = 0; i < c->n_known; i++)
        cairn_buffer_done(&c->known[i]);
    cairn_buffer_done(&c->programs.insns);
    return result;
}
