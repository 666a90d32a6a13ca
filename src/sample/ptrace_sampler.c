/* SPDX-License-Identifier: MIT */
#include "sample/ptrace_sampler.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "sample/guest_walk.h"
#include "target/regs.h"

enum {
    STACK_COPY_BYTES = 1 << 16,
    STOP_TIMEOUT_MS = 20,
    SERVE_EVERY_NS = 2 * CAIRN_NS_PER_MS,
    ROUND_THREADS_MAX = 4096, /* looked at in one round */
};

enum { USED_US_MASK = 0x7fffffff };

/* CPU time of a thread so far: the first number of its schedstat; false where that is not told. */
static bool cpu_time_us(int pid, int tid, uint32_t *ret_us)
{
    char name[64];
    struct cairn_buffer text = {0};
    snprintf(name, sizeof name, "task/%d/schedstat", tid);
    bool told = cairn_process_slurp(pid, name, 256, &text, NULL) == CAIRN_OK;
    uint64_t ns = told ? strtoull(cairn_buffer_text(&text), NULL, 10) : 0;
    *ret_us = (uint32_t)(ns / 1000) & USED_US_MASK;
    cairn_buffer_done(&text);
    return told;
}

/* What the thread has used until now is in no sample. */
static int begin_thread(struct cairn_ptrace_known *known, int pid, int tid)
{
    uint32_t now_us;
    if (!cpu_time_us(pid, tid, &now_us))
        return CAIRN_OK;
    return cairn_table_set(&known->used_us, (uint64_t)tid, now_us);
}

static int begin_threads(struct cairn_ptrace_known *known, const struct cairn_tracer *tracer)
{
    const struct cairn_tracee *tracees;
    size_t n = cairn_tracer_threads(tracer, &tracees);
    int code = CAIRN_OK;
    for (size_t i = 0; i < n && code == CAIRN_OK; i++)
        code = begin_thread(known, tracees[i].pid, tracees[i].tid);
    return code;
}

/* The modules and interpreters of the old program are gone. The thread may be another one, with a
 * CPU time of its own: the one that called has the number of the process now. */
static void on_exec(void *ctx, int pid)
{
    struct cairn_ptrace_known *known = ctx;
    struct cairn_stream_space *item = cairn_stream_processes_find(&known->spaces->all, pid);
    if (item)
        cairn_stream_processes_reset(&known->spaces->all, item);
    (void)begin_thread(known, pid, pid);
}

static int add_tracer(struct cairn_ptrace_sampler *sampler, int pid, unsigned flags,
                      struct cairn_err *err)
{
    struct cairn_tracer *tracer;
    int code = cairn_tracer_new(pid, flags, &tracer, err);
    if (code < 0)
        return code;
    sampler->tracers[sampler->n++] = tracer;
    cairn_tracer_on_exec(tracer, on_exec, sampler->known);
    return begin_threads(sampler->known, tracer) < 0 ? cairn_fail_memory(err) : CAIRN_OK;
}

int cairn_ptrace_sampler_open(const struct cairn_ptrace_opts *opts,
                              struct cairn_ptrace_sampler *ret_sampler, struct cairn_err *err)
{
    const unsigned flags = opts->no_inherit ? 0 : CAIRN_TRACER_CHILDREN;
    struct cairn_ptrace_sampler sampler = {.period_ns = opts->period_ns,
                                           .no_guests = opts->no_guests};
    sampler.stack = cairn_alloc(1, STACK_COPY_BYTES);
    sampler.tracers = cairn_alloc(opts->n_pids ? opts->n_pids : 1, sizeof(void *));
    sampler.known = cairn_alloc(1, sizeof *sampler.known);
    int code = CAIRN_OK;
    if (!sampler.stack || !sampler.tracers || !sampler.known)
        code = cairn_fail_memory(err);
    else
        sampler.known->spaces = opts->spaces;
    for (size_t i = 0; i < opts->n_pids && code == CAIRN_OK; i++) {
        code = add_tracer(&sampler, opts->pids[i], flags, err);
        if (code == CAIRN_E_MISSING && (sampler.n || i + 1 < opts->n_pids))
            code = CAIRN_OK;
    }
    if (code < 0)
        cairn_ptrace_sampler_close(&sampler);
    else
        *ret_sampler = sampler;
    return code;
}

void cairn_ptrace_sampler_close(struct cairn_ptrace_sampler *sampler)
{
    for (size_t i = 0; i < sampler->n; i++)
        cairn_tracer_free(sampler->tracers[i]);
    cairn_free(sampler->tracers);
    if (sampler->known)
        cairn_table_done(&sampler->known->used_us);
    cairn_free(sampler->known);
    cairn_free(sampler->stack);
    *sampler = (struct cairn_ptrace_sampler){0};
}

bool cairn_ptrace_sampler_serve(struct cairn_ptrace_sampler *sampler)
{
    bool lives = false;
    for (size_t i = 0; i < sampler->n; i++)
        lives |= cairn_tracer_serve(sampler->tracers[i]);
    return lives;
}

int cairn_ptrace_sampler_exit_status(const struct cairn_ptrace_sampler *sampler)
{
    return sampler->n ? cairn_tracer_exit_status(sampler->tracers[0]) : -1;
}

/* What a sample of this thread stands for; 0: too little, it was but waiting for a CPU. Asked while
 * the thread stands, for the kernel brings the number of a running one up to date only at ticks. */
static int64_t cpu_since_last(struct cairn_ptrace_sampler *sampler,
                              const struct cairn_tracee *tracee)
{
    struct cairn_table *used_us = &sampler->known->used_us;
    uint32_t now, then = 0;
    if (!cpu_time_us(tracee->pid, tracee->tid, &now))
        return sampler->period_ns;
    (void)cairn_table_find(used_us, (uint64_t)tracee->tid, &then);
    if (((now - then) & USED_US_MASK) > USED_US_MASK / 2)
        then = 0; /* a new thread has the number of one that ended */
    int64_t used_ns = (int64_t)((now - then) & USED_US_MASK) * 1000;
    if (used_ns < sampler->period_ns / 2 ||
        cairn_table_set(used_us, (uint64_t)tracee->tid, now) < 0)
        return 0;
    return used_ns;
}

/* Reads the maps where they are not known yet, or where the CPU is in code that is new to us: of
 * another program, of a library, or made at run time. */
static int look_at_space(struct cairn_collect *collect, struct cairn_space *space, int tid,
                         uint64_t ip)
{
    char name[CAIRN_COMM_SIZE];
    if (cairn_stream_space_find(&space->code, ip))
        return CAIRN_OK;
    cairn_space_forget_maps(&collect->spaces, space);
    cairn_thread_name(space->code.pid, tid, name);
    if (cairn_collect_name(collect, tid, name) < 0)
        return CAIRN_E_NOMEM;
    int code = cairn_space_read(&collect->spaces, space, NULL);
    return code == CAIRN_E_NOMEM ? code : CAIRN_OK; /* else it just ended */
}

/* A thread that is to be sampled. */
struct catch
{
    struct cairn_tracer *tracer;
    const struct cairn_tracee *tracee;
    struct cairn_space *space;
};

/* The thread is stopped: a copy of its stack, no more. */
static int copy_stack(struct cairn_ptrace_sampler *sampler, const struct catch *of,
                      struct cairn_sampled *ret_caught)
{
    struct cairn_user_sample user = {0};
    int code = cairn_tracer_regs(of->tracer, of->tracee->tid, &user.regs, NULL);
    if (code < 0)
        return code;
    user.stack.data = sampler->stack;
    user.stack.size = cairn_space_peek(of->space, user.regs.sp, sampler->stack, STACK_COPY_BYTES);
    if (user.regs.width == sizeof *user.top && user.stack.size >= sizeof user.top)
        memcpy(user.top, user.stack.data, sizeof user.top);
    user.stack_goes_on = user.stack.size == STACK_COPY_BYTES;
    ret_caught->user = user;
    ret_caught->sp = user.regs.sp;
    return CAIRN_OK;
}

/* The thread is stopped: frames of interpreters are in memory that it will change. `*ret_fits`: no
 * second stop is worth it. */
static int walk_guests(const struct catch *of, struct cairn_sampled *caught, bool *ret_fits)
{
    uint8_t raw[CAIRN_PRSTATUS_MAX];
    size_t size;
    struct cairn_cursor_regs regs;
    int code = cairn_tracer_prstatus(of->tracer, of->tracee->tid, raw, &size, NULL);
    *ret_fits = true;
    if (code < 0 || !cairn_target_regs((struct cairn_span){raw, size}, false, &regs) ||
        !cairn_regs_read((struct cairn_span){raw, size}, &caught->user.regs))
        return CAIRN_E_MISSING;
    caught->sp = caught->user.regs.sp;
    *ret_fits = cairn_guest_walk_catch(caught->guests, &regs, &code);
    return code;
}

/* Stops the thread for as long as it is read. The stop may be that of an execve(2), which frees the
 * interpreters of the old program: they are taken from the space once the thread is stopped. */
static int catch_once(struct cairn_ptrace_sampler *sampler, const struct catch *of, bool is_again,
                      struct cairn_sampled *caught, bool *ret_fits)
{
    const int tid = of->tracee->tid;
    int code = CAIRN_OK;
    *ret_fits = true;
    if (cairn_tracer_stop(of->tracer, tid, STOP_TIMEOUT_MS, NULL) < 0)
        return CAIRN_E_MISSING;
    if (!is_again)
        caught->value = cpu_since_last(sampler, of->tracee);
    caught->guests = sampler->no_guests ? NULL : of->space->guests;
    if (caught->value && caught->guests)
        code = walk_guests(of, caught, ret_fits);
    else if (caught->value)
        code = copy_stack(sampler, of, caught);
    (void)cairn_tracer_resume(of->tracer, tid, NULL);
    return code;
}

/* What does not fit is read at another moment, once: an interpreter was just about to call. If the
 * thread cannot be stopped again, what was read first stays, in doubt; that of a replaced program
 * is gone. */
static int catch_thread(struct cairn_ptrace_sampler *sampler, const struct catch *of,
                        struct cairn_sampled *caught)
{
    bool fits;
    int code = catch_once(sampler, of, false, caught, &fits);
    if (code < 0 || fits)
        return code;
    code = catch_once(sampler, of, true, caught, &fits);
    return code == CAIRN_E_MISSING && caught->guests ? CAIRN_OK : code;
}

static int sample_thread(struct cairn_ptrace_sampler *sampler, struct cairn_tracer *tracer,
                         struct cairn_collect *collect, const struct cairn_tracee *tracee)
{
    struct cairn_thread_stat stat;
    struct cairn_guest_walk *guests;
    struct cairn_sampled caught = {.pid = tracee->pid, .tid = tracee->tid};
    struct catch of = {tracer, tracee, cairn_spaces_get(&collect->spaces, tracee->pid)};
    if (!of.space)
        return CAIRN_E_NOMEM;
    if (cairn_thread_stat(tracee->pid, tracee->tid, &stat, NULL) < 0 || stat.state != 'R')
        return CAIRN_OK; /* it sleeps or waits */
    if (!sampler->no_guests &&
        cairn_guest_looks_find(&collect->guest_looks, &collect->spaces, of.space, &guests) < 0)
        return CAIRN_E_NOMEM;
    int code = catch_thread(sampler, &of, &caught);
    if (code < 0 || caught.value == 0)
        return code == CAIRN_E_NOMEM ? code : CAIRN_OK; /* it is gone */
    caught.now_ns = caught.time_ns = cairn_now_ns();
    if ((caught.guests && cairn_guest_walk_name(caught.guests) < 0) ||
        look_at_space(collect, of.space, tracee->tid, caught.user.regs.ip) < 0)
        return CAIRN_E_NOMEM;
    return cairn_collect_add(collect, &caught);
}

/* One look at every thread that runs. The list moves with every call on the tracer: copy it. */
static int sample_round(struct cairn_ptrace_sampler *sampler, struct cairn_tracer *tracer,
                        struct cairn_collect *collect)
{
    const struct cairn_tracee *tracees;
    size_t n = cairn_tracer_threads(tracer, &tracees);
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
            code = sample_thread(sampler, tracer, collect, &copy[i]);
    cairn_free(copy);
    return code;
}

static int sample_all(struct cairn_ptrace_sampler *sampler, struct cairn_collect *collect)
{
    int code = CAIRN_OK;
    for (size_t i = 0; i < sampler->n && code == CAIRN_OK; i++)
        code = sample_round(sampler, sampler->tracers[i], collect);
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
        if (!cairn_ptrace_sampler_serve(sampler))
            return 0;
        uint64_t now_ns = cairn_now_ns();
        if (now_ns >= until_ns)
            return 1;
        if (now_ns >= sampler->next_ns) {
            if (sample_all(sampler, collect) < 0)
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
