/* SPDX-License-Identifier: MIT */
/* Which blocks are asked for: options that several parts of cairn heap have. */
#include <string.h>

#include "cli/heap.h"

enum { FRAMES_MAX = 1024, DEPTH_MAX = 1024 };

bool cli_heap_take_seconds(struct cli_args *args, const char *option, const char *value,
                           double *ret_seconds)
{
    if (!cli_args_real(args, option, value, ret_seconds))
        return false;
    if (*ret_seconds >= 0 && *ret_seconds <= 1e9)
        return true;
    cli_args_wrong(args, "--%s: %s, expected seconds", option, value);
    return false;
}

bool cli_heap_take_depth(struct cli_args *args, const char *value, uint32_t *ret_depth)
{
    uint64_t depth;
    if (!cli_args_count(args, "depth", value, DEPTH_MAX, &depth))
        return false;
    *ret_depth = (uint32_t)depth;
    return true;
}

static bool take_older(struct cli_args *args, const char *value, struct cairn_heap_filter *filter)
{
    double seconds = 0;
    bool done = cli_heap_take_seconds(args, "older-than", value, &seconds);
    filter->older_than_ns = (uint64_t)(seconds * 1e9);
    return done;
}

static bool take_since(struct cli_args *args, const char *value, struct cairn_heap_filter *filter)
{
    uint64_t mark;
    if (!cli_args_u64(args, "since-mark", value, &mark))
        return false;
    if (mark == 0 || mark > UINT32_MAX) {
        cli_args_wrong(args, "--since-mark: marks count from 1");
        return false;
    }
    filter->since_mark = (uint32_t)mark;
    return true;
}

bool cli_heap_take_wanted(struct cli_args *args, enum cli_heap_wanted_row row, const char *value,
                          struct cli_heap_wanted *wanted)
{
    switch (row) {
    case CLI_HEAP_WANTED_MIN:
        return cli_args_size(args, "min", value, &wanted->filter.min_bytes);
    case CLI_HEAP_WANTED_OLDER:
        return take_older(args, value, &wanted->filter);
    case CLI_HEAP_WANTED_SINCE:
        return take_since(args, value, &wanted->filter);
    case CLI_HEAP_WANTED_MODULE:
        cli_list_add(&wanted->modules, value);
        return true;
    case CLI_HEAP_WANTED_SUPPRESSIONS:
        wanted->suppressions_file = value;
        return true;
    default:
        wanted->no_defaults = true;
        return true;
    }
}

static bool is_in_module(const struct cli_list *modules, const struct cairn_profile *profile,
                         uint32_t stack)
{
    uint32_t frames[FRAMES_MAX];
    size_t n = cairn_profile_stack(profile, stack, frames, FRAMES_MAX);
    for (size_t i = 0; i < n && i < FRAMES_MAX; i++) {
        struct cairn_frame_info frame = {.size = sizeof frame};
        if (cairn_profile_frame(profile, frames[i], &frame) < 0)
            continue;
        const char *slash = strrchr(frame.module, '/');
        for (size_t k = 0; k < modules->n; k++)
            if (strstr(slash ? slash + 1 : frame.module, modules->items[k]))
                return true;
    }
    return false;
}

void cli_heap_keep_modules(const struct cli_list *modules, const struct cairn_profile *profile,
                           struct cairn_heap_leak *leaks, size_t *n)
{
    size_t kept = 0;
    for (size_t i = 0; modules->n && i < *n; i++)
        if (is_in_module(modules, profile, leaks[i].stack))
            leaks[kept++] = leaks[i];
    if (modules->n)
        *n = kept;
}
