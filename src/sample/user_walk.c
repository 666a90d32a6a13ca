/* SPDX-License-Identifier: MIT */
/*
 * A frame with a frame pointer, on x86-64 and aarch64 alike:
 *
 *     fp ──► [ caller's fp ][ return address ]      higher addresses are older
 *
 * Code without frame pointers uses the register for anything, so each step is held against what a
 * frame must be: aligned, above the one before, and a return address that lies in code behind a
 * call. What fails that is dropped and the walk says so; nothing is guessed.
 */
#include "sample/user_walk.h"

#include <cairn/profile.h>

/* A pointer that far above the stack pointer is none. */
enum { STACK_BYTES_MAX = 8 << 20 };

struct walker {
    const struct cairn_walk_code *code;
    struct cairn_user_walk *walk;
};

static bool add(struct walker *w, uint64_t va)
{
    if (w->walk->n == CAIRN_WALK_FRAMES_MAX) {
        w->walk->end = CAIRN_WALK_DEEP;
        return false;
    }
    w->walk->kinds[w->walk->n] = CAIRN_FRAME_POINTER;
    w->walk->addresses[w->walk->n++] = va;
    return true;
}

/* False ends the walk, with the reason. */
static bool add_return(struct walker *w, uint64_t va)
{
    if (va && w->code->is_code(w->code->ctx, va) && w->code->is_return(w->code->ctx, va))
        return add(w, va);
    w->walk->end = va ? CAIRN_WALK_OUTSIDE : CAIRN_WALK_NO_POINTER;
    return false;
}

static void take_chain(struct walker *w, const struct cairn_user_sample *sample)
{
    if (!add(w, sample->chain[0]))
        return;
    for (size_t i = 1; i < sample->n_chain; i++)
        if (!add_return(w, sample->chain[i]))
            return;
    if (sample->chain_max && sample->n_chain >= sample->chain_max)
        w->walk->end = CAIRN_WALK_DEEP;
}

static uint64_t word_at(const uint8_t *bytes, unsigned width)
{
    uint64_t wide;
    uint32_t narrow;
    if (width == 4) {
        memcpy(&narrow, bytes, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, bytes, sizeof wide);
    return wide;
}

static void follow_pointers(struct walker *w, const struct cairn_user_sample *sample)
{
    unsigned width = sample->regs.width;
    uint64_t fp = sample->regs.fp, floor = sample->regs.sp;
    struct cairn_span frame;
    if (!add(w, sample->regs.ip))
        return;
    while (fp >= floor && fp % width == 0) {
        if (!cairn_span_slice(sample->stack, fp - sample->regs.sp, 2 * width, &frame)) {
            bool near = sample->stack_goes_on && fp - sample->regs.sp < STACK_BYTES_MAX;
            w->walk->end = near ? CAIRN_WALK_COPY : CAIRN_WALK_OUTSIDE;
            return;
        }
        if (!add_return(w, word_at(frame.data + width, width)))
            return;
        floor = fp + 2 * width;
        fp = word_at(frame.data, width);
    }
}

void cairn_user_walk(const struct cairn_user_sample *sample, const struct cairn_walk_code *code,
                     struct cairn_user_walk *ret_walk)
{
    struct walker w = {.code = code, .walk = ret_walk};
    ret_walk->n = 0;
    ret_walk->end = CAIRN_WALK_NO_POINTER;
    if (sample->chain ? sample->n_chain == 0 : sample->regs.ip == 0) {
        ret_walk->end = CAIRN_WALK_NOTHING;
        return;
    }
    if (sample->chain)
        take_chain(&w, sample);
    else
        follow_pointers(&w, sample);
    /* Beyond the start there is nothing to find, whatever the register pointed to there. */
    if (ret_walk->end != CAIRN_WALK_DEEP &&
        code->is_start(code->ctx, ret_walk->addresses[ret_walk->n - 1]))
        ret_walk->end = CAIRN_WALK_WHOLE;
}
