/* SPDX-License-Identifier: MIT */
/* Quality: one line that says what a capture was worth. */
#include <stdio.h>

#include <cairn/sampler.h>

#include "base/buffer.h"

enum { REASONS_MAX = 6 };

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

static void add_reasons(struct cairn_buffer *line, const struct cairn_profile *profile)
{
    struct cairn_cut_row rows[REASONS_MAX];
    size_t n = cairn_profile_cuts(profile, rows, REASONS_MAX);
    for (size_t i = 0; i < n && i < REASONS_MAX; i++)
        cairn_buffer_printf(line, "%s%llu %s", i ? ", " : ": ",
                            (unsigned long long)rows[i].n_samples, rows[i].reason);
    if (n > REASONS_MAX)
        cairn_buffer_printf(line, ", and %zu more reasons", n - REASONS_MAX);
}

int cairn_sample_quality_text(const struct cairn_sample_quality *quality,
                              const struct cairn_profile *profile, char *buf, size_t size)
{
    struct cairn_buffer line = {0};
    const uint64_t n = quality->n_samples;
    cairn_buffer_printf(&line, "%llu sample%s in %.1f s%s", (unsigned long long)n, plural(n),
                        (double)quality->duration_ns / 1e9,
                        quality->method == CAIRN_SAMPLE_PTRACE ? " by ptrace" : "");
    cairn_buffer_printf(
        &line, ", %llu whole (%.1f %%), %llu cut", (unsigned long long)quality->n_whole,
        n ? 100.0 * (double)quality->n_whole / (double)n : 0.0, (unsigned long long)quality->n_cut);
    add_reasons(&line, profile);
    cairn_buffer_printf(&line, "; %llu lost", (unsigned long long)quality->n_lost);
    if (quality->n_throttled)
        cairn_buffer_printf(&line, ", throttled %llu time%s",
                            (unsigned long long)quality->n_throttled, plural(quality->n_throttled));
    int length = snprintf(buf, size, "%s", cairn_buffer_text(&line));
    cairn_buffer_done(&line);
    return length;
}
