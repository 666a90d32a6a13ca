/* SPDX-License-Identifier: MIT */
#include "snapshot/walk.h"

#include <inttypes.h>
#include <stdio.h>

#include "snapshot/guest_rows.h"
#include "target/pid.h"

int cairn_walk_kernel(struct cairn_stacks *stacks, struct cairn_caught *thread)
{
    const char *name, *rest = cairn_buffer_text(&thread->kernel_text);
    size_t size;
    int code = CAIRN_OK;
    stacks->n_rows = thread->first_row;
    if (thread->way == CAIRN_SNAPSHOT_SAMPLE)
        code = cairn_stacks_add_kernel_at(stacks, thread->kernel, thread->n_kernel);
    else
        while (code == CAIRN_OK && cairn_kernel_frame_next(&rest, &name, &size))
            code = cairn_stacks_add_kernel(stacks, name, size);
    thread->n_kernel_rows = thread->n_rows = stacks->n_rows - thread->first_row;
    return code;
}

static int begin(struct cairn_stacks *stacks, struct cairn_cursor *cursor)
{
    return stacks->guests ? cairn_target_guests_begin(stacks->guests, cursor) : CAIRN_OK;
}

/* As cairn_cursor_step(). CAIRN_E_NOMEM. */
static int step(struct cairn_stacks *stacks, struct cairn_cursor *cursor)
{
    return stacks->guests ? cairn_target_guests_step(stacks->guests, cursor)
                          : cairn_cursor_step(cursor);
}

/* Frames of interpreters are read of memory that stands still. */
static int read_guests(struct cairn_stacks *stacks, struct cairn_caught *thread, bool live)
{
    bool is_met = stacks->guests && stacks->guests->is_met;
    thread->wants_still = is_met && !live;
    thread->wants_weave = is_met && live;
    return thread->wants_weave ? cairn_target_guests_read(stacks->guests) : CAIRN_OK;
}

int cairn_walk_guests(struct cairn_stacks *stacks, struct cairn_caught *thread, const char *unread)
{
    thread->first_guest = stacks->n_guest_rows;
    thread->n_guests = 0;
    int code = CAIRN_OK;
    if (thread->wants_weave)
        code = cairn_target_guests_name(stacks->guests);
    if (thread->wants_weave && code == CAIRN_OK)
        code = cairn_guest_rows_weave(stacks, thread->first_row + thread->n_kernel_rows);
    else if (thread->wants_still)
        code = cairn_guest_rows_unread(stacks, unread);
    thread->wants_weave = thread->wants_still = false;
    thread->n_guests = stacks->n_guest_rows - thread->first_guest;
    thread->n_rows = stacks->n_rows - thread->first_row;
    return code;
}

static int walk(struct cairn_stacks *stacks, struct cairn_unwind_space *space,
                struct cairn_caught *thread, bool live)
{
    struct cairn_cursor cursor;
    struct cairn_cursor_frame frame;
    int code = cairn_walk_kernel(stacks, thread);
    thread->end = CAIRN_END_NO_REGISTER;
    if (code < 0 || cairn_cursor_init(&cursor, space, &thread->regs, NULL) < 0)
        return code;
    bool is_full = stacks->n_rows + CAIRN_CURSOR_MAX_FRAMES > CAIRN_STACK_ROWS_MAX;
    cairn_cursor_limit(&cursor,
                       stacks->max_frames || !is_full ? stacks->max_frames : CAIRN_MAX_FRAMES);
    code = begin(stacks, &cursor);
    for (int result = 1; code == CAIRN_OK && result == 1;) {
        cairn_cursor_frame(&cursor, &frame);
        code = cairn_stacks_add_user(stacks, space, &frame);
        if (code == CAIRN_OK)
            result = step(stacks, &cursor);
        if (result < 0)
            code = result;
    }
    thread->end = cairn_cursor_end(&cursor);
    if (code == CAIRN_OK)
        code = read_guests(stacks, thread, live);
    thread->n_rows = stacks->n_rows - thread->first_row;
    return code;
}

/* Where a read of the stack would wait for somebody, the stack ends there. */
static void keep_detail(struct cairn_unwind_space *space, struct cairn_caught *thread)
{
    const struct cairn_unread *unread = &cairn_target_pid_mem(space)->unread;
    thread->end_detail[0] = 0;
    if (unread->why && thread->end != CAIRN_END_OUTERMOST) {
        snprintf(thread->end_detail, sizeof thread->end_detail, "it goes on at 0x%" PRIx64 ", %s",
                 unread->why_va, unread->why);
        thread->end = CAIRN_END_UNREADABLE;
    }
}

int cairn_walk_user(struct cairn_stacks *stacks, struct cairn_unwind_space *space,
                    struct cairn_caught *thread, bool live, bool *ret_missed)
{
    struct cairn_target_copy copy = {
        .va = thread->copy_va,
        .bytes = {thread->copy, thread->copy_size},
    };
    if (!live)
        cairn_target_pid_copy(space, &copy);
    int code = walk(stacks, space, thread, live);
    if (!live)
        cairn_target_pid_copy(space, NULL);
    if (thread->way != CAIRN_SNAPSHOT_CORE)
        keep_detail(space, thread);
    *ret_missed = copy.missed || thread->wants_still;
    return code;
}
