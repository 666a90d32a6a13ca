/* SPDX-License-Identifier: MIT */
#include "sample/ptrace_sampler.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"

enum {
    STACK_COPY_BYTES = 1 << 16,
    STOP_TIMEOUT_MS = 20,
    SERVE_EVERY_NS = 2 * CAIRN_NS_PER_MS,
    ROUND_THREADS_MAX = 4096, /* looked at in one round */
};

int cairn_ptrace_sampler_open(int pid, int64_t period_ns, struct cairn_ptrace_sampler *ret_sampler,
                              struct cairn_err *err)
{
    struct cairn_ptrace_sampler sampler = {.period_ns = period_ns};
    sampler.stack = cairn_alloc(1, STACK_COPY_BYTES);
    if (!sampler.stack)
        return cairn_fail_memory(err);
    int code = cairn_tracer_new(pid, CAIRN_TRACER_CHILDREN, &sampler.tracer, err);
    if (code < 0) {
        cairn_free(sampler.stack);
        return code;
    }
    *ret_sampler = sampler;
    return CAIRN_OK;
}

void cairn_ptrace_sampler_close(struct cairn_ptrace_sampler *sampler)
{
    cairn_tracer_free(sampler->tracer);
    cairn_table_done(&sampler->used_us);
    cairn_free(sampler->stack);
    *sampler = (struct cairn_ptrace_sampler){0};
}

/* CPU time of a thread so far: the first number of its schedstat; false where that is not told. */
static bool cpu_time_ns(const struct cairn_tracee *tracee, uint64_t *ret_ns)
{
    char name[64];
    struct cairn_buffer text = {0};
    snprintf(name, sizeof name, "task/%d/schedstat", tracee->tid);
    bool told = cairn_process_slurp(tracee->pid, name, 256, &text, NULL) == CAIRN_OK;
    *ret_ns = told ? strtoull(cairn_buffer_text(&text), NULL, 10) : 0;
    cairn_buffer_done(&text);
    return told;
}

/* What a sample of this thread stands for; 0: too little, it was but waiting for a CPU. Asked while
 * the thread stands, for the kernel brings the number of a running one up to date only at ticks. */
static int64_t cpu_since_last(struct cairn_ptrace_sampler *sampler,
                              const struct cairn_tracee *tracee)
{
    enum { MASK = 0x7fffffff };
    uint64_t now_ns;
    uint32_t then = 0;
    if (!cpu_time_ns(tracee, &now_ns))
        return sampler->period_ns;
    uint32_t now = (uint32_t)(now_ns / 1000) & MASK;
    (void)cairn_table_find(&sampler->used_us, (uint64_t)tracee->tid, &then);
    int64_t used_ns = (int64_t)((now - then) & MASK) * 1000;
    if (used_ns < sampler->period_ns / 2 ||
        cairn_table_set(&sampler->used_us, (uint64_t)tracee->tid, now) < 0)
        return 0;
    return used_ns;
}

/* Reads the maps where they are not known yet, or where the CPU is in code that is new to us. */
static int look_at_space(struct cairn_collect *collect, struct cairn_space *space, int tid,
                         uint64_t ip)
{
    char name[CAIRN_COMM_SIZE];
    if (cairn_space_find(space, ip))
        return CAIRN_OK;
    cairn_space_exec(space);
    cairn_thread_name(space->pid, tid, name);
    if (cairn_collect_name(collect, tid, name) < 0)
        return CAIRN_E_NOMEM;
    int code = cairn_space_read(&collect->spaces, space, NULL);
    return code == CAIRN_E_NOMEM ? code : CAIRN_OK; /* else it just ended */
}

/* The thread is stopped as short as can be: registers and a copy, no more. */
static int catch_thread(struct cairn_ptrace_sampler *sampler, struct cairn_space *space,
                        const struct cairn_tracee *tracee, struct cairn_sampled *ret_caught)
{
    struct cairn_user_sample user = {0};
    const int tid = tracee->tid;
    if (cairn_tracer_stop(sampler->tracer, tid, STOP_TIMEOUT_MS, NULL) < 0)
        return CAIRN_E_MISSING;
    int code = cairn_tracer_regs(sampler->tracer, tid, &user.regs, NULL);
    if (code == CAIRN_OK)
        ret_caught->value = cpu_since_last(sampler, tracee);
    if (code == CAIRN_OK && ret_caught->value) {
        user.stack.data = sampler->stack;
        user.stack.size = cairn_space_peek(space, user.regs.sp, sampler->stack, STACK_COPY_BYTES);
        if (user.regs.width == sizeof *user.top && user.stack.size >= sizeof user.top)
            memcpy(user.top, user.stack.data, sizeof user.top);
        user.stack_goes_on = user.stack.size == STACK_COPY_BYTES;
    }
    (void)cairn_tracer_resume(sampler->tracer, tid, NULL);
    ret_caught->user = user;
    return code;
}

static int sample_thread(struct cairn_ptrace_sampler *sampler, struct cairn_collect *collect,
                         const struct cairn_tracee *tracee)
{
    struct cairn_thread_stat stat;
    struct cairn_sampled caught = {.pid = tracee->pid, .tid = tracee->tid};
    struct cairn_space *space = cairn_spaces_get(&collect->spaces, tracee->pid);
    if (!space)
        return CAIRN_E_NOMEM;
    if (cairn_thread_stat(tracee->pid, tracee->tid, &stat, NULL) < 0 || stat.state != 'R' ||
        catch_thread(sampler, space, tracee, &caught) < 0 || caught.value == 0)
        return CAIRN_OK; /* it sleeps, waits, or is gone */
    caught.sp = caught.user.regs.sp;
    caught.now_ns = caught.time_ns = cairn_now_ns();
    if (look_at_space(collect, space, tracee->tid, caught.user.regs.ip) < 0)
        return CAIRN_E_NOMEM;
    return cairn_collect_add(collect, &caught);
}

/* One look at every thread that runs. The list moves with every call on the tracer: copy it. */
static int sample_round(struct cairn_ptrace_sampler *sampler, struct cairn_collect *collect)
{
    const struct cairn_tracee *tracees;
    size_t n = cairn_tracer_threads(sampler->tracer, &tracees);
    if (n > ROUND_THREADS_MAX)
        n = ROUND_THREADS_MAX;
    struct cairn_tracee *copy = cairn_alloc(n ? n : 1, sizeof *copy);
    if (!copy)
        return CAIRN_E_NOMEM;
    if (n)
        memcpy(copy, tracees, n * sizeof *copy);
    int code = CAIRN_OK;
    for (size_t i = 0; i < n && code == CAIRN_OK; i++)
        if (!copy[i].held && !copy[i].stopped)
            code = sample_thread(sampler, collect, &copy[i]);
    cairn_free(copy);
    return code;
}

static void sleep_until(uint64_t at_ns)
{
    struct timespec at = {(time_t)(at_ns / 1000000000u), (long)(at_ns % 1000000000u)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL); /* a signal may end it early */
}

int cairn_ptrace_sampler_run(struct cairn_ptrace_sampler *sampler, struct cairn_collect *collect,
                             uint64_t until_ns, struct cairn_err *err)
{
    const uint64_t period_ns = (uint64_t)sampler->period_ns;
    for (;;) {
        if (!cairn_tracer_serve(sampler->tracer))
            return 0;
        uint64_t now_ns = cairn_now_ns();
        if (now_ns >= until_ns)
            return 1;
        if (now_ns >= sampler->next_ns) {
            if (sample_round(sampler, collect) < 0)
                return cairn_fail_memory(err);
            bool late = sampler->next_ns && now_ns - sampler->next_ns > period_ns;
            sampler->n_late += late;
            sampler->next_ns =
                late || !sampler->next_ns ? now_ns + period_ns : sampler->next_ns + period_ns;
        }
        uint64_t wake_ns = now_ns + SERVE_EVERY_NS;
        if (wake_ns > sampler->next_ns)
            wake_ns = sampler->next_ns;
        sleep_until(wake_ns < until_ns ? wake_ns : until_ns);
    }
}
