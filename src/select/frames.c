/* SPDX-License-Identifier: MIT */
/* Frames seen otherwise: without those of some functions, or without addresses and lines. */
#include "base/alloc.h"
#include "base/error.h"
#include "select/select.h"

struct changing {
    struct cairn_profile *p;
    const struct cairn_select_filter *filter;
    struct cairn_profile_line *lines; /* of the frame at hand */
    size_t cap_lines;
    uint8_t *by_function; /* enum cairn_select_verdict; 0: not asked yet */
};

static bool is_hidden(const struct changing *c, uint32_t function)
{
    const char *name = cairn_strings_get(&c->p->strings, c->p->functions[function].name);
    if (!c->by_function[function])
        c->by_function[function] = cairn_select_patterns_find(&c->filter->patterns, name)
                                       ? CAIRN_SELECT_MATCH
                                       : CAIRN_SELECT_NO_MATCH;
    return c->by_function[function] == CAIRN_SELECT_MATCH;
}

/* Source frames that stay; a frame without a name is one by the text that is shown. */
static uint32_t hide_in(const struct changing *c, uint32_t number)
{
    const struct cairn_profile_frame frame = c->p->frames[number];
    char text[512];
    uint32_t n = 0;
    if (!frame.n_lines)
        return cairn_select_patterns_find(&c->filter->patterns,
                                          cairn_profile_frame_text(c->p, number, text, sizeof text))
                   ? 0
                   : number;
    for (uint32_t i = 0; i < frame.n_lines; i++)
        if (!is_hidden(c, c->p->lines[frame.lines + i].function))
            c->lines[n++] = c->p->lines[frame.lines + i];
    return n == frame.n_lines ? number : n ? cairn_profile_add_frame(c->p, &frame, c->lines, n) : 0;
}

/* What is known by its start alone keeps that: it may get its name later. */
static uint32_t widen(const struct changing *c, uint32_t number)
{
    struct cairn_profile_frame frame = c->p->frames[number];
    uint64_t start = 0;
    if (!cairn_profile_is_named(c->p, number) &&
        !cairn_profile_is_function_start(c->p, number, &start))
        return number;
    frame.address = start;
    for (uint32_t i = 0; i < frame.n_lines; i++)
        c->lines[i] =
            (struct cairn_profile_line){.function = c->p->lines[frame.lines + i].function};
    return cairn_profile_add_frame(c->p, &frame, c->lines, frame.n_lines);
}

/* The frame as it is seen; 0: it is not; UINT32_MAX: memory is gone. */
static uint32_t change_frame(struct changing *c, uint32_t number)
{
    if (cairn_grow((void **)&c->lines, &c->cap_lines, (size_t)c->p->frames[number].n_lines + 1,
                   sizeof *c->lines) < 0)
        return UINT32_MAX;
    return c->filter->kind == CAIRN_SELECT_HIDE ? hide_in(c, number) : widen(c, number);
}

/* Parents come before their children. False: memory is gone. */
static bool change_stacks(struct changing *c, const struct cairn_profile_reach *reach,
                          uint32_t *frames, uint32_t *stacks)
{
    struct cairn_profile *p = c->p;
    size_t n_frames = p->n_frames, n_stacks = p->n_stacks;
    for (uint32_t i = 1; i < n_frames; i++)
        if (reach->frames[i] && (frames[i] = change_frame(c, i)) == UINT32_MAX)
            return false;
    for (uint32_t i = 1; i < n_stacks; i++) {
        const struct cairn_profile_stack stack = p->stacks[i];
        if (!reach->stacks[i])
            continue;
        stacks[i] = stacks[stack.parent];
        if (frames[stack.frame])
            stacks[i] = cairn_profile_add_stack(p, stacks[i], frames[stack.frame]);
        if (stacks[i] == UINT32_MAX)
            return false;
    }
    return true;
}

static bool change(struct changing *c, struct cairn_select_filter *filter, uint32_t *stacks)
{
    struct cairn_profile *p = c->p;
    struct cairn_profile_reach reach = {0};
    uint32_t *frames = cairn_alloc(p->n_frames + 1, sizeof *frames);
    bool ok = frames && c->by_function && stacks && cairn_profile_reach(p, &reach) &&
              change_stacks(c, &reach, frames, stacks);
    for (size_t i = 0; ok && i < p->n_samples + p->n_markers; i++) {
        uint32_t *stack = cairn_profile_stack_of(p, i);
        if (i < p->n_samples && stacks[*stack] != *stack)
            filter->n_samples += cairn_profile_weight(p, i);
        *stack = stacks[*stack];
    }
    cairn_profile_reach_done(&reach);
    cairn_free(frames);
    return ok && cairn_profile_sum_equal(p) == CAIRN_OK;
}

int cairn_select_change_frames(struct cairn_select_filter *filter, struct cairn_profile *p,
                               struct cairn_err *err)
{
    struct changing c = {.p = p,
                         .filter = filter,
                         .by_function = cairn_alloc(p->n_functions + 1, sizeof *c.by_function)};
    uint32_t *stacks = cairn_alloc(p->n_stacks + 1, sizeof *stacks);
    bool ok = change(&c, filter, stacks);
    cairn_free(stacks);
    cairn_free(c.lines);
    cairn_free(c.by_function);
    return ok ? CAIRN_OK : cairn_fail_memory(err);
}
