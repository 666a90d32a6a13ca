/* SPDX-License-Identifier: MIT */
/*
 * The Lua stack of a state (lj_frame.h, LJ_FR2): below a frame's base lie the link to its caller
 * and the function.
 *
 *     slot    base-2     base-1   base ...
 *             function   link     arguments, locals
 *
 * The link is a pc to return to, or a distance and a type in its lowest bits.
 */
#include "guest/luajit/luajit.h"
#include "guest/words.h"

enum {
    TYPE_C = 1,
    TYPE_CONTINUATION = 2,
    TYPE_VARARG = 3,
    TYPE_C_PROTECTED = 5,
    TYPE_BITS = 7,
    CONTINUATION_OF_FFI = 1
};

/* Goes to the outer C frame, and gives its saved pc. */
static void leave_run(struct cairn_lj_frames *f)
{
    struct cairn_lj_c_frame frame;
    f->pc = 0;
    f->run++;
    if (!cairn_lj_c_frame_read(f->memory, f->c_frame, &frame)) {
        f->c_frame = 0;
        return;
    }
    f->c_frame = frame.previous > f->c_frame ? frame.previous : 0;
    if (f->c_frame && cairn_lj_c_frame_read(f->memory, f->c_frame, &frame))
        f->pc = frame.pc;
}

/* By a link that is a return address: the instruction before it says where its frame begins. */
static bool to_lua_caller(struct cairn_lj_frames *f, uint64_t link)
{
    uint32_t call;
    if (!cairn_guest_u32(f->any, link - 4, &call))
        return false;
    f->pc = link;
    f->base -= 8 * (2 + (uint64_t)(call >> 8 & 0xff));
    return true;
}

static bool to_caller(struct cairn_lj_frames *f, uint64_t link)
{
    uint64_t words[2]; /* of a continuation: itself, and the pc to go on from */
    unsigned type = link & TYPE_BITS;
    uint64_t delta = link & ~(uint64_t)TYPE_BITS;
    if ((type & 3) == 0)
        return to_lua_caller(f, link);
    if (!delta)
        return false;
    f->skips = type == TYPE_VARARG;
    if (type == TYPE_CONTINUATION) {
        if (!f->memory.read(f->memory.ctx, f->base - 32, words, sizeof words))
            return false;
        f->pc = words[1];
        if (words[0] == CONTINUATION_OF_FFI)
            leave_run(f);
    } else if (type == TYPE_C || type == TYPE_C_PROTECTED) {
        leave_run(f);
    } else if (type != TYPE_VARARG) {
        f->pc = 0;
    }
    f->base -= delta;
    return true;
}

bool cairn_lj_frames_next(struct cairn_lj_frames *f, struct cairn_lj_frame *ret_frame)
{
    uint64_t pair[2]; /* the function, the link */
    while (!f->is_broken && f->base > f->state.stack + 16) {
        uint64_t at = f->base;
        bool is_skipped = f->skips;
        *ret_frame = (struct cairn_lj_frame){.pc = f->pc, .run = f->run, .c_frame = f->c_frame};
        f->skips = false;
        if (at > f->state.max_stack + 4096 || f->run > CAIRN_LJ_RUNS_MAX ||
            !f->memory.read(f->memory.ctx, at - 16, pair, sizeof pair) || !pair[1])
            break;
        uint64_t function = cairn_lj_pointer(pair[0]);
        bool is_dummy = function == f->state.va; /* lj_err_optype_call() */
        if (!is_dummy && !cairn_lj_function_read(f->any, function, &ret_frame->function))
            break;
        if (!to_caller(f, pair[1]) || f->base >= at)
            break;
        if (!is_dummy && !is_skipped)
            return true;
    }
    f->is_broken |= f->base > f->state.stack + 16;
    return false;
}
