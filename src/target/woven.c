/* SPDX-License-Identifier: MIT */
#include "target/woven.h"

#include <stdio.h>
#include <string.h>

#include "guest/weave.h"

enum { NAME_ROOM = CAIRN_GUEST_NAME_MAX + 64, LINES_MAX = 64 };

/* What a frame is called: its name, else where it is defined. */
static void name_of(const struct cairn_guest_result *result, const struct cairn_guest_frame *frame,
                    char *to, size_t room)
{
    const char *name = cairn_strings_get(&result->strings, frame->name);
    const char *chunk = cairn_strings_get(&result->strings, frame->chunk);
    if (*name)
        snprintf(to, room, "%s", name);
    else if (frame->kind == CAIRN_GUEST_CHUNK)
        snprintf(to, room, "main chunk");
    else if (frame->kind == CAIRN_GUEST_C)
        snprintf(to, room, "C function");
    else
        snprintf(to, room, "function <%s:%u>", chunk, frame->defined);
}

static bool add_line(struct cairn_profile *p, const struct cairn_guest_result *result,
                     const struct cairn_guest_frame *frame, struct cairn_profile_line *ret_line)
{
    const char *chunk = cairn_strings_get(&result->strings, frame->chunk);
    char name[NAME_ROOM];
    name_of(result, frame, name, sizeof name);
    struct cairn_profile_function function = {
        .name = cairn_profile_text(p, name, strlen(name)),
        .file = cairn_profile_text(p, chunk, strlen(chunk)),
        .start_line = frame->defined,
    };
    function.system_name = function.name;
    if (function.name == UINT32_MAX || function.file == UINT32_MAX)
        return false;
    *ret_line = (struct cairn_profile_line){cairn_profile_add_function(p, &function), frame->line};
    return ret_line->function != UINT32_MAX;
}

/* The number in the profile of frames [first, last] of the result, of which all but the last are
 * inlined into the next. UINT32_MAX: the profile takes it not. */
static uint32_t add_frame(struct cairn_profile *p, const struct cairn_target_guests *guests,
                          size_t first, size_t last)
{
    const struct cairn_guest_result *result = &guests->result;
    const struct cairn_guest_state *state = &result->states[result->frames[first].state];
    struct cairn_profile_line lines[LINES_MAX];
    uint32_t n = 0;
    const struct cairn_profile_frame in_profile = {
        .what = CAIRN_WHAT_INTERPRETED,
        .how = CAIRN_HOW_INTERPRETER,
        .language = (uint8_t)guests->modules[state->module].file->guest->language,
    };
    for (size_t i = first; i <= last && n < LINES_MAX; i++)
        if (!add_line(p, result, &result->frames[i], &lines[n++]))
            return UINT32_MAX;
    return cairn_profile_add_frame(p, &in_profile, lines, n);
}

/* A C function that has no name for the interpreter is known by its native frame alone. */
static bool is_worth(const struct cairn_target_guests *guests,
                     const struct cairn_guest_frame *frame)
{
    return frame->kind != CAIRN_GUEST_C || frame->name || !frame->place ||
           guests->natives[frame->place - 1].function != frame->id;
}

int cairn_target_guests_weave(const struct cairn_target_guests *guests,
                              struct cairn_profile *profile, cairn_woven_fn fn, void *ctx)
{
    const struct cairn_guest_result *result = &guests->result;
    struct cairn_guest_weave at = {0};
    struct cairn_guest_item item;
    size_t first_inlined = SIZE_MAX;
    int code = CAIRN_OK;
    if (!guests->is_met || !result->n_states)
        return CAIRN_OK;
    while (code == CAIRN_OK && cairn_guest_weave_next(&at, guests->n_natives, result, &item)) {
        struct cairn_woven woven = {.native = item.index};
        if (!item.is_guest) {
            woven.own = result->own[item.index];
            code = fn(ctx, &woven);
            continue;
        }
        woven.frame = &result->frames[item.index];
        if (first_inlined == SIZE_MAX)
            first_inlined = item.index;
        if (woven.frame->is_inlined)
            continue;
        if (is_worth(guests, woven.frame)) {
            woven.number = add_frame(profile, guests, first_inlined, item.index);
            if (woven.number == UINT32_MAX)
                return profile->closed ? CAIRN_E_LIMIT : CAIRN_E_NOMEM;
            code = fn(ctx, &woven);
        }
        first_inlined = SIZE_MAX;
    }
    return code;
}
