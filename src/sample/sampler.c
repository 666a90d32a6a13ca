/* SPDX-License-Identifier: MIT */
/*
 * The public sampler: starts the command, chooses the method, says what the capture was worth.
 *
 *     perf sampler ───┐
 *     ptrace sampler ─┴─► collect ─► profile
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/sampler.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "proc/child.h"
#include "sample/clock.h"
#include "sample/collect.h"
#include "sample/event.h"
#include "sample/perf_sampler.h"
#include "sample/ptrace_sampler.h"

enum {
    DEFAULT_HZ = 99,
    FREQUENCY_MAX = 1000000,
    DEFAULT_RING_PAGES = 128,
    RING_PAGES_MAX = 1 << 16,
    DRAIN_EVERY_MS = 100,
    GATHER_US = 500, /* what comes so soon after something is taken with it */
    QUALITY_BYTES = 4096,
};

struct cairn_sampler {
    struct cairn_sampler_opts opts;
    int pid;
    int pid_fd; /* readable when the process has ended; -1: the kernel has none */
    struct cairn_child child;
    struct cairn_buffer command; /* as a person would type it, nearly */
    int exit_status;
    bool ended, started;
    enum cairn_sample_method method;
    struct cairn_perf_sampler perf;
    struct cairn_ptrace_sampler ptrace;
    struct cairn_collect collect;
    const struct cairn_event *event;
    int64_t period_ns; /* of CPU time; 0: the event is another */
    uint64_t start_ns, end_ns;
    uint64_t start_cpu_ns, end_cpu_ns; /* this process's own */
};

static int check_event(const struct cairn_sampler_opts *opts, struct cairn_err *err)
{
    const struct cairn_event *event = cairn_event_get(opts->event);
    if (!event)
        return cairn_fail(err, CAIRN_E_ARG, "there is no event %d", (int)opts->event);
    if (event->is_time && opts->event_period)
        return cairn_fail(err, CAIRN_E_ARG, "%s is sampled by frequency, not by count",
                          event->name);
    if (!event->is_time && opts->method == CAIRN_SAMPLE_PTRACE)
        return cairn_fail(err, CAIRN_E_ARG, "ptrace samples CPU time alone, not %s", event->name);
    if (event->in_kernel && opts->user_only)
        return cairn_fail(err, CAIRN_E_ARG, "%s happen in the kernel: user code alone has none",
                          event->name);
    return CAIRN_OK;
}

static int check_opts(const struct cairn_sampler_opts *opts, struct cairn_err *err)
{
    bool has_command = opts->argv && opts->argv[0];
    if ((opts->pid > 0) == has_command)
        return cairn_fail(err, CAIRN_E_ARG, "either a pid or a command must be given");
    if (!(opts->frequency_hz >= 0.5 && opts->frequency_hz <= FREQUENCY_MAX))
        return cairn_fail(err, CAIRN_E_ARG, "%g samples a second: expected 1 to %d",
                          opts->frequency_hz, FREQUENCY_MAX);
    if (opts->ring_pages > RING_PAGES_MAX || (opts->ring_pages & (opts->ring_pages - 1)))
        return cairn_fail(err, CAIRN_E_ARG, "%u ring pages: expected a power of two up to %d",
                          opts->ring_pages, RING_PAGES_MAX);
    if (opts->max_frames > CAIRN_WALK_FRAMES_MAX)
        return cairn_fail(err, CAIRN_E_ARG, "%u frames: expected at most %d", opts->max_frames,
                          CAIRN_WALK_FRAMES_MAX);
    if (opts->method == CAIRN_SAMPLE_PTRACE && !has_command)
        return cairn_fail(err, CAIRN_E_ARG, "ptrace sampling is for commands started here only");
    return check_event(opts, err);
}

/* A copy with the defaults filled in; fields that an older caller does not know are zero. */
static int take_opts(const struct cairn_sampler_opts *given, struct cairn_sampler_opts *ret_opts,
                     struct cairn_err *err)
{
    struct cairn_sampler_opts opts = {0};
    if (!given || given->size < sizeof given->size)
        return cairn_fail(err, CAIRN_E_ARG, "the options have no size");
    memcpy(&opts, given, given->size < sizeof opts ? given->size : sizeof opts);
    if (opts.frequency_hz == 0)
        opts.frequency_hz = DEFAULT_HZ;
    if (opts.ring_pages == 0)
        opts.ring_pages = DEFAULT_RING_PAGES;
    int code = check_opts(&opts, err);
    if (code == CAIRN_OK)
        *ret_opts = opts;
    return code;
}

static struct cairn_perf_opts perf_opts(const struct cairn_sampler *s)
{
    return (struct cairn_perf_opts){
        .pid = s->pid,
        .is_child = s->child.pid > 0,
        .user_only = s->opts.user_only != 0,
        .event = s->event,
        .has_times = s->opts.timeline != 0,
        .frequency_hz = s->opts.frequency_hz,
        .event_period = s->opts.event_period,
        .ring_pages = s->opts.ring_pages,
        .max_frames = s->opts.max_frames,
    };
}

static int open_perf(struct cairn_sampler *s, struct cairn_err *err)
{
    const struct cairn_perf_opts opts = perf_opts(s);
    int code = cairn_perf_sampler_open(&opts, s->period_ns, &s->perf, err);
    if (code < 0)
        return code;
    s->method = CAIRN_SAMPLE_PERF;
    s->collect.frames_max = s->perf.events.frames_max;
    return CAIRN_OK;
}

static int open_bpf(struct cairn_sampler *s, struct cairn_err *err)
{
    const struct cairn_perf_opts opts = perf_opts(s);
    int code = cairn_perf_sampler_open_walked(&opts, s->period_ns, &s->perf, err);
    if (code < 0) {
        cairn_perf_sampler_close(&s->perf);
        s->perf = (struct cairn_perf_sampler){0};
        return code;
    }
    s->method = CAIRN_SAMPLE_BPF;
    s->collect.frames_max = CAIRN_BPF_FRAMES_MAX;
    return CAIRN_OK;
}

static int open_ptrace(struct cairn_sampler *s, struct cairn_err *err)
{
    int code = cairn_ptrace_sampler_open(s->pid, s->period_ns, &s->ptrace, err);
    if (code == CAIRN_OK)
        s->method = CAIRN_SAMPLE_PTRACE;
    return code;
}

static int choose_method(struct cairn_sampler *s, struct cairn_err *err)
{
    struct cairn_err refusal = {0};
    if (s->opts.method == CAIRN_SAMPLE_PTRACE)
        return open_ptrace(s, err);
    if (s->opts.method == CAIRN_SAMPLE_BPF)
        return open_bpf(s, err);
    if (s->opts.method == CAIRN_SAMPLE_AUTO) {
        if (open_bpf(s, &refusal) == CAIRN_OK)
            return CAIRN_OK;
        cairn_log_err(CAIRN_LOG_INFO, &refusal);
        refusal = (struct cairn_err){0};
    }
    int code = open_perf(s, &refusal);
    bool refused = code == CAIRN_E_ACCESS || code == CAIRN_E_SUPPORT;
    if (code < 0 && refused && s->child.pid > 0 && s->opts.method == CAIRN_SAMPLE_AUTO &&
        s->event->is_time) {
        if (open_ptrace(s, NULL) == CAIRN_OK) {
            cairn_log_err(CAIRN_LOG_WARNING, &refusal);
            cairn_log(CAIRN_LOG_WARNING, "sampling by ptrace instead: user frames only, and each "
                                         "thread is stopped for a moment");
            return CAIRN_OK;
        }
    }
    if (code < 0 && err)
        *err = refusal;
    return code;
}

static void note_command(struct cairn_sampler *s)
{
    if (s->opts.pid)
        (void)cairn_process_cmdline(s->pid, &s->command, NULL); /* for people; not told: no harm */
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
    cairn_starts_learn_self(&s->collect.starts);
    s->pid = s->opts.pid;
    if (!s->pid) {
        code = cairn_child_start(s->opts.argv, NULL, &s->child, err);
        if (code < 0)
            return code;
        s->pid = s->child.pid;
    } else if (kill(s->pid, 0) < 0 && errno == ESRCH) {
        return cairn_fail(err, CAIRN_E_MISSING, "pid %d: no such process", s->pid);
    }
    note_command(s);
    s->pid_fd = (int)syscall(SYS_pidfd_open, s->pid, 0);
    return choose_method(s, err);
}

int cairn_sampler_new(const struct cairn_sampler_opts *opts, struct cairn_sampler **ret_sampler,
                      struct cairn_err *err)
{
    struct cairn_sampler_opts taken;
    int code = take_opts(opts, &taken, err);
    if (code < 0)
        return code;
    struct cairn_sampler *s = cairn_alloc(1, sizeof *s);
    if (!s)
        return cairn_fail_memory(err);
    s->opts = taken;
    s->pid_fd = s->child.go_fd = s->child.fail_fd = -1;
    s->exit_status = -1;
    s->event = cairn_event_get(taken.event);
    s->period_ns = s->event->is_time ? (int64_t)(1e9 / taken.frequency_hz) : 0;
    code = prepare(s, err);
    if (code < 0) {
        cairn_sampler_free(s);
        return code;
    }
    *ret_sampler = s;
    return CAIRN_OK;
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
    if (s->pid_fd >= 0)
        close(s->pid_fd);
    cairn_free(s);
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
    (void)cairn_tracer_serve(s->ptrace.tracer);
}

static int start_attached(struct cairn_sampler *s, struct cairn_err *err)
{
    struct cairn_space *space = cairn_spaces_get(&s->collect.spaces, s->pid);
    if (!space)
        return cairn_fail_memory(err);
    if (s->perf.is_walked)
        cairn_walker_look(s->perf.walk.walker, s->pid, true);
    cairn_perf_enable(&s->perf.events);
    struct cairn_err refusal = {0};
    int code = cairn_space_read(&s->collect.spaces, space, &refusal);
    if (code == CAIRN_E_ACCESS) { /* samples will come all the same, only without modules */
        cairn_log_err(CAIRN_LOG_WARNING, &refusal);
        space->is_partial = true;
        return CAIRN_OK;
    }
    if (code < 0 && err)
        *err = refusal;
    return code;
}

int cairn_sampler_start(struct cairn_sampler *s, struct cairn_err *err)
{
    if (s->started)
        return cairn_fail(err, CAIRN_E_ARG, "the sampler was started before");
    s->started = true;
    s->start_ns = cairn_now_ns();
    s->start_cpu_ns = cairn_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    s->collect.profile->time_ns = (int64_t)cairn_clock_ns(CLOCK_REALTIME);
    s->collect.to_real_ns = (uint64_t)s->collect.profile->time_ns - s->start_ns;
    if (!s->child.pid)
        return start_attached(s, err);
    if (s->perf.is_walked) /* it will have the same libc as we, which then is there already */
        cairn_walker_look(s->perf.walk.walker, s->pid, true);
    bool traced = s->method == CAIRN_SAMPLE_PTRACE;
    return cairn_child_release(&s->child, s->opts.argv[0], traced ? serve_tracer : NULL, s, err);
}

static bool process_lives(struct cairn_sampler *s)
{
    struct cairn_process_status status;
    if (s->child.pid > 0) {
        int wait_status;
        pid_t got = waitpid(s->child.pid, &wait_status, WNOHANG);
        if (got == s->child.pid)
            s->exit_status = wait_status;
        return got == 0;
    }
    struct pollfd ended = {.fd = s->pid_fd, .events = POLLIN};
    if (s->pid_fd >= 0)
        return poll(&ended, 1, 0) <= 0;
    return cairn_process_status(s->pid, &status, NULL) == CAIRN_OK && status.state != 'Z';
}

static int poll_perf(struct cairn_sampler *s, int timeout_ms, struct cairn_err *err)
{
    struct pollfd news[] = {
        {.fd = s->pid_fd, .events = POLLIN},
        {.fd = s->perf.is_walked ? cairn_walker_fd(s->perf.walk.walker) : -1, .events = POLLIN},
        {.fd = cairn_perf_fd(&s->perf.events), .events = POLLIN}};
    if (timeout_ms < 0 || timeout_ms > DRAIN_EVERY_MS)
        timeout_ms = DRAIN_EVERY_MS;
    if (poll(news, 3, timeout_ms) > 0 && s->perf.is_walked)
        (void)usleep(GATHER_US);
    s->ended = !process_lives(s);
    if (cairn_perf_sampler_take(&s->perf, &s->collect, false) < 0)
        return cairn_fail_memory(err);
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
        s->exit_status = cairn_tracer_exit_status(s->ptrace.tracer);
    return code;
}

uint64_t cairn_sampler_count(const struct cairn_sampler *s)
{
    return s->collect.n_samples;
}

static void measure_walk(struct cairn_sampler *s, struct cairn_sample_quality *quality)
{
    struct cairn_walker_stats stats;
    if (!s->perf.is_walked)
        return;
    cairn_walker_stats(s->perf.walk.walker, &stats);
    quality->walk_ns = stats.n_runs ? stats.run_ns / stats.n_runs : 0;
    quality->n_lost += cairn_walk_intake_lost(&s->perf.walk, quality->n_samples);
}

static void measure(struct cairn_sampler *s, struct cairn_sample_quality *ret_quality)
{
    struct cairn_sample_quality quality = {
        .size = sizeof quality,
        .n_samples = s->collect.n_samples,
        .n_whole = s->collect.n_whole,
        .n_cut = s->collect.n_cut,
        .n_lost = s->perf.n_lost + s->perf.queue.n_bad + s->ptrace.n_late,
        .n_throttled = s->perf.n_throttled,
        .duration_ns = s->end_ns - s->start_ns,
        .n_threads = s->collect.threads.n,
        .method = s->method,
        .has_kernel = s->perf.events.has_kernel,
        .hardware_event = s->perf.events.hardware,
        .exit_status = s->exit_status,
        .cpu_ns = cairn_perf_cpu_ns(&s->perf.events),
        .period_ns = (uint64_t)s->period_ns,
        .own_ns = s->end_cpu_ns - s->start_cpu_ns,
    };
    measure_walk(s, &quality);
    size_t size = ret_quality->size < sizeof quality ? ret_quality->size : sizeof quality;
    memcpy((char *)ret_quality + sizeof size, (const char *)&quality + sizeof size,
           size > sizeof size ? size - sizeof size : 0);
}

static int add_comments(struct cairn_sampler *s)
{
    struct cairn_sample_quality quality = {.size = sizeof quality};
    struct cairn_buffer text = {0};
    char line[QUALITY_BYTES];
    int code = CAIRN_OK;
    if (s->command.size) {
        cairn_buffer_printf(&text, "command: %s", cairn_buffer_text(&s->command));
        code = cairn_profile_add_comment(s->collect.profile, cairn_buffer_text(&text));
    }
    if (code == CAIRN_OK && s->collect.kernel_module) {
        cairn_buffer_clear(&text);
        cairn_buffer_printf(&text, "kernel: %s", s->collect.kernel.release);
        code = cairn_profile_add_comment(s->collect.profile, cairn_buffer_text(&text));
    }
    measure(s, &quality);
    cairn_sample_quality_text(&quality, s->collect.profile, line, sizeof line);
    cairn_buffer_clear(&text);
    cairn_buffer_printf(&text, "quality: %s", line);
    if (code == CAIRN_OK)
        code = cairn_profile_add_comment(s->collect.profile, cairn_buffer_text(&text));
    cairn_buffer_done(&text);
    return code;
}

int cairn_sampler_finish(struct cairn_sampler *s, struct cairn_profile **ret_profile,
                         struct cairn_sample_quality *ret_quality, struct cairn_err *err)
{
    if (!s->started || !s->collect.profile)
        return cairn_fail(err, CAIRN_E_ARG, "the sampler does not run");
    s->end_ns = cairn_now_ns();
    if (s->method != CAIRN_SAMPLE_PTRACE) {
        cairn_perf_disable(&s->perf.events);
        if (cairn_perf_sampler_take(&s->perf, &s->collect, true) < 0)
            return cairn_fail_memory(err);
    }
    s->end_cpu_ns = cairn_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    s->collect.profile->duration_ns = (int64_t)(s->end_ns - s->start_ns);
    if (add_comments(s) < 0)
        return cairn_fail_memory(err);
    if (ret_quality)
        measure(s, ret_quality);
    cairn_profile_drop_index(s->collect.profile);
    *ret_profile = s->collect.profile;
    s->collect.profile = NULL;
    return CAIRN_OK;
}
