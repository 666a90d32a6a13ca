/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * The stack of last time, at other call sites perhaps, or but for some inner frames: what a
 * program that allocates has nearly always. No more is done than to walk those, where each rule is
 * the stack pointer plus a number, and to prove the others, eight at a time. All that it takes is
 * in registers; whatever asks for more is the other walk's (local_fast.c).
 */
#include "unwind/local_cache.h"
#include "unwind/local_rest.h"
#include "unwind/local_walk.h"

enum { N = CAIRN_LOCAL_FRAMES, FEW = 4, MANY = 8, NEWS = 128, VOID = N + 1, EVERY = 16 };

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

/* Of simple frames up to `stop`, which are on one page: the first one of some that are not as they
 * were, or `stop`. */
CAIRN_READS_FRAMES const struct cairn_local_frame *skip_same(const struct cairn_local_frame *frame,
                                                             const struct cairn_local_frame *stop,
                                                             uintptr_t base)
{
    while (stop - frame >= MANY && all_return(frame, base, MANY))
        frame += MANY;
    while (stop - frame >= FEW && all_return(frame, base, FEW))
        frame += FEW;
    while (frame < stop && difference(frame, base) == 0)
        frame++;
    return frame;
}

/* What was expected: all is as it was. */
CAIRN_READS_FRAMES bool is_same(const struct cairn_local_state *s, uintptr_t ret)
{
    const struct cairn_local_hot *hot = &s->hot;
    const struct cairn_local_frame *frame = &s->frames[hot->top];
    const struct cairn_local_frame *page = &s->frames[hot->same_page], *end = &s->frames[N];
    return frame->ret == ret && skip_same(frame + 1, page, hot->base) == page &&
           skip_same(page, end, hot->base) == end;
}

/* What was seen on the way. */
struct relayed {
    const struct cairn_local_frame *kept; /* behind the outermost frame that is at another call */
    uintptr_t looked_up;                  /* the bits of all addresses that were */
};

/* The rule of the code is not where it is looked for first. */
__attribute__((noinline)) CAIRN_WALKS_FRAMES static bool
has_rule(const struct cairn_local_frame *frame, uintptr_t ret)
{
    uint32_t rule = cairn_local_rule(frame);
    return ret == frame->ret ||
           (cairn_fast_is_plain(rule) && cairn_local_cache_has(cairn_fast_lookup_va(ret), rule));
}

/* The frame, whatever call of its rule it is in: which of them is as good as random, and must be no
 * branch. */
CAIRN_READS_FRAMES bool relay(struct cairn_local_frame *frame, uintptr_t ret,
                              struct relayed *relayed)
{
    uintptr_t va = cairn_fast_lookup_va(ret);
    if (__builtin_expect(cairn_local_cache_at_home(va) != cairn_local_rule(frame), 0) &&
        !has_rule(frame, ret))
        return false;
    if (__builtin_expect_with_probability(ret != frame->ret, 1, 0.5))
        relayed->kept = frame + 1;
    relayed->looked_up |= va;
    frame->ret = ret;
    return true;
}

/* The first of `n` simple frames that is not proven. A rule that is not plain asks for more, but
 * for the outermost frame's, from which nothing hangs. */
CAIRN_READS_FRAMES struct cairn_local_frame *
relay_all(struct cairn_local_frame *frame, uintptr_t base, int n, struct relayed *relayed)
{
    for (const struct cairn_local_frame *end = frame + n; frame < end; frame++)
        if (!relay(frame, cairn_local_word_at(base + frame->slot), relayed))
            break;
    return frame;
}

/* Singly, up to `end`; the first that is not proven here. */
CAIRN_READS_FRAMES struct cairn_local_frame *skip_singly(struct cairn_local_frame *frame,
                                                         const struct cairn_local_frame *end,
                                                         uintptr_t base, struct relayed *relayed)
{
    for (; frame < end && !(frame->slot & CAIRN_LOCAL_ASKS); frame++) {
        uintptr_t ret = cairn_local_word_at(base + frame->slot);
        if (ret != frame->ret && !relay(frame, ret, relayed))
            break;
    }
    return frame;
}

/* The first frame from `frame` on that is not proven here. */
CAIRN_READS_FRAMES struct cairn_local_frame *skip_again(struct cairn_local_frame *frame,
                                                        const struct cairn_local_frame *end,
                                                        uintptr_t base, struct relayed *relayed)
{
    while (end - frame >= MANY && are_simple(frame, base, MANY) && all_return(frame, base, MANY))
        frame += MANY;
    while (end - frame >= FEW) {
        struct cairn_local_frame *next = frame + FEW;
        if (!are_simple(frame, base, FEW))
            frame = skip_singly(frame, next, base, relayed);
        else if (!all_return(frame, base, FEW))
            frame = relay_all(frame, base, FEW, relayed);
        else
            frame = next;
        if (frame != next)
            return frame;
    }
    return skip_singly(frame, end, base, relayed);
}

/* From the frame before `place` on by what can prove all; the first place that is not proven. */
__attribute__((noinline)) CAIRN_WALKS_FRAMES static uint32_t
compare_rest(struct cairn_local_state *s, uint32_t place)
{
    struct cairn_local_walk w = {.state = s, .rest = s->hot.rest};
    return cairn_local_compare(&w, place - 1);
}

/* From `frame` on, which is proven but for its words: the first place that is not; N: all are;
 * VOID: nothing is remembered now. Whose address has changed is in hot.kept_from then. */
CAIRN_READS_FRAMES uint32_t prove_from(struct cairn_local_state *s, struct cairn_local_frame *frame,
                                       struct relayed *relayed)
{
    struct cairn_local_hot *hot = &s->hot;
    const struct cairn_local_frame *end = &s->frames[N];
    frame++;
    if (__builtin_expect(!(frame[-1].slot & CAIRN_LOCAL_HAS_WORDS), 1))
        frame = skip_again(frame, end, hot->base, relayed);
    if (__builtin_expect(!cairn_local_cache_covers(relayed->looked_up), 0)) {
        cairn_local_state_void(s, hot->busy); /* an address may have been taken for another one */
        return VOID;
    }
    cairn_local_keep_from(s, (uint32_t)(relayed->kept - s->frames));
    return __builtin_expect(frame == end, 1) ? N : compare_rest(s, (uint32_t)(frame - s->frames));
}

/* The rule of the code at `va`, if it is a short one; else what is none. */
__attribute__((noinline)) CAIRN_WALKS_FRAMES static uint64_t find_rule(uintptr_t va)
{
    return cairn_local_cache_rule(va);
}

/* A walk that has left the last one: as struct cairn_local_walk, and small enough for registers. */
struct short_walk {
    uintptr_t ret, sp, slot;
    struct cairn_local_frame *new, *old; /* behind the last new frame; of the last walk, the first
                                            one that may be met */
};

/* Goes on to the caller; false: not by a short rule, or there is no room. `until` is the stack
 * pointer of w->old. */
CAIRN_READS_FRAMES bool step_shortly(struct cairn_local_state *s, struct short_walk *w,
                                     uintptr_t until, struct relayed *relayed)
{
    uintptr_t va = cairn_fast_lookup_va(w->ret);
    uint64_t rule = cairn_local_cache_at_home(va);
    if (__builtin_expect(!cairn_fast_is_short(rule), 0)) {
        rule = find_rule(va);
        if (!cairn_fast_is_short(rule))
            return false;
    }
    uintptr_t cfa = w->sp + cairn_fast_cfa((uint32_t)rule), ra = cairn_fast_ra((uint32_t)rule);
    if (__builtin_expect((cfa > until && cfa > s->hot.stack.high) || w->new == &s->news[NEWS], 0) ||
        (!CAIRN_FAST_RA && (cfa <= w->sp || ra - CAIRN_LOCAL_WORD >= cfa - w->sp)))
        return false;
    relayed->looked_up |= va;
    cairn_local_put_down(w->new, w->ret, w->slot - s->hot.base, (uint32_t)rule);
    if (!CAIRN_FAST_RA)
        s->new_asides[w->new - s->news].sp = w->sp;
    w->new ++;
    w->slot = cfa - ra;
    w->ret = cairn_local_word_at(w->slot);
    w->sp = cfa;
    return true;
}

/* Walks until it stands at a frame of the last walk, w->old, that asks for no frame pointer. */
CAIRN_READS_FRAMES bool walk_shortly(struct cairn_local_state *s, struct short_walk *w,
                                     struct relayed *relayed)
{
    const struct cairn_local_frame *end = &s->frames[N];
    uintptr_t until = cairn_local_sp_of(s, w->old);
    for (;;) {
        if (w->sp >= until) {
            while (until < w->sp) {
                if (++w->old == end)
                    return false;
                until = cairn_local_sp_of(s, w->old);
            }
            if (until == w->sp &&
                (CAIRN_FAST_RA != 0 || cairn_local_slot_va(s, w->old) == w->slot)) {
                if (w->old->rule & CAIRN_LOCAL_NEEDS_FP)
                    return false;
                if (w->old->ret == w->ret ||
                    (cairn_fast_is_plain(w->old->rule) && relay(w->old, w->ret, relayed)))
                    return true;
            }
        }
        if (!step_shortly(s, w, until, relayed))
            return false;
    }
}

/* It was not looked whether the last walk was met one frame earlier. By and by that leads to where
 * most walks leave each other; and it is no branch, for it is as good as random. */
CAIRN_READS_FRAMES void leave_out_old(const struct cairn_local_state *s, struct short_walk *w)
{
    bool has_new = w->new > s->news, has_old = w->old > &s->frames[s->hot.top];
    const struct cairn_local_frame *new = w->new - has_new, *old = w->old - has_old;
    bool is_old =
        has_new & has_old & (new->slot == cairn_local_slot_of(old)) & (new->ret == old->ret);
    if (!CAIRN_FAST_RA)
        is_old = is_old && s->new_asides[new - s->news].sp == s->asides[old - s->frames].sp;
    w->new -= is_old;
    w->old -= is_old;
}

/* As cairn_local_put(), of frames that ask for nothing. False: they are too many, or that one asks
 * before which they come. */
CAIRN_READS_FRAMES bool put_shortly(struct cairn_local_state *s, struct short_walk *w)
{
    struct cairn_local_hot *hot = &s->hot;
    leave_out_old(s, w);
    struct cairn_local_frame *to = w->old;
    const struct cairn_local_frame *from = w->new;
    uint32_t n = (uint32_t)(from - s->news), place = (uint32_t)(to - s->frames);
    if (__builtin_expect(to->rule & CAIRN_LOCAL_NEEDS_FP || n + (N - place) > CAIRN_MAX_FRAMES, 0))
        return false;
    while (__builtin_expect(hot->n_words > 0 && s->words[hot->n_words - 1].place < place, 0))
        hot->n_words--;
    hot->anchor = place;
    hot->top = place - n;
    while (from > s->news) {
        cairn_local_copy(--to, --from);
        if (!CAIRN_FAST_RA)
            s->asides[to - s->frames].sp = s->new_asides[from - s->news].sp;
    }
    cairn_local_keep_from(s, place);
    return true;
}

/* After some captures that were the same, and seldom again if it is in vain. Lets the next one be
 * one that is_same() can tell, if it can: no frame asks for more than its
 * return address, and they are on two pages at most. */
__attribute__((noinline)) CAIRN_WALKS_FRAMES static void expect_same(struct cairn_local_state *s)
{
    struct cairn_local_hot *hot = &s->hot;
    const struct cairn_local_frame *frame = &s->frames[hot->top], *end = &s->frames[N];
    uint32_t asks = frame->rule & CAIRN_LOCAL_NEEDS_FP, n_pages = 1;
    hot->same_page = N;
    for (; frame < end; frame++) {
        asks |= frame->slot & CAIRN_LOCAL_ASKS;
        if (frame > &s->frames[hot->top + 1] && (frame[-1].slot ^ frame->slot) / CAIRN_LOCAL_PAGE) {
            hot->same_page = (uint32_t)(frame - s->frames);
            n_pages++;
        }
    }
    if (asks == 0 && n_pages <= 2)
        hot->same_sp = hot->busy;
}

CAIRN_READS_FRAMES struct cairn_local_again found(struct cairn_local_state *s)
{
    struct cairn_local_hot *hot = &s->hot;
    uint32_t top = hot->top, from = hot->kept_from;
    hot->kept_from = top;
    hot->n_same = from == top ? hot->n_same + 1 : 0;
    if (__builtin_expect(hot->n_same % EVERY == FEW, 0))
        expect_same(s);
    return (struct cairn_local_again){&s->frames[top], N - top, N - from};
}

/* Some inner frames are others. From `place` on outwards the last walk may be met; where that was
 * not the frame that it seemed to be, it is met farther out. */
__attribute__((noinline)) CAIRN_WALKS_FRAMES static struct cairn_local_again
look_farther(struct cairn_local_state *s, uintptr_t ret, uintptr_t sp, uint32_t place)
{
    const struct cairn_local_stack *stack = &s->hot.stack;
    struct cairn_local_again again = {0};
    /* What a call pushed lies below sp, and is mapped for sure. */
    bool can = sp % CAIRN_FAST_CFA_ALIGN == 0 && sp <= stack->high &&
               sp - CAIRN_LOCAL_WORD - stack->low < stack->high - stack->low;
    while (__builtin_expect(can && place < N, 1)) {
        struct relayed relayed = {s->frames, 0};
        struct short_walk w = {ret, sp, sp - CAIRN_FAST_RA, s->news, &s->frames[place]};
        if (!walk_shortly(s, &w, &relayed))
            break;
        uint32_t proven = prove_from(s, w.old, &relayed);
        if (__builtin_expect(proven == N, 1)) {
            if (put_shortly(s, &w))
                again = found(s);
            break;
        }
        place = proven + 1;
    }
    cairn_local_state_leave(s);
    return again;
}

/* All may be as it was. */
__attribute__((noinline, hot)) CAIRN_WALKS_FRAMES static struct cairn_local_again
look(struct cairn_local_state *s, uintptr_t ret, uintptr_t sp, uintptr_t fp)
{
    struct cairn_local_hot *hot = &s->hot;
    uint32_t top = hot->top, place = hot->anchor;
    struct cairn_local_frame *frame = &s->frames[top];
    struct relayed relayed = {frame, 0};
    if (!(frame->rule & CAIRN_LOCAL_NEEDS_FP && s->asides[top].fp != fp) &&
        (frame->ret == ret ||
         (cairn_fast_is_plain(cairn_local_rule(frame)) && relay(frame, ret, &relayed)))) {
        uint32_t proven = prove_from(s, frame, &relayed);
        if (__builtin_expect(proven == N, 1)) {
            struct cairn_local_again again = found(s);
            cairn_local_state_leave(s);
            return again;
        }
        place = proven >= place ? proven + 1 : place;
    }
    return look_farther(s, ret, sp, place);
}

/* By what can do more, or not at all. */
__attribute__((noinline, hot)) CAIRN_WALKS_FRAMES static struct cairn_local_again
look_closely(struct cairn_local_state *s, uintptr_t ret, uintptr_t sp, uintptr_t fp)
{
    if (__builtin_expect(!cairn_local_state_is_ready(s), 0))
        return (struct cairn_local_again){0};
    const struct cairn_local_hot *hot = &s->hot;
    const struct cairn_local_frame *frame = &s->frames[hot->top];
    if (__builtin_expect(hot->rest != N || hot->is_open || hot->kept_end != N ||
                             hot->top - CAIRN_LOCAL_SPARE >= CAIRN_MAX_FRAMES,
                         0))
        return (struct cairn_local_again){0};
    cairn_local_state_take(s, sp);
    if (cairn_local_sp_of(s, frame) == sp &&
        (CAIRN_FAST_RA != 0 || cairn_local_slot_va(s, frame) == sp))
        return look(s, ret, sp, fp);
    return look_farther(s, ret, sp, hot->anchor);
}

__attribute__((hot)) CAIRN_WALKS_FRAMES struct cairn_local_again
cairn_local_again(uintptr_t ret, uintptr_t sp, uintptr_t fp)
{
    struct cairn_local_state *s = cairn_local_mine.state;
    if (!s || s->hot.same_sp != sp || !cairn_local_state_is_ready(s))
        return look_closely(s, ret, sp, fp);
    s->hot.busy = sp;
    atomic_signal_fence(memory_order_seq_cst);
    bool same = s->hot.same_sp == sp && is_same(s, ret); /* asked again: a handler may have been */
    cairn_local_state_leave(s);
    if (__builtin_expect(!same, 0))
        return look_closely(s, ret, sp, fp);
    uint32_t n = N - s->hot.top;
    return (struct cairn_local_again){&s->frames[s->hot.top], n, n};
}
