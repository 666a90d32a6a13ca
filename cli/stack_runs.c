/* SPDX-License-Identifier: MIT */
#include "cli/stack_runs.h"

#include <string.h>

#include "base/escape.h"
#include "cli/numbers.h"

/* A fold replaces WORTH_FRAMES lines or more; NAMES_MAX functions of a period are named. */
enum { PERIOD_MAX = 64, TIMES_MIN = 4, WORTH_FRAMES = 12, NAMES_MAX = 8 };

/* How many frames from `at` on are the same as those `period` before them, and these. */
static uint32_t reach(const uint32_t *keys, uint32_t n, uint32_t at, uint32_t period)
{
    uint32_t end = at + period;
    while (end < n && keys[end] == keys[end - period])
        end++;
    return end - at;
}

bool cli_stack_run_at(const uint32_t *keys, uint32_t n, uint32_t at, struct cli_stack_run *ret_run)
{
    for (uint32_t period = 1; period <= PERIOD_MAX && at + period < n; period++) {
        uint32_t times = reach(keys, n, at, period) / period;
        if (times < TIMES_MIN || (times - 1) * period < WORTH_FRAMES)
            continue;
        *ret_run = (struct cli_stack_run){at, period, times};
        return true;
    }
    return false;
}

static uint32_t hash_text(uint32_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * 16777619u; /* FNV-1a */
    return hash;
}

/* The functions that the frame stands for; 0: it has no name. */
static uint32_t function_key(const struct cairn_profile *profile, uint32_t frame)
{
    struct cairn_frame_info info = {.size = sizeof info};
    struct cairn_frame_line line;
    uint32_t hash = 2166136261u;
    if (cairn_profile_frame(profile, frame, &info) < 0 || !info.n_lines)
        return 0;
    for (uint32_t i = 0; i < info.n_lines; i++)
        if (cairn_profile_frame_line(profile, frame, i, &line) == 0)
            hash = hash_text(hash ^ i, line.function);
    return hash | 1u << 31;
}

void cli_stack_keys(const struct cairn_profile *profile, const uint32_t *frames, uint32_t n,
                    bool by_function, uint32_t *ret_keys)
{
    uint32_t last[4] = {0}, last_key[4] = {0};
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t frame = frames[i], slot = frame % 4;
        if (!by_function || frame == 0) {
            ret_keys[i] = frame;
            continue;
        }
        if (last[slot] != frame) { /* recursion goes through few frames */
            uint32_t key = function_key(profile, frame);
            last[slot] = frame;
            last_key[slot] = key ? key : frame;
        }
        ret_keys[i] = last_key[slot];
    }
}

static void put_name(struct cairn_buffer *out, const struct cairn_profile *profile, uint32_t frame)
{
    struct cairn_frame_info info = {.size = sizeof info};
    struct cairn_frame_line line = {.function = ""};
    if (cairn_profile_frame(profile, frame, &info) < 0)
        return;
    if (info.n_lines)
        (void)cairn_profile_frame_line(profile, frame, info.n_lines - 1, &line);
    if (*line.function) {
        cairn_escape_terminal(out, line.function, strlen(line.function));
        return;
    }
    cli_add_unnamed(out, &info);
}

void cli_stack_run_text(struct cairn_buffer *out, const struct cairn_profile *profile,
                        const uint32_t *frames, const struct cli_stack_run *run)
{
    cli_add_count(out, (uint64_t)run->period * (run->times - 1));
    cairn_buffer_str(out, " frames: ");
    for (uint32_t i = 0; i < run->period && i < NAMES_MAX; i++) {
        cairn_buffer_str(out, i ? " > " : "");
        put_name(out, profile, frames[run->first + i]);
    }
    if (run->period > NAMES_MAX)
        cairn_buffer_printf(out, " > ... (%u functions)", run->period);
    if (run->period > 1) {
        cairn_buffer_str(out, ", ");
        cli_add_count(out, run->times - 1);
        cairn_buffer_str(out, " times");
    }
}
