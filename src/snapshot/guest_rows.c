/* SPDX-License-Identifier: MIT */
#include "snapshot/guest_rows.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "guest/weave.h"

enum { NAME_ROOM = CAIRN_GUEST_NAME_MAX + 64 };

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

/* Its number in the profile; UINT32_MAX: memory is gone. The frames that are inlined into it come
 * first, as a frame's lines do: frames [first, last] of the result. */
static uint32_t add_to_profile(struct cairn_profile *p, const struct cairn_guest_result *result,
                               size_t first, size_t last)
{
    enum { LINES_MAX = 64 };
    struct cairn_profile_line lines[LINES_MAX];
    uint32_t n = 0;
    const struct cairn_profile_frame in_profile = {
        .what = CAIRN_WHAT_INTERPRETED,
        .how = CAIRN_HOW_INTERPRETER,
        .language = CAIRN_LANGUAGE_LUA,
    };
    for (size_t i = first; i <= last && n < LINES_MAX; i++) {
        const struct cairn_guest_frame *frame = &result->frames[i];
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
            return UINT32_MAX;
        lines[n].function = cairn_profile_add_function(p, &function);
        lines[n++].line = frame->line;
        if (lines[n - 1].function == UINT32_MAX)
            return UINT32_MAX;
    }
    return cairn_profile_add_frame(p, &in_profile, lines, n);
}

/* A C function that has no name for the interpreter is known by its native frame alone. */
static bool is_worth(const struct cairn_target_guests *guests,
                     const struct cairn_guest_frame *frame)
{
    return frame->kind != CAIRN_GUEST_C || frame->name || !frame->place ||
           guests->natives[frame->place - 1].function != frame->id;
}

static int add_guest(struct cairn_stacks *stacks, size_t first, size_t last)
{
    const struct cairn_guest_result *result = &stacks->guests->result;
    const struct cairn_guest_frame *frame = &result->frames[last];
    uint32_t number = add_to_profile(stacks->profile, result, first, last);
    struct cairn_frame_row *row = number == UINT32_MAX ? NULL : cairn_stacks_new_row(stacks);
    if (!row)
        return CAIRN_E_NOMEM;
    stacks->n_rows++;
    *row = (struct cairn_frame_row){
        .number = number,
        .how = CAIRN_HOW_INTERPRETER,
        .is_guest = true,
        .guest_kind = frame->kind,
        .is_tail_called = frame->is_tail_called,
        .is_about = frame->is_about,
        .trace = frame->trace,
    };
    return CAIRN_OK;
}

/* A native row again, as the interpreter's own code where it is that. */
static int add_native(struct cairn_stacks *stacks, const struct cairn_frame_row *native, bool own)
{
    struct cairn_frame_row *row = cairn_stacks_new_row(stacks);
    if (!row)
        return CAIRN_E_NOMEM;
    stacks->n_rows++;
    *row = *native;
    if (!own)
        return CAIRN_OK;
    struct cairn_profile_frame frame = stacks->profile->frames[native->number];
    frame.own = row->own = true;
    row->number = cairn_profile_add_frame(stacks->profile, &frame, NULL, 0);
    return row->number == UINT32_MAX ? CAIRN_E_NOMEM : CAIRN_OK;
}

static int add_state(struct cairn_stacks *stacks, const struct cairn_guest_state *state)
{
    const struct cairn_guest_module *module = &stacks->guests->modules[state->module];
    if (cairn_grow((void **)&stacks->guest_rows, &stacks->cap_guest_rows, stacks->n_guest_rows + 1,
                   sizeof *stacks->guest_rows) < 0)
        return CAIRN_E_NOMEM;
    struct cairn_guest_row *row = &stacks->guest_rows[stacks->n_guest_rows++];
    const struct cairn_space_place *place =
        cairn_space_at(stacks->guests->space, module->bias + module->file->loop);
    const char *path = place && place->region.path ? place->region.path : "";
    *row = (struct cairn_guest_row){
        .name = module->file->guest->name,
        .module = cairn_profile_text(stacks->profile, path, strlen(path)),
        .va = state->va,
        .mode = state->mode,
        .reason = state->doubt,
    };
    memcpy(row->version, module->file->version, sizeof row->version);
    return row->module == UINT32_MAX ? CAIRN_E_NOMEM : CAIRN_OK;
}

static int weave(struct cairn_stacks *stacks, const struct cairn_frame_row *natives, size_t n)
{
    const struct cairn_guest_result *result = &stacks->guests->result;
    struct cairn_guest_weave at = {0};
    struct cairn_guest_item item;
    size_t first_inlined = SIZE_MAX;
    int code = CAIRN_OK;
    while (code == CAIRN_OK && cairn_guest_weave_next(&at, n, result, &item)) {
        if (!item.is_guest) {
            code = add_native(stacks, &natives[item.index], result->own[item.index]);
            continue;
        }
        const struct cairn_guest_frame *frame = &result->frames[item.index];
        if (first_inlined == SIZE_MAX)
            first_inlined = item.index;
        if (frame->is_inlined)
            continue;
        if (is_worth(stacks->guests, frame))
            code = add_guest(stacks, first_inlined, item.index);
        first_inlined = SIZE_MAX;
    }
    return code;
}

int cairn_guest_rows_weave(struct cairn_stacks *stacks, size_t first)
{
    const struct cairn_target_guests *guests = stacks->guests;
    const struct cairn_guest_result *result = &guests->result;
    size_t n = stacks->n_rows - first;
    int code = CAIRN_OK;
    if (!guests->is_met || !result->n_states || n != guests->n_natives)
        return CAIRN_OK;
    struct cairn_frame_row *natives = cairn_alloc(n, sizeof *natives);
    if (!natives)
        return CAIRN_E_NOMEM;
    memcpy(natives, stacks->rows + first, n * sizeof *natives);
    stacks->n_rows = first;
    code = weave(stacks, natives, n);
    for (size_t i = 0; i < result->n_states && code == CAIRN_OK; i++)
        code = add_state(stacks, &result->states[i]);
    cairn_free(natives);
    return code;
}
