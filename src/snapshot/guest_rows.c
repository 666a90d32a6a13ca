/* SPDX-License-Identifier: MIT */
#include "snapshot/guest_rows.h"

#include <string.h>

#include "base/alloc.h"
#include "target/woven.h"

struct weaving {
    struct cairn_stacks *stacks;
    const struct cairn_frame_row *natives;
};

static int add_guest(struct cairn_stacks *stacks, const struct cairn_woven *woven)
{
    const struct cairn_guest_frame *frame = woven->frame;
    struct cairn_frame_row *row = cairn_stacks_new_row(stacks);
    if (!row)
        return CAIRN_E_NOMEM;
    stacks->n_rows++;
    *row = (struct cairn_frame_row){
        .number = woven->number,
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
    const char *path = cairn_target_guests_path(stacks->guests, module);
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

/* The module of the innermost frame that an interpreter has. */
static uint32_t module_met(const struct cairn_target_guests *guests)
{
    for (size_t i = 0; i < guests->n_natives; i++)
        if (guests->natives[i].module != CAIRN_GUEST_NONE)
            return guests->natives[i].module;
    return 0; /* code that an interpreter made */
}

int cairn_guest_rows_unread(struct cairn_stacks *stacks, const char *why)
{
    const struct cairn_target_guests *guests = stacks->guests;
    if (!guests->is_met || !guests->n_modules)
        return CAIRN_OK;
    const struct cairn_guest_state state = {.module = module_met(guests), .doubt = why};
    int code = add_state(stacks, &state);
    if (code == CAIRN_OK)
        stacks->guest_rows[stacks->n_guest_rows - 1].is_unread = true;
    return code;
}

static int add_woven(void *ctx, const struct cairn_woven *woven)
{
    const struct weaving *weaving = ctx;
    return woven->frame ? add_guest(weaving->stacks, woven)
                        : add_native(weaving->stacks, &weaving->natives[woven->native], woven->own);
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
    struct weaving weaving = {stacks, natives};
    code = cairn_target_guests_weave(guests, stacks->profile, add_woven, &weaving);
    for (size_t i = 0; i < result->n_states && code == CAIRN_OK; i++)
        code = add_state(stacks, &result->states[i]);
    cairn_free(natives);
    return code;
}
