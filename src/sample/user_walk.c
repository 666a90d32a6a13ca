/* SPDX-License-Identifier: MIT */
/*
 * A frame with a frame pointer, on x86-64 and aarch64 alike:
 *
 *     fp ──► [ caller's fp ][ return address ]      higher addresses are older
 *
 * Code without frame pointers uses the register for anything, so each step is held against what a
 * frame must be: aligned, above the one before, and a return address that lies in code behind a
 * call. What fails that is dropped and the walk says so.
 *
 * A function that calls nothing needs no frame, and compilers give it none even when asked for
 * frame pointers; nor has any function one before its first or after its last instructions. Then fp
 * is still its caller's, and the walk would miss that caller:
 *
 *     sp ──► [ return address into the caller ]          the caller: found here, "guessed"
 *     fp ──► [ fp of the caller's caller ][ return address into the caller's caller ]
 *
 * It is taken only where the call before it leads to the function that the CPU was in.
 */
#include "sample/user_walk.h"

#include <cairn/frame.h>

#include "bpf/walk.h"

/* A pointer that far above the stack pointer is none. */
enum { STACK_BYTES_MAX = 8 << 20 };

/* A function without a frame is not longer, and has pushed its caller's fp after so many bytes. */
enum { FRAMELESS_BYTES_MAX = 1 << 14, PUSHED_BYTES_MAX = 5 };

struct walker {
    const struct cairn_walk_code *code;
    struct cairn_user_walk *walk;
    bool led_on; /* what frame pointers gave led to the start of a thread, by rules in the end */
};

static const size_t gap_at = CAIRN_WALK_FRAMES_MAX - CAIRN_WALK_OUTER_FRAMES;

bool cairn_user_walk_add(struct cairn_user_walk *walk, struct cairn_stream_frame frame)
{
    size_t at = walk->n;
    if (walk->n_missing == CAIRN_WALK_BEYOND_MAX)
        return false;
    if (at == CAIRN_WALK_FRAMES_MAX)
        at = gap_at + walk->n_missing++ % CAIRN_WALK_OUTER_FRAMES;
    else
        walk->n++;
    walk->frames[at] = frame;
    return true;
}

static void reverse(struct cairn_user_walk *walk, size_t low, size_t high)
{
    for (; low + 1 < high; low++) {
        high--;
        const struct cairn_stream_frame frame = walk->frames[low];
        walk->frames[low] = walk->frames[high];
        walk->frames[high] = frame;
    }
}

/* A rotation by three reversals. */
void cairn_user_walk_close_gap(struct cairn_user_walk *walk)
{
    size_t oldest = gap_at + walk->n_missing % CAIRN_WALK_OUTER_FRAMES;
    if (!walk->n_missing)
        return;
    walk->gap_at = gap_at;
    reverse(walk, gap_at, oldest);
    reverse(walk, oldest, CAIRN_WALK_FRAMES_MAX);
    reverse(walk, gap_at, CAIRN_WALK_FRAMES_MAX);
}

void cairn_user_walk_copy(const struct cairn_user_walk *walk, struct cairn_user_walk *ret_copy)
{
    memcpy(ret_copy->frames, walk->frames, walk->n * sizeof *walk->frames);
    ret_copy->n = walk->n;
    ret_copy->gap_at = walk->gap_at;
    ret_copy->n_missing = walk->n_missing;
    ret_copy->end = walk->end;
}

static bool add(struct walker *w, uint64_t va, enum cairn_frame_how how)
{
    if (w->walk->n == CAIRN_WALK_FRAMES_MAX) {
        w->walk->end = CAIRN_END_MAX_FRAMES;
        return false;
    }
    const struct cairn_stream_frame frame = {
        .va = va, .how = (uint8_t)how, .exact = w->walk->n == 0};
    return cairn_user_walk_add(w->walk, frame);
}

/* Interpreters return to places behind no call: Java's pushes the address of what it made for that.
 * No accident leads from there to where rules go on. */
static bool is_led_through(const struct walker *w, uint64_t va)
{
    return w->led_on && w->code->is_made(w->code->ctx, va);
}

/* False ends the walk, with the reason. */
static bool add_return(struct walker *w, uint64_t va)
{
    if (va && w->code->is_code(w->code->ctx, va) &&
        (w->code->is_return(w->code->ctx, va) || is_led_through(w, va)))
        return add(w, va, CAIRN_HOW_FP);
    w->walk->end = va ? CAIRN_END_OUTSIDE : CAIRN_END_NO_POINTER;
    return false;
}

/* The return address of the function that the CPU was in, where it has no frame (yet, any more);
 * else 0. `next` is the address that the frame pointer gives, 0 for none. */
static uint64_t hidden_caller(const struct walker *w, const struct cairn_user_sample *sample,
                              uint64_t ip, uint64_t next)
{
    const struct cairn_walk_code *code = w->code;
    for (size_t i = 0; i < CAIRN_WALK_TOP_WORDS; i++) {
        uint64_t ret = sample->top[i];
        if (!ret || ret == next || !code->is_code(code->ctx, ret))
            continue;
        uint64_t entry = code->called(code->ctx, ret);
        if (!entry || ip - entry >= (i ? PUSHED_BYTES_MAX + 1 : FRAMELESS_BYTES_MAX))
            continue;
        /* The frame pointer's own caller knows better, where it called a place nearer to here. */
        uint64_t outer = next ? code->called(code->ctx, next) : 0;
        if (!outer || ip - outer > ip - entry)
            return ret;
    }
    return 0;
}

static bool add_leaf(struct walker *w, const struct cairn_user_sample *sample, uint64_t ip,
                     uint64_t next)
{
    if (!add(w, ip, CAIRN_HOW_FP))
        return false;
    uint64_t hidden = hidden_caller(w, sample, ip, next);
    return !hidden || add(w, hidden, CAIRN_HOW_FP_GUESS);
}

static void take_chain(struct walker *w, const struct cairn_user_sample *sample)
{
    uint64_t next = sample->n_chain > 1 ? sample->chain[1] : 0;
    if (!add_leaf(w, sample, sample->chain[0], next))
        return;
    for (size_t i = 1; i < sample->n_chain; i++)
        if (!add_return(w, sample->chain[i]))
            return;
    if (sample->chain_max && sample->n_chain >= sample->chain_max)
        w->walk->end = CAIRN_END_MAX_FRAMES;
}

/* Who has no user side has all of it. */
static enum cairn_unwind_end walked_end_of(const struct cairn_user_sample *sample)
{
    return sample->walked_end == CAIRN_END_KERNEL ? CAIRN_END_OUTERMOST : sample->walked_end;
}

/* A rule is believed; a frame pointer is held against what a frame must be. */
static bool add_walked(struct walker *w, uint64_t frame)
{
    uint64_t va = frame & ~CAIRN_BPF_MARKS;
    return frame & CAIRN_BPF_BY_FP ? add_return(w, va)
                                   : add(w, va, w->walk->n ? CAIRN_HOW_CFI : CAIRN_HOW_START);
}

static void take_walked(struct walker *w, const struct cairn_user_sample *sample)
{
    size_t i = 0;
    for (; i < sample->n_walked; i++) {
        uint64_t frame = sample->walked[cairn_bpf_frame_at(sample->n_beyond, (uint32_t)i)];
        if (!add_walked(w, frame))
            break;
        w->walk->frames[i].exact = i ? (frame & CAIRN_BPF_EXACT) != 0 : !(frame & CAIRN_BPF_BEHIND);
    }
    if (i > CAIRN_BPF_INNER_FRAMES) { /* frames from both sides of the gap are kept */
        w->walk->gap_at = CAIRN_BPF_INNER_FRAMES;
        w->walk->n_missing = sample->n_beyond;
    }
    if (i == sample->n_walked)
        w->walk->end = walked_end_of(sample);
}

static bool leads_on(const struct cairn_user_sample *sample)
{
    if (!sample->walked || !sample->n_walked || sample->walked_end != CAIRN_END_OUTERMOST)
        return false;
    uint32_t last = cairn_bpf_frame_at(sample->n_beyond, (uint32_t)sample->n_walked - 1);
    return !(sample->walked[last] & CAIRN_BPF_BY_FP);
}

/* Was nothing of the user side caught? */
static bool is_nothing(const struct cairn_user_sample *sample)
{
    if (sample->walked)
        return sample->n_walked == 0;
    return sample->chain ? sample->n_chain == 0 : sample->regs.ip == 0;
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
    uint64_t next = 0;
    if (fp >= floor && cairn_span_slice(sample->stack, fp - floor, 2 * width, &frame))
        next = word_at(frame.data + width, width);
    if (!add_leaf(w, sample, sample->regs.ip, next))
        return;
    while (fp >= floor && fp % width == 0) {
        if (!cairn_span_slice(sample->stack, fp - sample->regs.sp, 2 * width, &frame)) {
            bool near = sample->stack_goes_on && fp - sample->regs.sp < STACK_BYTES_MAX;
            w->walk->end = near ? CAIRN_END_COPY : CAIRN_END_OUTSIDE;
            return;
        }
        if (!add_return(w, word_at(frame.data + width, width)))
            return;
        floor = fp + 2 * width;
        fp = word_at(frame.data, width);
    }
}

void cairn_user_walk_on(struct cairn_user_walk *walk, const struct cairn_walk_code *code,
                        const uint64_t *returns, size_t n)
{
    struct walker w = {.code = code, .walk = walk};
    for (size_t i = 0; i < n; i++)
        if (!add_return(&w, returns[i]))
            break;
    if (walk->end != CAIRN_END_MAX_FRAMES)
        walk->end = CAIRN_END_COPY;
}

/* Whatever the register pointed to there. */
void cairn_user_walk_finish(struct cairn_user_walk *walk, const struct cairn_walk_code *code)
{
    if (walk->n && walk->end != CAIRN_END_MAX_FRAMES &&
        code->is_start(code->ctx, walk->frames[walk->n - 1].va))
        walk->end = CAIRN_END_OUTERMOST;
}

void cairn_user_walk(const struct cairn_user_sample *sample, const struct cairn_walk_code *code,
                     struct cairn_user_walk *ret_walk)
{
    struct walker w = {.code = code, .walk = ret_walk, .led_on = leads_on(sample)};
    ret_walk->n = 0;
    ret_walk->n_missing = 0;
    ret_walk->end = CAIRN_END_NO_POINTER;
    if (is_nothing(sample)) {
        bool is_kernel = sample->walked && sample->walked_end == CAIRN_END_KERNEL;
        ret_walk->end = is_kernel ? CAIRN_END_OUTERMOST : CAIRN_END_NO_USER;
        return;
    }
    if (sample->walked)
        take_walked(&w, sample);
    else if (sample->chain)
        take_chain(&w, sample);
    else
        follow_pointers(&w, sample);
    cairn_user_walk_finish(ret_walk, code);
}
