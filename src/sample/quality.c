/* SPDX-License-Identifier: MIT */
/* Quality: one line that says what a capture was worth. */
#include <stdio.h>

#include <cairn/sampler.h>

#include "base/buffer.h"
#include "profile/profile.h"
#include "sample/event.h"

enum { REASONS_MAX = 6, EXPECTED_MIN = 20, MISSED_PART = 20 };

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* Stacks with a gap have their root, and are neither whole nor cut. */
static void add_cuts(struct cairn_buffer *line, const struct cairn_sample_quality *quality,
                     const struct cairn_profile *profile)
{
    struct cairn_cut_row rows[REASONS_MAX];
    struct cairn_profile_stats stats = {.size = sizeof stats};
    size_t n = cairn_profile_cuts(profile, rows, REASONS_MAX);
    cairn_profile_stats(profile, &stats);
    uint64_t n_gap = stats.n_gap < quality->n_cut ? stats.n_gap : quality->n_cut;
    if (n_gap)
        cairn_buffer_printf(line, ", %llu with a " CAIRN_PROFILE_GAP, (unsigned long long)n_gap);
    cairn_buffer_printf(line, ", %llu cut", (unsigned long long)(quality->n_cut - n_gap));
    for (size_t i = 0; i < n && i < REASONS_MAX; i++)
        cairn_buffer_printf(line, "%s%llu %s", i ? ", " : ": ",
                            (unsigned long long)rows[i].n_samples, rows[i].reason);
    if (n > REASONS_MAX)
        cairn_buffer_printf(line, ", and %zu more reasons", n - REASONS_MAX);
}

/* Of what the CPU time should have given. The kernel's timer begins anew with each thread, so that
 * one which uses less than a period is never seen: a program of such threads would look idle. It
 * also leaves ticks out where the CPU was elsewhere when they were due. Without kernel frames
 * nobody knows how much of the CPU time could have been sampled; then only a very few are
 * suspicious. The CPU's own counter is not that exact. */
static void add_missed(struct cairn_buffer *line, const struct cairn_sample_quality *quality)
{
    uint64_t expected = quality->period_ns ? quality->cpu_ns / quality->period_ns : 0;
    uint64_t seen = quality->n_samples + quality->n_unkept + quality->n_lost;
    if (expected < EXPECTED_MIN || seen >= expected)
        return;
    uint64_t missed = expected - seen;
    bool are_few = seen * (quality->has_kernel ? 2 : 10) < expected;
    bool are_counted = quality->has_kernel && !quality->hardware_event;
    if (!are_few && (!are_counted || missed * MISSED_PART < expected))
        return;
    cairn_buffer_printf(line, ", about %llu missed (%.1f s of CPU time were used)",
                        (unsigned long long)missed, (double)quality->cpu_ns / 1e9);
    if (are_few)
        cairn_buffer_printf(line,
                            ": %sthreads that use less than %.3g ms of it are not seen, sample "
                            "faster",
                            quality->has_kernel ? "" : "time in the kernel is not sampled, and ",
                            (double)quality->period_ns / 1e6);
}

static void add_costs(struct cairn_buffer *line, const struct cairn_sample_quality *quality)
{
    if (quality->own_ns)
        cairn_buffer_printf(line, "; recorder %.2f s of CPU", (double)quality->own_ns / 1e9);
    if (quality->walk_ns)
        cairn_buffer_printf(line, ", and %.2f s in the kernel, %.1f us a sample",
                            (double)quality->walk_ns * (double)quality->n_samples / 1e9,
                            (double)quality->walk_ns / 1e3);
}

/* "12 samples of 1200 page-faults (1 in 100)" */
static void add_events(struct cairn_buffer *line, const struct cairn_sample_quality *quality)
{
    const struct cairn_event *event = cairn_event_get((enum cairn_sample_event)quality->event);
    const unsigned long long n = quality->n_samples;
    cairn_buffer_printf(line, "%llu sample%s of %llu %s", n, plural(n),
                        (unsigned long long)quality->value,
                        event && !event->is_time ? event->name : "events");
    if (quality->event_period == 1)
        cairn_buffer_printf(line, " (each)");
    else if (quality->event_period)
        cairn_buffer_printf(line, " (1 in %llu)", (unsigned long long)quality->event_period);
    else if (quality->frequency_hz > 0)
        cairn_buffer_printf(line, " (up to %g a second)", quality->frequency_hz);
}

static void add_count(struct cairn_buffer *line, const struct cairn_sample_quality *quality)
{
    const unsigned long long n = quality->n_samples;
    if (quality->off_cpu)
        cairn_buffer_printf(line, "%llu time%s off the CPU, %.2f s together,", n, plural(n),
                            (double)quality->value / 1e9);
    else if (quality->value)
        add_events(line, quality);
    else
        cairn_buffer_printf(line, "%llu sample%s", n, plural(n));
}

static const char *method_text(int method)
{
    if (method == CAIRN_SAMPLE_PTRACE)
        return " by ptrace";
    if (method == CAIRN_SAMPLE_DUMP)
        return " by unwind tables from copies";
    return method == CAIRN_SAMPLE_BPF ? " by unwind tables" : "";
}

int cairn_sample_quality_text(const struct cairn_sample_quality *quality,
                              const struct cairn_profile *profile, char *buf, size_t size)
{
    struct cairn_buffer line = {0};
    const uint64_t n = quality->n_samples;
    add_count(&line, quality);
    cairn_buffer_printf(&line, " in %.1f s%s", (double)quality->duration_ns / 1e9,
                        method_text(quality->method));
    cairn_buffer_printf(&line, ", %llu whole (%.1f %%)", (unsigned long long)quality->n_whole,
                        n ? 100.0 * (double)quality->n_whole / (double)n : 0.0);
    add_cuts(&line, quality, profile);
    if (quality->n_guest || quality->n_unread)
        cairn_buffer_printf(&line, "; %llu with frames of an interpreter, %llu of them in doubt",
                            (unsigned long long)quality->n_guest,
                            (unsigned long long)quality->n_doubt);
    if (quality->n_unread)
        cairn_buffer_printf(&line, ", missing of %llu more", (unsigned long long)quality->n_unread);
    cairn_buffer_printf(&line, "; %llu lost", (unsigned long long)quality->n_lost);
    if (quality->n_unkept)
        cairn_buffer_printf(&line, ", %llu not kept: no memory for more samples",
                            (unsigned long long)quality->n_unkept);
    if (quality->n_throttled)
        cairn_buffer_printf(&line, ", throttled %llu time%s",
                            (unsigned long long)quality->n_throttled, plural(quality->n_throttled));
    add_missed(&line, quality);
    if (quality->n_folded)
        cairn_buffer_printf(&line, "; %llu ended thread%s told by name alone",
                            (unsigned long long)quality->n_folded, plural(quality->n_folded));
    add_costs(&line, quality);
    int length = snprintf(buf, size, "%s", cairn_buffer_text(&line));
    cairn_buffer_done(&line);
    return length;
}
