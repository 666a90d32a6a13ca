/* SPDX-License-Identifier: MIT */
/*
 * The public sampler: starts the command, waits for what comes, and hands out the profile.
 *
 *     perf sampler ───┐
 *     ptrace sampler ─┴─► collect ─► profile
 */
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "proc/exec_stop.h"
#include "sample/ahead.h"
#include "sample/cpu_time.h"
#include "sample/pack.h"
#include "sample/sampler_opts.h"
#include "sample/sampler_state.h"

enum {
    DRAIN_EVERY_MS = 100,
    GATHER_US = 500 /* what comes so soon after something is taken with it */
};
static const uint64_t FIRST_LOOKS_NS = 1000000000; /* at all processes, before samples of them */
static const uint64_t FIRST_SPACES_NS = 500000000; /* for their mappings */

static void note_command(struct cairn_sampler *s)
{
    if (!s->opts.argv)
        cairn_targets_text(&s->targets, &s->command);
    else
        for (char *const *word = s->opts.argv; *word; word++)
            cairn_buffer_printf(&s->command, "%s%s", word == s->opts.argv ? "" : " ", *word);
}

static int prepare(struct cairn_sampler *s, struct cairn_err *err)
{
    int64_t period = s->event->is_time ? s->period_ns : (int64_t)s->opts.event_period;
    int code = cairn_collect_init(&s->collect, s->event, period, err);
    if (code < 0)
        return code;
    s->collect.has_times = s->opts.timeline != 0;
    s->collect.memory_max = s->opts.memory_bytes;
    if (!s->opts.timeline && !s->opts.off_cpu &&
        !s->is_traced) /* whose stacks are found again by number */
        s->collect.pack_rows = CAIRN_PACK_ROWS;
    cairn_starts_learn_self(&s->collect.starts);
    code = cairn_targets_open(&s->opts, &s->targets, err);
    s->off_cpu.is_cgroup = s->targets.is_cgroup;
    s->off_cpu.cgroup_fd = s->targets.cgroup_fd;
    s->trace.is_cgroup = s->targets.is_cgroup;
    s->trace.cgroup_fd = s->targets.cgroup_fd;
    if (code == CAIRN_OK && s->opts.argv) {
        struct cairn_ahead ahead;
        cairn_ahead_map(s->opts.argv[0], &ahead);
        code = cairn_child_start_by(s->opts.argv, NULL, s->outside ? s->outside->in_child : NULL,
                                    s->outside ? s->outside->ctx : NULL, &s->child, err);
        cairn_ahead_unmap(&ahead);
        if (code == CAIRN_OK)
            code = cairn_targets_add(&s->targets, s->child.pid, err);
    }
    if (code < 0)
        return code;
    s->pid = s->targets.n ? s->targets.items[0].pid : 0;
    note_command(s);
    return cairn_sampler_choose_method(s, err);
}

static int make(const struct cairn_sampler_opts *opts,
                const struct cairn_trace_programs_opts *trace,
                const struct cairn_sampler_outside *outside, const struct cairn_perf_points *points,
                struct cairn_sampler **ret_sampler, struct cairn_err *err)
{
    struct cairn_sampler_opts taken;
    int code = cairn_sampler_take_opts(opts, &taken, err);
    if (code < 0)
        return code;
    struct cairn_sampler *s = cairn_alloc(1, sizeof *s);
    if (!s)
        return cairn_fail_memory(err);
    s->opts = taken;
    s->child.go_fd = s->child.fail_fd = -1;
    s->exit_status = -1;
    s->event = taken.off_cpu ? &cairn_event_off_cpu : cairn_event_get(taken.event);
    s->outside = outside;
    s->points = points;
    s->is_traced = trace || outside || points;
    if (trace)
        s->trace = *trace;
    if (s->is_traced)
        s->event = &cairn_event_trace;
    s->off_cpu = (struct cairn_off_cpu_opts){
        .all = taken.all_processes, .no_inherit = taken.no_inherit, .user_only = taken.user_only};
    s->period_ns = s->event->is_time ? (int64_t)(1e9 / taken.frequency_hz) : 0;
    code = prepare(s, err);
    if (code < 0) {
        cairn_sampler_free(s);
        return code;
    }
    *ret_sampler = s;
    return CAIRN_OK;
}

int cairn_sampler_new(const struct cairn_sampler_opts *opts, struct cairn_sampler **ret_sampler,
                      struct cairn_err *err)
{
    return make(opts, NULL, NULL, NULL, ret_sampler, err);
}

int cairn_sampler_new_traced(const struct cairn_sampler_opts *opts,
                             const struct cairn_trace_programs_opts *trace,
                             struct cairn_sampler **ret_sampler, struct cairn_err *err)
{
    return make(opts, trace, NULL, NULL, ret_sampler, err);
}

int cairn_sampler_new_outside(const struct cairn_sampler_opts *opts,
                              const struct cairn_sampler_outside *outside,
                              struct cairn_sampler **ret_sampler, struct cairn_err *err)
{
    return make(opts, NULL, outside, NULL, ret_sampler, err);
}

int cairn_sampler_new_points(const struct cairn_sampler_opts *opts,
                             const struct cairn_perf_points *points,
                             struct cairn_sampler **ret_sampler, struct cairn_err *err)
{
    return make(opts, NULL, NULL, points, ret_sampler, err);
}

void cairn_sampler_free(struct cairn_sampler *s)
{
    if (!s)
        return;
    cairn_ptrace_sampler_close(&s->ptrace);
    cairn_perf_sampler_close(&s->perf);
    cairn_collect_done(&s->collect);
    cairn_child_drop(&s->child);
    cairn_buffer_done(&s->command);
    cairn_targets_close(&s->targets);
    cairn_free(s->window.files);
    cairn_free(s);
}

size_t cairn_sampler_files(const struct cairn_sampler *s, const int **ret_fds)
{
    if (s->collect.profile) { /* it goes on: those of the last window */
        *ret_fds = s->window.files;
        return s->window.n_files;
    }
    *ret_fds = s->collect.spaces.held.fds;
    return s->collect.spaces.held.n;
}

int cairn_sampler_pid(const struct cairn_sampler *s)
{
    return s->pid;
}

enum cairn_sample_method cairn_sampler_method(const struct cairn_sampler *s)
{
    return s->method;
}

static void serve_tracer(void *ctx)
{
    struct cairn_sampler *s = ctx;
    (void)cairn_ptrace_sampler_serve(&s->ptrace);
}

struct before {
    struct cairn_walk_intake *walk;
    uint64_t until_ns; /* a group may have thousands */
    int code;
};

/* Who sleeps already. */
static bool note_before(void *ctx, int pid)
{
    struct before *before = ctx;
    if (pid != getpid())
        before->code = cairn_walk_intake_before(before->walk, pid);
    return before->code == CAIRN_OK && cairn_now_ns() < before->until_ns;
}

static int start_off_cpu(struct cairn_sampler *s, struct cairn_err *err)
{
    if (!s->opts.off_cpu)
        return CAIRN_OK;
    struct cairn_off_cpu *off = cairn_walker_off_cpu(s->perf.walk.walker);
    for (size_t i = 0; i < s->targets.n; i++) {
        int pid = s->targets.items[i].pid;
        int code = cairn_off_cpu_add(off, pid, s->child.pid > 0);
        if (code < 0)
            return cairn_fail_os(err, -code, "pid %d: cannot be measured off the CPU", pid);
    }
    struct before before = {.walk = &s->perf.walk, .until_ns = UINT64_MAX};
    if (s->targets.is_cgroup)
        before.until_ns = cairn_now_ns() + FIRST_LOOKS_NS;
    int code = cairn_off_cpu_start(off, err);
    if (code == CAIRN_OK && !s->child.pid && !s->targets.is_all) /* of all: too many */
        cairn_targets_each(&s->targets, note_before, &before);
    return before.code < 0 ? cairn_fail_memory(err) : code;
}

static int start_trace(struct cairn_sampler *s, struct cairn_err *err)
{
    struct cairn_trace_programs *trace = cairn_walker_trace(s->perf.walk.walker);
    for (size_t i = 0; i < s->targets.n; i++) {
        int pid = s->targets.items[i].pid;
        int code = cairn_trace_programs_add(trace, pid, s->child.pid > 0);
        if (code < 0)
            return cairn_fail_os(err, -code, "pid %d: cannot be traced", pid);
    }
    return cairn_trace_programs_start(trace, err);
}

static int start_programs(struct cairn_sampler *s, struct cairn_err *err)
{
    if (s->outside || s->points)
        return CAIRN_OK;
    return s->is_traced ? start_trace(s, err) : start_off_cpu(s, err);
}

/* What a walk by tables must know before the first sample. */
struct first_looks {
    struct cairn_walker *walker;
    uint64_t until_ns;
};

static bool look_first(void *ctx, int pid)
{
    struct first_looks *looks = ctx;
    if (pid != getpid())
        cairn_walker_look(looks->walker, pid, true);
    return cairn_now_ns() < looks->until_ns;
}

static int read_space(struct cairn_sampler *s, int pid, struct cairn_err *err)
{
    struct cairn_err refusal = {0};
    struct cairn_space *space = cairn_spaces_get(&s->collect.spaces, pid);
    if (!space)
        return cairn_fail_memory(err);
    int code = cairn_space_read(&s->collect.spaces, space, &refusal);
    if (code == CAIRN_E_ACCESS) { /* samples will come all the same, only without modules */
        cairn_log_err(CAIRN_LOG_WARNING, &refusal);
        space->is_partial = true;
        return CAIRN_OK;
    }
    if (code == CAIRN_E_MISSING && s->targets.n > 1) /* one of several has ended */
        return CAIRN_OK;
    if (code < 0 && err)
        *err = refusal;
    return code;
}

struct first_spaces {
    struct cairn_spaces *spaces;
    uint64_t until_ns;
    int code;
};

static bool know_first(void *ctx, int pid)
{
    struct first_spaces *first = ctx;
    struct cairn_space *space = cairn_spaces_get(first->spaces, pid);
    first->code = space ? cairn_space_know(first->spaces, space) : CAIRN_E_NOMEM;
    return first->code >= 0 && cairn_now_ns() < first->until_ns;
}

/* On a busy machine a process may end before its first sample is taken from the ring: its mappings
 * could not be read any more. Later ones tell of their mappings by events. */
static int read_spaces(struct cairn_sampler *s, struct cairn_err *err)
{
    struct first_spaces first = {&s->collect.spaces, cairn_now_ns() + FIRST_SPACES_NS, CAIRN_OK};
    cairn_targets_each(&s->targets, know_first, &first);
    return first.code < 0 ? cairn_fail_memory(err) : CAIRN_OK;
}

/* The sampled time starts where events can come. The first looks before it may take a second: if
 * they counted, samples that were never due would be reported as missed. */
static void start_clocks(struct cairn_sampler *s)
{
    s->start_all_ns = s->targets.is_machine ? cairn_cpu_time_ns() : 0;
    s->start_ns = cairn_now_ns();
    s->collect.profile->time_ns = (int64_t)cairn_clock_ns(CLOCK_REALTIME);
    s->collect.to_real_ns = (uint64_t)s->collect.profile->time_ns - s->start_ns;
}

struct first_guests {
    struct cairn_sampler *s;
    uint64_t until_ns;
    int code;
};

static bool find_guests_of(void *ctx, int pid)
{
    struct first_guests *first = ctx;
    struct cairn_sampler *s = first->s;
    struct cairn_guest_walk *guests;
    if (pid != getpid())
        first->code = cairn_walk_intake_guests(&s->perf.walk, &s->collect, pid, &guests);
    return first->code == CAIRN_OK && cairn_now_ns() < first->until_ns;
}

/* Interpreters in the processes, so that their frames are known from the first sample on. */
static int find_guests(struct cairn_sampler *s)
{
    struct first_guests first = {s, cairn_now_ns() + FIRST_LOOKS_NS, CAIRN_OK};
    cairn_targets_each(&s->targets, find_guests_of, &first);
    return first.code;
}

static int start_attached(struct cairn_sampler *s, struct cairn_err *err)
{
    int code = CAIRN_OK;
    if (s->perf.is_walked) {
        struct first_looks looks = {s->perf.walk.walker, cairn_now_ns() + FIRST_LOOKS_NS};
        cairn_targets_each(&s->targets, look_first, &looks);
        if (find_guests(s) < 0)
            return cairn_fail_memory(err);
    }
    start_clocks(s);
    cairn_perf_enable(&s->perf.events);
    code = start_programs(s, err);
    for (size_t i = 0; i < s->targets.n && code == CAIRN_OK; i++)
        code = read_space(s, s->targets.items[i].pid, err);
    if (code == CAIRN_OK && cairn_targets_are_cpus(&s->targets))
        code = read_spaces(s, err);
    return code;
}

/* The command stops where its program begins. */
static int release_by_stop(struct cairn_sampler *s, struct cairn_err *err)
{
    struct cairn_exec_stop stop = {0};
    int code = cairn_exec_stop_begin(s->pid, &stop, err);
    if (code == CAIRN_OK)
        code = cairn_child_release(&s->child, s->opts.argv[0], cairn_exec_stop_serve, &stop, err);
    if (code == CAIRN_OK)
        code = cairn_exec_stop_wait(&stop, err);
    if (code == CAIRN_OK)
        code = s->at_exec(s->at_exec_ctx, s->pid, err);
    if (code == CAIRN_SAMPLER_AT_ENTRY) {
        code = cairn_exec_stop_run_to_entry(&stop, err);
        if (code == CAIRN_OK)
            code = s->at_exec(s->at_exec_ctx, s->pid, err);
    }
    if (code < 0 && s->child.pid > 0 && stop.is_there)
        kill(s->child.pid, SIGKILL); /* its program has not begun */
    cairn_exec_stop_end(&stop);
    return code;
}

int cairn_sampler_start(struct cairn_sampler *s, struct cairn_err *err)
{
    if (s->started)
        return cairn_fail(err, CAIRN_E_ARG, "the sampler was started before");
    s->started = true;
    s->start_cpu_ns = cairn_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    if (!s->child.pid)
        return start_attached(s, err);
    if (s->perf.is_walked) /* it has our libc mapped, and the program ahead: they are known then */
        cairn_walker_look(s->perf.walk.walker, s->pid, true);
    start_clocks(s);
    int code = start_programs(s, err);
    if (code < 0)
        return code;
    if (s->at_exec)
        return release_by_stop(s, err);
    if (s->outside)
        return cairn_child_release(&s->child, s->opts.argv[0], s->outside->serve, s->outside->ctx,
                                   err);
    bool traced = s->method == CAIRN_SAMPLE_PTRACE;
    return cairn_child_release(&s->child, s->opts.argv[0], traced ? serve_tracer : NULL, s, err);
}

static bool target_lives(struct cairn_sampler *s)
{
    int wait_status;
    if (s->child.pid <= 0)
        return cairn_targets_live(&s->targets);
    pid_t got = waitpid(s->child.pid, &wait_status, WNOHANG);
    if (got == s->child.pid)
        s->exit_status = wait_status;
    return got == 0;
}

static int poll_perf(struct cairn_sampler *s, int timeout_ms, struct cairn_err *err)
{
    struct pollfd news[] = {
        {.fd = cairn_targets_fd(&s->targets), .events = POLLIN},
        {.fd = s->perf.is_walked ? cairn_walker_fd(s->perf.walk.walker) : -1, .events = POLLIN},
        {.fd = cairn_perf_fd(&s->perf.events), .events = POLLIN}};
    if (timeout_ms < 0 || timeout_ms > DRAIN_EVERY_MS)
        timeout_ms = DRAIN_EVERY_MS;
    if (poll(news, 3, timeout_ms) > 0 && s->perf.is_walked)
        (void)usleep(GATHER_US);
    s->ended = !target_lives(s);
    if (cairn_perf_sampler_take(&s->perf, &s->collect, false) < 0)
        return cairn_fail_memory(err);
    if (!s->ended)
        cairn_sampler_hint_guests(s);
    return !s->ended;
}

int cairn_sampler_poll(struct cairn_sampler *s, int timeout_ms, struct cairn_err *err)
{
    if (!s->started)
        return cairn_fail(err, CAIRN_E_ARG, "the sampler was not started");
    if (s->ended)
        return 0;
    if (s->method != CAIRN_SAMPLE_PTRACE)
        return poll_perf(s, timeout_ms, err);
    if (timeout_ms < 0 || timeout_ms > DRAIN_EVERY_MS)
        timeout_ms = DRAIN_EVERY_MS;
    uint64_t until_ns = cairn_now_ns() + (uint64_t)timeout_ms * CAIRN_NS_PER_MS;
    int code = cairn_ptrace_sampler_run(&s->ptrace, &s->collect, until_ns, err);
    s->ended = code <= 0;
    if (code == 0)
        s->exit_status = cairn_ptrace_sampler_exit_status(&s->ptrace);
    return code;
}

uint64_t cairn_sampler_count(const struct cairn_sampler *s)
{
    return s->collect.n_samples;
}

int cairn_sampler_finish(struct cairn_sampler *s, struct cairn_profile **ret_profile,
                         struct cairn_sample_quality *ret_quality, struct cairn_err *err)
{
    if (!s->started || !s->collect.profile)
        return cairn_fail(err, CAIRN_E_ARG, "the sampler does not run");
    s->end_ns = cairn_now_ns();
    s->end_all_ns = s->start_all_ns ? cairn_cpu_time_ns() : 0;
    if (s->method != CAIRN_SAMPLE_PTRACE) {
        cairn_perf_disable(&s->perf.events);
        if (s->is_traced && !s->points)
            cairn_trace_programs_stop(cairn_walker_trace(s->perf.walk.walker));
        if (s->opts.off_cpu)
            cairn_off_cpu_stop(cairn_walker_off_cpu(s->perf.walk.walker));
        if (cairn_perf_sampler_take(&s->perf, &s->collect, true) < 0)
            return cairn_fail_memory(err);
        cairn_perf_sampler_log_outside(&s->perf);
    }
    if (cairn_collect_unpack(&s->collect) < 0)
        return cairn_fail_memory(err);
    s->end_cpu_ns = cairn_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    s->collect.profile->duration_ns = (int64_t)(s->end_ns - s->start_ns);
    if (cairn_sampler_add_notes(s) < 0)
        return cairn_fail_memory(err);
    if (ret_quality)
        cairn_sampler_measure(s, ret_quality);
    cairn_profile_drop_index(s->collect.profile);
    s->collect.profile->closed = CAIRN_PROFILE_OPEN; /* to names */
    *ret_profile = s->collect.profile;
    s->collect.profile = NULL;
    return CAIRN_OK;
}
