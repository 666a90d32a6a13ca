/* SPDX-License-Identifier: MIT */
/* Worth: what a capture was worth, in numbers, and as notes of its profile. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "sample/sampler_state.h"

enum { QUALITY_BYTES = 4096 };

static void measure_walk(const struct cairn_sampler *s, struct cairn_sample_quality *quality)
{
    struct cairn_walker_stats stats;
    if (!s->perf.is_walked)
        return;
    cairn_walker_stats(s->perf.walk.walker, &stats);
    /* Runs that found nothing to do are no samples; statistics may be on for a part of the time. */
    uint64_t n = stats.n_runs < stats.n_samples ? stats.n_runs : stats.n_samples;
    quality->walk_ns = n ? stats.run_ns / n : 0;
    quality->n_lost +=
        cairn_walk_intake_lost(&s->perf.walk, quality->n_samples + quality->n_unkept);
}

static void log_copies(const struct cairn_sampler *s)
{
    struct cairn_walker_stats stats;
    if (!s->perf.is_walked)
        return;
    cairn_walker_stats(s->perf.walk.walker, &stats);
    cairn_log(CAIRN_LOG_INFO, "%llu stacks came with a copy", (unsigned long long)stats.n_copied);
}

static void log_lost_times(const struct cairn_sampler *s)
{
    const struct cairn_off_cpu *off =
        s->perf.is_walked ? cairn_walker_off_cpu(s->perf.walk.walker) : NULL;
    if (off)
        cairn_log(CAIRN_LOG_INFO,
                  "of the times off the CPU that were lost, the end of %llu was not seen, %llu had "
                  "no room in the kernel, and of %llu the stack did not come",
                  (unsigned long long)cairn_off_cpu_unseen(off),
                  (unsigned long long)(cairn_off_cpu_lost(off) - cairn_off_cpu_unseen(off)),
                  (unsigned long long)(s->perf.walk.sums.n_lost - cairn_off_cpu_lost(off)));
}

void cairn_sampler_measure(const struct cairn_sampler *s, struct cairn_sample_quality *ret_quality)
{
    struct cairn_sample_quality quality = {
        .size = sizeof quality,
        .n_samples = s->collect.n_samples,
        .n_whole = s->collect.n_whole,
        .n_cut = s->collect.n_cut,
        .n_unkept = s->collect.n_unkept,
        .n_folded = s->collect.n_folded,
        .n_guest = s->collect.n_guest,
        .n_doubt = s->collect.n_doubt,
        .n_unread = s->collect.n_unread,
        .n_lost = cairn_perf_sampler_lost(&s->perf) + s->ptrace.n_late,
        .n_throttled = s->perf.n_throttled,
        .duration_ns = s->end_ns - s->start_ns,
        .n_threads = s->collect.n_threads,
        .n_processes = s->collect.n_processes,
        .method = s->method,
        .has_kernel = s->perf.events.has_kernel,
        .hardware_event = s->perf.events.hardware,
        .exit_status = s->exit_status,
        .cpu_ns = cairn_perf_cpu_ns(&s->perf.events) + s->end_all_ns - s->start_all_ns,
        .period_ns = (uint64_t)s->period_ns,
        .own_ns = s->end_cpu_ns - s->start_cpu_ns,
        .off_cpu = s->opts.off_cpu != 0,
        .value = s->event->is_time ? 0 : (uint64_t)s->collect.value,
        .event = s->opts.event,
        .event_period = s->opts.event_period,
        .frequency_hz = s->opts.frequency_hz,
    };
    measure_walk(s, &quality);
    cairn_sampler_copy_quality(&quality, ret_quality);
}

void cairn_sampler_copy_quality(const struct cairn_sample_quality *quality,
                                struct cairn_sample_quality *ret_quality)
{
    size_t size = ret_quality->size < sizeof *quality ? ret_quality->size : sizeof *quality;
    memcpy((char *)ret_quality + sizeof size, (const char *)quality + sizeof size,
           size > sizeof size ? size - sizeof size : 0);
}

/* By how much the samples' times are later than CLOCK_MONOTONIC. */
static int add_clock(const struct cairn_sampler *s, struct cairn_profile *p)
{
    char text[64];
    if (!s->collect.has_times)
        return CAIRN_OK;
    snprintf(text, sizeof text, "%" PRIu64 " ns", s->collect.to_real_ns);
    return cairn_profile_add_note(p, CAIRN_NOTE_CLOCK, text);
}

int cairn_sampler_note(const struct cairn_sampler *s, struct cairn_profile *p,
                       const struct cairn_sample_quality *quality)
{
    char line[QUALITY_BYTES];
    int code = CAIRN_OK;
    if (s->command.size)
        code = cairn_profile_add_note(p, CAIRN_NOTE_COMMAND, cairn_buffer_text(&s->command));
    if (code == CAIRN_OK && s->collect.kernel_module)
        code = cairn_profile_add_note(p, CAIRN_NOTE_KERNEL, s->collect.kernel.release);
    if (code == CAIRN_OK)
        code = add_clock(s, p);
    cairn_sample_quality_text(quality, p, line, sizeof line);
    return code == CAIRN_OK ? cairn_profile_add_note(p, CAIRN_NOTE_QUALITY, line) : code;
}

int cairn_sampler_add_notes(struct cairn_sampler *s)
{
    struct cairn_sample_quality quality = {.size = sizeof quality};
    log_copies(s);
    log_lost_times(s);
    cairn_sampler_measure(s, &quality);
    return cairn_sampler_note(s, s->collect.profile, &quality);
}
