/* SPDX-License-Identifier: MIT */
#include "sample/guest_walk.h"

#include "base/alloc.h"
#include "base/clock.h"
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
    cairn_still_pages_done(&walk->still);
    cairn_unwind_space_free(walk->space);
    cairn_free(walk);
}

const char *cairn_guest_walk_version(const struct cairn_guest_walk *walk)
{
    for (size_t i = 0; i < walk->guests.n_modules; i++)
        if (cairn_guest_has_loop(walk->guests.modules[i].file))
            return walk->guests.modules[i].file->version;
    return "";
}

bool cairn_guest_walk_is_in_loop(const struct cairn_guest_walk *walk, uint64_t va)
{
    for (size_t i = 0; i < walk->guests.n_modules; i++)
        if (cairn_guest_wants_regs(&walk->guests.modules[i], va))
            return true;
    return false;
}

bool cairn_guest_walk_is_in(const struct cairn_guest_walk *walk, uint64_t start, uint64_t end)
{
    for (size_t i = 0; i < walk->guests.n_modules; i++) {
        const struct cairn_guest_module *module = &walk->guests.modules[i];
        if (module->bias + module->file->loop - start < end - start)
            return true;
    }
    return false;
}

size_t cairn_guest_walk_sketch(const struct cairn_guest_walk *walk,
                               struct cairn_guest_sketch *ret_sketches, size_t max)
{
    size_t n = 0;
    for (size_t i = 0; i < walk->guests.n_modules && n < max; i++) {
        const struct cairn_guest_module *module = &walk->guests.modules[i];
        const struct cairn_guest *guest = module->file->guest;
        if (!guest->sketch || !guest->sketch(module->file, &ret_sketches[n]))
            continue;
        ret_sketches[n].loop += module->bias;
        ret_sketches[n++].loop_end += module->bias;
    }
    return n;
}

/* Natives and frames of interpreters, by the memory that the space reads now. */
static int walk_all(struct cairn_guest_walk *walk, const struct cairn_cursor_regs *regs)
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
    if (cairn_cursor_init(&cursor, walk->space, regs, NULL) < 0)
        return CAIRN_OK;
    cairn_cursor_limit(&cursor, 0);
    int code = cairn_target_guests_begin(guests, &cursor);
    while (code == CAIRN_OK && result == 1) {
        cairn_cursor_frame(&cursor, &frame);
        (void)cairn_user_walk_add(native, cairn_copied_frame(&frame));
        result = cairn_target_guests_step(guests, &cursor);
        if (result < 0)
            code = result;
    }
    native->end = cairn_cursor_end(&cursor);
    cairn_user_walk_close_gap(native);
    return code == CAIRN_OK ? cairn_target_guests_read(guests) : code;
}

bool cairn_guest_walk_catch(struct cairn_guest_walk *walk, const struct cairn_cursor_regs *regs,
                            int *ret_code)
{
    walk->guests.constant = (struct cairn_guest_constant){0};
    *ret_code = walk_all(walk, regs);
    return *ret_code < 0 || !cairn_target_guests_doubts(&walk->guests);
}

static bool read_still(void *ctx, uint64_t va, void *to, size_t size)
{
    struct cairn_guest_walk *walk = ctx;
    return cairn_still_pages_read(&walk->still, va, to, size);
}

static void renew_still(void *ctx)
{
    struct cairn_guest_walk *walk = ctx;
    cairn_still_pages_renew(&walk->still);
}

int cairn_guest_walk_catch_copy(struct cairn_guest_walk *walk, const struct cairn_copy *copy,
                                struct cairn_span pieces)
{
    struct cairn_target_pieces in_pieces = {.bytes = pieces};
    struct cairn_target_copy stack = copy->stack;
    stack.pieces = &in_pieces;
    stack.missed = false;
    walk->still.mem = cairn_target_pid_mem(walk->space);
    cairn_still_pages_begin(&walk->still, cairn_now_ns());
    walk->guests.constant = (struct cairn_guest_constant){{read_still, walk}, renew_still};
    cairn_target_pid_copy(walk->space, &stack);
    int code = walk_all(walk, &copy->regs);
    cairn_target_pid_copy(walk->space, NULL);
    if (stack.missed && copy->goes_on && walk->walk.end == CAIRN_END_UNREADABLE)
        walk->walk.end = CAIRN_END_COPY;
    return code;
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
