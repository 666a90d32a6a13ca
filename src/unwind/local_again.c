/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * The stack of last time, at other call sites perhaps: what a loop that allocates has nearly
 * always. No more is done than to prove that, eight frames at a time.
 */
#include "unwind/local_cache.h"
#include "unwind/local_rest.h"
#include "unwind/local_walk.h"

enum { N = CAIRN_LOCAL_FRAMES, FEW = 4, MANY = 8 };

#define FAILED UINT32_MAX

CAIRN_READS_FRAMES uint32_t asks_of_four(const struct cairn_local_frame *frame)
{
    return (frame[0].slot | frame[1].slot) | (frame[2].slot | frame[3].slot);
}

/* Frames that ask for nothing but their return address, and whose slots are on one page: so what is
 * read behind the first that may be another one is there. */
CAIRN_READS_FRAMES bool are_simple(const struct cairn_local_frame *frame, uintptr_t base, int n)
{
    uint32_t asks = asks_of_four(frame) | (n == MANY ? asks_of_four(frame + FEW) : 0);
    uintptr_t first = base + frame[0].slot, last = base + frame[n - 1].slot;
    return ((asks & CAIRN_LOCAL_ASKS) | ((first ^ last) & ~(uintptr_t)(CAIRN_LOCAL_PAGE - 1))) == 0;
}

CAIRN_READS_FRAMES uintptr_t difference(const struct cairn_local_frame *frame, uintptr_t base)
{
    return cairn_local_word_at(base + frame->slot) ^ frame->ret;
}

CAIRN_READS_FRAMES uintptr_t difference_of_four(const struct cairn_local_frame *frame,
                                                uintptr_t base)
{
    return (difference(frame, base) | difference(frame + 1, base)) |
           (difference(frame + 2, base) | difference(frame + 3, base));
}

/* Of simple ones: all where they were? */
CAIRN_READS_FRAMES bool all_return(const struct cairn_local_frame *frame, uintptr_t base, int n)
{
    return (difference_of_four(frame, base) |
            (n == MANY ? difference_of_four(frame + FEW, base) : 0)) == 0;
}

/* The rule of the code is not where it is looked for first. */
__attribute__((noinline)) CAIRN_WALKS_FRAMES static bool
has_rule(const struct cairn_local_frame *frame, uintptr_t ret)
{
    uint32_t rule = cairn_local_rule(frame);
    return ret == frame->ret ||
           (cairn_fast_is_plain(rule) && cairn_local_cache_has(cairn_fast_lookup_va(ret), rule));
}

/* The frame, whatever call of its rule it is in. `ret_kept` is where it ends, if that is another
 * one: which calls are is as good as random, and must be no branch. */
CAIRN_READS_FRAMES bool relay(struct cairn_local_frame *frame, uintptr_t ret,
                              const struct cairn_local_frame **ret_kept)
{
    uintptr_t va = cairn_fast_lookup_va(ret);
    if (__builtin_expect(!cairn_local_cache_is_home(va, cairn_local_rule(frame)), 0) &&
        !has_rule(frame, ret))
        return false;
    if (__builtin_expect_with_probability(ret != frame->ret, 1, 0.5))
        *ret_kept = frame + 1;
    frame->ret = ret;
    return true;
}

/* The first of `n` simple frames that is not proven. A rule that is not plain asks for more, but
 * for the outermost frame's, from which nothing hangs. */
CAIRN_READS_FRAMES struct cairn_local_frame *relay_all(struct cairn_local_frame *frame,
                                                       uintptr_t base, int n,
                                                       const struct cairn_local_frame **ret_kept)
{
    for (const struct cairn_local_frame *end = frame + n; frame < end; frame++)
        if (!relay(frame, cairn_local_word_at(base + frame->slot), ret_kept))
            break;
    return frame;
}

/* Singly, up to `end`; the first that is not proven here. */
CAIRN_READS_FRAMES struct cairn_local_frame *skip_singly(struct cairn_local_frame *frame,
                                                         const struct cairn_local_frame *end,
                                                         uintptr_t base,
                                                         const struct cairn_local_frame **ret_kept)
{
    for (; frame < end && !(frame->slot & CAIRN_LOCAL_ASKS); frame++) {
        uintptr_t ret = cairn_local_word_at(base + frame->slot);
        if (ret != frame->ret && !relay(frame, ret, ret_kept))
            break;
    }
    return frame;
}

/* The first frame from `frame` on that is not proven here. */
CAIRN_READS_FRAMES struct cairn_local_frame *skip_again(struct cairn_local_frame *frame,
                                                        const struct cairn_local_frame *end,
                                                        uintptr_t base,
                                                        const struct cairn_local_frame **ret_kept)
{
    while (end - frame >= MANY && are_simple(frame, base, MANY) && all_return(frame, base, MANY))
        frame += MANY;
    while (end - frame >= FEW) {
        struct cairn_local_frame *next = frame + FEW;
        if (!are_simple(frame, base, FEW))
            frame = skip_singly(frame, next, base, ret_kept);
        else if (!all_return(frame, base, FEW))
            frame = relay_all(frame, base, FEW, ret_kept);
        else
            frame = next;
        if (frame != next)
            return frame;
    }
    return skip_singly(frame, end, base, ret_kept);
}

/* From the frame before `place` on by what can prove all. Returns from where on outwards no address
 * was changed, or FAILED. */
__attribute__((noinline)) CAIRN_WALKS_FRAMES static uint32_t
compare_rest(struct cairn_local_state *s, uint32_t place)
{
    struct cairn_local_walk w = {.state = s, .rest = s->hot.rest};
    return cairn_local_compare(&w, place - 1) == w.rest ? s->hot.kept_from : FAILED;
}

CAIRN_READS_FRAMES struct cairn_local_again look(struct cairn_local_state *s, uintptr_t ret,
                                                 uintptr_t sp, uintptr_t fp)
{
    static const struct cairn_local_again not_again;
    struct cairn_local_hot *hot = &s->hot;
    uint32_t top = hot->top;
    struct cairn_local_frame *frame = &s->frames[top], *behind = frame + 1;
    const struct cairn_local_frame *end = &s->frames[N], *kept = frame;
    if (__builtin_expect(hot->rest != N || hot->is_open ||
                             top - CAIRN_LOCAL_SPARE >= CAIRN_MAX_FRAMES || hot->kept_end != N ||
                             (!CAIRN_FAST_RA && cairn_local_slot_va(s, frame) != sp),
                         0) ||
        cairn_local_sp_at(s, top) != sp ||
        (frame->rule & CAIRN_LOCAL_NEEDS_FP && s->asides[top].fp != fp))
        return not_again;
    if (frame->ret != ret &&
        (!cairn_fast_is_plain(cairn_local_rule(frame)) || !relay(frame, ret, &kept)))
        return not_again;
    if (!(frame->slot & CAIRN_LOCAL_HAS_WORDS))
        behind = skip_again(behind, end, hot->base, &kept);
    uint32_t from = (uint32_t)(kept - s->frames);
    from = from > hot->kept_from ? from : hot->kept_from;
    if (__builtin_expect(behind != end, 0)) {
        hot->kept_from = from;
        uint32_t more = compare_rest(s, (uint32_t)(behind - s->frames));
        if (more == FAILED)
            return not_again;
        from = more > from ? more : from;
    }
    hot->kept_from = top;
    return (struct cairn_local_again){frame, N - top, N - from};
}

__attribute__((hot)) CAIRN_WALKS_FRAMES struct cairn_local_again
cairn_local_again(uintptr_t ret, uintptr_t sp, uintptr_t fp)
{
    struct cairn_local_state *state = cairn_local_mine.state;
    if (__builtin_expect(!cairn_local_state_is_ready(state), 0))
        return (struct cairn_local_again){0};
    cairn_local_state_take(state, sp);
    struct cairn_local_again again = look(state, ret, sp, fp);
    cairn_local_state_leave(state);
    return again;
}
