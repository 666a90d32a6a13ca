/* SPDX-License-Identifier: MIT */
#include "sample/guest_walk.h"

#include "base/alloc.h"
#include "unwind/space.h"

int cairn_guest_walk_open(int pid, struct cairn_guest_walk **ret_walk)
{
    struct cairn_guest_walk *walk = cairn_alloc(1, sizeof *walk);
    *ret_walk = NULL;
    if (!walk)
        return CAIRN_E_NOMEM;
    int code = cairn_unwind_space_open_pid(pid, NULL, &walk->space, NULL);
    if (code < 0) {
        cairn_free(walk);
        return code == CAIRN_E_NOMEM ? code : CAIRN_OK;
    }
    cairn_target_guests_init(&walk->guests, walk->space, pid);
    code = cairn_target_guests_load(&walk->guests);
    if (code == CAIRN_OK && walk->guests.n_modules)
        *ret_walk = walk;
    else
        cairn_guest_walk_close(walk);
    return code;
}

void cairn_guest_walk_close(struct cairn_guest_walk *walk)
{
    if (!walk)
        return;
    cairn_target_guests_done(&walk->guests);
    cairn_unwind_space_free(walk->space);
    cairn_free(walk);
}

const char *cairn_guest_walk_version(const struct cairn_guest_walk *walk)
{
    return walk->guests.n_modules ? walk->guests.modules[0].file->version : "";
}

bool cairn_guest_walk_catch(struct cairn_guest_walk *walk, const struct cairn_cursor_regs *regs,
                            int *ret_code)
{
    struct cairn_target_guests *guests = &walk->guests;
    struct cairn_user_walk *native = &walk->walk;
    struct cairn_cursor cursor;
    struct cairn_cursor_frame frame;
    int result = 1;
    native->n = 0;
    native->n_missing = 0;
    native->end = CAIRN_END_NO_USER;
    guests->is_met = false;
    *ret_code = CAIRN_OK;
    if (cairn_cursor_init(&cursor, walk->space, regs, NULL) < 0)
        return true;
    cairn_cursor_limit(&cursor, 0);
    *ret_code = cairn_target_guests_begin(guests, &cursor);
    while (*ret_code == CAIRN_OK && result == 1) {
        cairn_cursor_frame(&cursor, &frame);
        /* Nothing has called a signal's frame. */
        (void)cairn_user_walk_add(native, frame.ip, frame.exact || frame.signal,
                                  (uint8_t)frame.how);
        result = cairn_target_guests_step(guests, &cursor);
        if (result < 0)
            *ret_code = result;
    }
    native->end = cairn_cursor_end(&cursor);
    cairn_user_walk_close_gap(native);
    if (*ret_code == CAIRN_OK)
        *ret_code = cairn_target_guests_read(guests);
    return *ret_code < 0 || !cairn_target_guests_doubts(guests);
}

int cairn_guest_walk_name(struct cairn_guest_walk *walk)
{
    return cairn_target_guests_name(&walk->guests);
}

bool cairn_guest_walk_met(const struct cairn_guest_walk *walk)
{
    return walk->guests.is_met && walk->guests.result.n_states > 0;
}

bool cairn_guest_walk_is_woven(const struct cairn_guest_walk *walk)
{
    return cairn_guest_walk_met(walk) && !walk->walk.n_missing;
}

const char *cairn_guest_walk_doubt(const struct cairn_guest_walk *walk)
{
    const struct cairn_guest_result *result = &walk->guests.result;
    if (!cairn_guest_walk_met(walk))
        return NULL;
    if (walk->walk.n_missing)
        return "the native stack is deeper than what is kept";
    for (size_t i = 0; i < result->n_states; i++)
        if (result->states[i].doubt)
            return result->states[i].doubt;
    return NULL;
}

const char *cairn_guest_walk_mode(const struct cairn_guest_walk *walk)
{
    return cairn_guest_walk_met(walk) ? walk->guests.result.states[0].mode : NULL;
}
