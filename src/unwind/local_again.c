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

/* Are their slots on one page, as the base is? So what is read behind the first that may be another
 * one is there. */
CAIRN_READS_FRAMES bool are_on_page(const struct cairn_local_frame *frame, int n)
{
    return (frame[0].slot ^ frame[n - 1].slot) < CAIRN_LOCAL_PAGE;
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

/* Of frames that ask for nothing but their return address: all where they were? */
CAIRN_READS_FRAMES bool all_return(const struct cairn_local_frame *frame, uintptr_t base, int n)
{
    return (difference_of_four(frame, base) |
            (n == MANY ? difference_of_four(frame + FEW, base) : 0)) == 0;
}

/* Of simple frames up to `stop`, which are on one page: are all as they were? */
CAIRN_READS_FRAMES bool all_same(const struct cairn_local_frame *frame,
                                 const struct cairn_local_frame *stop, uintptr_t base)
{
    while (frame < stop && difference(frame, base) == 0)
        frame++;
    return frame == stop;
}

/* The same of MANY at least. What is left behind whole groups is looked at in one that overlaps. */
CAIRN_READS_FRAMES bool many_same(const struct cairn_local_frame *frame,
                                  const struct cairn_local_frame *stop, uintptr_t base)
{
    for (; frame + MANY <= stop; frame += MANY)
        if (!all_return(frame, base, MANY))
            return false;
    if (frame + FEW < stop)
        return all_return(stop - MANY, base, MANY);
    return frame == stop || all_return(stop - FEW, base, FEW);
}

/* What was expected, of frames from `frame` on: all is as it was. */
CAIRN_READS_FRAMES bool is_same(const struct cairn_local_state *s,
                                const struct cairn_local_frame *frame, uintptr_t ret)
{
    const struct cairn_local_hot *hot = &s->hot;
    const struct cairn_local_frame *page = &s->frames[hot->same_page], *end = &s->frames[N];
    return frame->ret == ret && many_same(frame + 1, page, hot->base) &&
           (__builtin_expect(page == end, 1) ||
            (end - page < MANY ? all_same(page, end, hot->base) : many_same(page, end, hot->base)));
}

/* What was seen on the way. */
struct relayed {
    const struct cairn_local_frame *moved; /* the outermost frame that is at another call */
    uintptr_t looked_up;                   /* the bits of all addresses that were */
};

/* The rule of the code is not where it is looked for first, or there is more to the frame's. That
 * is read here, not where it would cost all other frames a register. */
__attribute__((noinline)) CAIRN_WALKS_FRAMES static bool
has_rule(const volatile struct cairn_local_frame *frame, uintptr_t ret)
{
    uint32_t rule = frame->rule & CAIRN_RULE_MASK;
    return ret == frame->ret ||
           (cairn_fast_is_plain(rule) && cairn_local_cache_has(cairn_fast_lookup_va(ret), rule));
}

/* The frame, whatever call of its rule it is in: which of them is as good as random, and must be no
 * branch. */
CAIRN_READS_FRAMES bool relay(struct cairn_local_frame *frame, uintptr_t ret,
                              struct relayed *relayed)
{
    uintptr_t va = cairn_fast_lookup_va(ret);
    if (__builtin_expect(cairn_local_cache_at_home(va) != frame->rule, 0) && !has_rule(frame, ret))
        return false;
    if (__builtin_expect_with_probability(ret != frame->ret, 1, 0.5))
        relayed->moved = frame;
    relayed->looked_up |= va;
    frame->ret = ret;
    return true;
}

/* Of frames that ask for no more, up to `end`: the first that is not proven here. A rule that is
 * not plain asks for more, but for the outermost frame's, from which nothing hangs. */
CAIRN_READS_FRAMES struct cairn_local_frame *relay_all(struct cairn_local_frame *frame,
                                                       const struct cairn_local_frame *end,
                                                       uintptr_t base, struct relayed *relayed)
{
    for (; frame < end; frame++)
        if (!relay(frame, cairn_local_word_at(base + frame->slot), relayed))
            break;
    return frame;
}

/* Of frames that ask for no more: the first one of a few that is not as it was. The last few are
 * looked at together, also where some of them were before. */
CAIRN_READS_FRAMES struct cairn_local_frame *
skip_same(struct cairn_local_frame *frame, struct cairn_local_frame *end, uintptr_t base)
{
    while (end - frame >= MANY && are_on_page(frame, MANY) && all_return(frame, base, MANY))
        frame += MANY;
    while (frame < end) {
        struct cairn_local_frame *few = frame > end - FEW ? end - FEW : frame;
        if (are_on_page(few, FEW) && all_return(few, base, FEW))
            frame = few + FEW;
        else if (difference(frame, base) == 0)
            frame++;
        else
            break;
    }
    return frame;
}

/* The first frame from `frame` on that is not proven here: at most that at hot.odd. Up to
 * hot.moved_to they are at other calls than they were, likely. */
CAIRN_READS_FRAMES struct cairn_local_frame *
skip_again(struct cairn_local_state *s, struct cairn_local_frame *frame, struct relayed *relayed)
{
    const struct cairn_local_hot *hot = &s->hot;
    uint32_t moved = hot->moved_to < hot->odd ? hot->moved_to : hot->odd;
    struct cairn_local_frame *end = &s->frames[hot->odd];
    const struct cairn_local_frame *until = end - frame > FEW ? &s->frames[moved] : end;
    for (;;) {
        frame = relay_all(frame, until, hot->base, relayed);
        if (frame < until)
            return frame;
        frame = skip_same(frame, end, hot->base);
        if (frame >= end)
            return frame;
        until = end - frame > FEW ? frame + FEW : end;
    }
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
        frame = skip_again(s, frame, relayed);
    if (__builtin_expect(!cairn_local_cache_covers(relayed->looked_up), 0)) {
        cairn_local_state_void(s, hot->busy); /* an address may have been taken for another one */
        return VOID;
    }
    hot->moved_to = (uint32_t)(relayed->moved - s->frames) + 1;
    cairn_local_keep_from(s, hot->moved_to);
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
    if (__builtin_expect(hot->odd < place, 0))
        cairn_local_find_odd(s);
    cairn_local_keep_from(s, place);
    return true;
}

/* After some captures that were the same, and seldom again if it is in vain. Lets the next one be
 * one that is_same() can tell, if it can: no frame asks for more than its return address, and they
 * are on two pages at most, MANY and the innermost on the first. */
__attribute__((noinline)) CAIRN_WALKS_FRAMES static void expect_same(struct cairn_local_state *s)
{
    struct cairn_local_hot *hot = &s->hot;
    const struct cairn_local_frame *frame = &s->frames[hot->top], *end = &s->frames[N];
    uint32_t asks = frame->rule & CAIRN_LOCAL_NEEDS_FP, n_pages = 1, n = N - hot->top, page = N;
    for (; frame < end; frame++) {
        asks |= frame->slot & CAIRN_LOCAL_ASKS;
        if (frame > &s->frames[hot->top + 1] && (frame[-1].slot ^ frame->slot) / CAIRN_LOCAL_PAGE) {
            page = (uint32_t)(frame - s->frames);
            n_pages++;
        }
    }
    if (asks || n_pages > 2 || page - hot->top <= MANY)
        return;
    hot->same_page = page;
    hot->same = (struct cairn_local_again){NULL, .n = n, .n_shared = n}.both;
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
    return (struct cairn_local_again){&s->frames[top], .n = N - top, .n_shared = N - from};
}

/* Can it be told here at all? */
CAIRN_READS_FRAMES bool is_plain(const struct cairn_local_hot *hot)
{
    return __builtin_expect(hot->rest == N && !hot->is_open && hot->kept_end == N &&
                                hot->top - CAIRN_LOCAL_SPARE < CAIRN_MAX_FRAMES,
                            1);
}

/* Some inner frames are others. From `place` on outwards the last walk may be met; where that was
 * not the frame that it seemed to be, it is met farther out. */
__attribute__((noinline)) CAIRN_WALKS_FRAMES static struct cairn_local_again
look_farther(struct cairn_local_state *s, uintptr_t ret, uint32_t place)
{
    const struct cairn_local_stack *stack = &s->hot.stack;
    uintptr_t sp = s->hot.busy;
    s->hot.same_sp = s->hot.moved_to = 0; /* most are at the same call */
    struct cairn_local_again again = CAIRN_LOCAL_NOT_AGAIN;
    /* What a call pushed lies below sp, and is mapped for sure. */
    bool can = is_plain(&s->hot) && sp % CAIRN_FAST_CFA_ALIGN == 0 && sp <= stack->high &&
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
look(struct cairn_local_state *s, uintptr_t ret, uintptr_t fp)
{
    struct cairn_local_hot *hot = &s->hot;
    uint32_t top = hot->top, proven = 0;
    struct cairn_local_frame *frame = &s->frames[top];
    struct relayed relayed = {frame - 1, 0};
    hot->ret = ret;
    hot->same_sp = 0; /* until it is known of this one */
    if (is_plain(hot) && !(frame->rule & CAIRN_LOCAL_NEEDS_FP && s->asides[top].fp != fp) &&
        (frame->ret == ret ||
         (cairn_fast_is_plain(cairn_local_rule(frame)) && relay(frame, ret, &relayed)))) {
        proven = prove_from(s, frame, &relayed);
        if (__builtin_expect(proven == N, 1)) {
            struct cairn_local_again again = found(s);
            cairn_local_state_leave(s);
            return again;
        }
    }
    return look_farther(s, hot->ret, proven >= hot->anchor ? proven + 1 : hot->anchor);
}

__attribute__((hot)) CAIRN_WALKS_FRAMES struct cairn_local_again
cairn_local_again(uintptr_t ret, uintptr_t sp, uintptr_t fp)
{
    struct cairn_local_state *s = cairn_local_mine.state;
    if (__builtin_expect(!cairn_local_state_is_ready(s), 0))
        return CAIRN_LOCAL_NOT_AGAIN;
    s->hot.busy = sp;
    atomic_signal_fence(memory_order_seq_cst);
    const struct cairn_local_frame *frame = &s->frames[s->hot.top];
    if (s->hot.same_sp == sp && is_same(s, frame, ret)) {
        cairn_local_state_leave(s);
        return (struct cairn_local_again){frame, .both = s->hot.same};
    }
    if (cairn_local_sp_of(s, frame) == sp &&
        (CAIRN_FAST_RA != 0 || cairn_local_slot_va(s, frame) == sp))
        return look(s, ret, fp);
    return look_farther(s, ret, s->hot.anchor);
}
