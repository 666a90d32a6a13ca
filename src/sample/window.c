/* SPDX-License-Identifier: MIT */
/*
 * Windows of a sampling that goes on: what was collected becomes a profile of its own, and its rows
 * leave the collection. What is known of processes, modules and unwind tables stays, and is not
 * paid for again.
 *
 *     collection: modules, frames, rows ─┬─ copied ──► the window's profile
 *                                        └─ rows dropped, the rest stays
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "profile/index.h"
#include "sample/cpu_time.h"
#include "sample/pack.h"
#include "sample/sampler_state.h"

static int check(const struct cairn_sampler *s, struct cairn_err *err)
{
    if (!s->started || !s->collect.profile)
        return cairn_fail(err, CAIRN_E_ARG, "the sampler does not run");
    if (s->method == CAIRN_SAMPLE_PTRACE || s->is_traced || s->opts.off_cpu || s->opts.timeline)
        return cairn_fail(err, CAIRN_E_SUPPORT,
                          "windows need samples of perf_event_open(2) that are summed: not by "
                          "ptrace, off the CPU or with times");
    return CAIRN_OK;
}

static uint64_t later(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

/* A sample that the kernel counted may be on its way. It is lost if the next window lacks it, too:
 * so losses are reported one window late. */
static uint64_t count_lost(struct cairn_sampler *s, uint64_t n_missing)
{
    struct cairn_sampler_window *w = &s->window;
    uint64_t n_lost = n_missing < w->n_missing ? n_missing : w->n_missing;
    uint64_t n_new = later(n_lost, w->n_lost);
    w->n_missing = n_missing;
    w->n_lost += n_new;
    return n_new;
}

/* What all windows together came to, less what it was at the last one. */
static void measure(struct cairn_sampler *s, struct cairn_sample_quality *ret_quality)
{
    struct cairn_sample_quality now = {.size = sizeof now};
    const struct cairn_sample_quality *before = &s->window.before;
    cairn_sampler_measure(s, &now);
    *ret_quality = now;
    ret_quality->n_samples = now.n_samples - before->n_samples;
    ret_quality->n_whole = now.n_whole - before->n_whole;
    ret_quality->n_cut = now.n_cut - before->n_cut;
    ret_quality->n_unkept = now.n_unkept - before->n_unkept;
    ret_quality->n_folded = now.n_folded - before->n_folded;
    ret_quality->n_guest = now.n_guest - before->n_guest;
    ret_quality->n_doubt = now.n_doubt - before->n_doubt;
    ret_quality->n_unread = now.n_unread - before->n_unread;
    ret_quality->n_throttled = now.n_throttled - before->n_throttled;
    ret_quality->n_threads = now.n_threads - before->n_threads;
    ret_quality->n_processes = now.n_processes - before->n_processes;
    ret_quality->value = now.value - before->value;
    ret_quality->cpu_ns = later(now.cpu_ns, before->cpu_ns);
    ret_quality->own_ns = later(now.own_ns, before->own_ns);
    ret_quality->n_lost = count_lost(s, now.n_lost);
    ret_quality->duration_ns = s->end_ns - s->window.start_ns;
    s->window.before = now;
}

/* The profile takes over what was collected; its modules' files are those of the collection. */
static int copy_out(struct cairn_sampler *s, struct cairn_profile *into, struct cairn_err *err)
{
    struct cairn_sampler_window *w = &s->window;
    const struct cairn_held *held = &s->collect.spaces.held;
    int code = cairn_profile_merge(into, s->collect.profile, err);
    if (code < 0)
        return code;
    if (cairn_grow((void **)&w->files, &w->cap_files, into->n_modules, sizeof *w->files) < 0)
        return cairn_fail_memory(err);
    w->n_files = into->n_modules; /* the same numbers: `into` was empty, and modules are unique */
    for (size_t i = 0; i < w->n_files; i++)
        w->files[i] = i < held->n ? held->fds[i] : -1;
    into->time_ns = s->collect.profile->time_ns;
    into->duration_ns = (int64_t)(s->end_ns - w->start_ns);
    return CAIRN_OK;
}

static void begin_next(struct cairn_sampler *s)
{
    struct cairn_profile *p = s->collect.profile;
    cairn_profile_empty(p);
    p->closed = CAIRN_PROFILE_OPEN;
    p->n_notes = 0;
    p->time_ns = (int64_t)cairn_clock_ns(CLOCK_REALTIME);
    s->collect.last = CAIRN_COLLECT_UNKEPT;
    s->window.start_ns = s->end_ns;
}

static int take_rest(struct cairn_sampler *s)
{
    int code = cairn_perf_sampler_settle(&s->perf, &s->collect);
    s->end_ns = cairn_now_ns();
    s->end_all_ns = s->start_all_ns ? cairn_cpu_time_ns() : 0;
    s->end_cpu_ns = cairn_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    if (!s->window.start_ns)
        s->window.start_ns = s->start_ns;
    return code < 0 ? code : cairn_collect_unpack(&s->collect);
}

int cairn_sampler_window(struct cairn_sampler *s, struct cairn_profile **ret_profile,
                         struct cairn_sample_quality *ret_quality, struct cairn_err *err)
{
    struct cairn_sample_quality quality;
    struct cairn_profile *window;
    int code = check(s, err);
    if (code < 0)
        return code;
    if (take_rest(s) < 0)
        return cairn_fail_memory(err);
    code = cairn_profile_new(&window, err);
    if (code < 0)
        return code;
    code = copy_out(s, window, err);
    if (code == CAIRN_OK) {
        measure(s, &quality);
        code = cairn_sampler_note(s, window, &quality) < 0 ? cairn_fail_memory(err) : CAIRN_OK;
    }
    if (code < 0) {
        cairn_profile_free(window);
        return code;
    }
    begin_next(s);
    if (ret_quality)
        cairn_sampler_copy_quality(&quality, ret_quality);
    cairn_profile_drop_index(window);
    *ret_profile = window;
    return CAIRN_OK;
}

int cairn_sampler_set_frequency(struct cairn_sampler *s, double frequency_hz, struct cairn_err *err)
{
    int code = check(s, err);
    if (code < 0)
        return code;
    if (!s->event->is_time || !(frequency_hz >= 1 && frequency_hz <= 1e6))
        return cairn_fail(err, CAIRN_E_ARG, "%g samples a second of CPU time: expected 1 to 1e6",
                          frequency_hz);
    /* The kernel's timer has its period in nanoseconds, whatever it was opened with. */
    uint64_t rate = (uint64_t)((s->perf.events.hardware ? frequency_hz : 1e9 / frequency_hz) + 0.5);
    for (size_t i = 0; i < s->perf.events.n_fds; i++)
        if (ioctl(s->perf.events.fds[i], PERF_EVENT_IOC_PERIOD, &rate) < 0)
            return cairn_fail_os(err, errno, "the rate of samples cannot be changed");
    s->opts.frequency_hz = frequency_hz;
    s->period_ns = (int64_t)(1e9 / frequency_hz);
    s->perf.period_ns = s->perf.walk.period_ns = s->period_ns;
    s->collect.profile->period = s->period_ns;
    return CAIRN_OK;
}
