/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/local_fast.h"

#include <cairn/unwind.h>

#include "unwind/local_cache.h"
#include "unwind/local_rest.h"
#include "unwind/local_walk.h"

enum { N = CAIRN_LOCAL_FRAMES };

enum verdict {
    GOES_ON,
    ODD,   /* not by the short way */
    MOVED, /* over some frames of the last walk */
    JOINS, /* the last walk is proven from here on */
    ENDS,
    STOPS, /* only the slow walk gets beyond */
    FULL   /* there are more frames than a walk may have */
};

/* A load farther out than what is known of the stack. */
__attribute__((noinline)) CAIRN_WALKS_FRAMES static bool reach(struct cairn_local_state *s,
                                                               uintptr_t end)
{
    return cairn_local_stack_reach(&s->hot.stack, end) &&
           (s->hot.stack.high - 1 - s->hot.base) >> 31 >> 1 == 0;
}

/* Takes the frames [from, to) of the last walk, which are proven, for new ones, and stands at `to`.
 */
__attribute__((noinline)) CAIRN_WALKS_FRAMES static enum verdict
take_over(struct cairn_local_walk *w, uint32_t from, uint32_t to)
{
    struct cairn_local_state *s = w->state;
    for (uint32_t i = from; i < to; i++) {
        uint32_t rule = cairn_local_rule(&s->frames[i]);
        uintptr_t cfa = cairn_local_sp_at(s, i + 1);
        if (w->n == CAIRN_MAX_FRAMES)
            return FULL;
        w->has_odd |= cairn_fast_is_fp(rule);
        if (cairn_local_is_rare(rule)) {
            w->has_odd = true;
            if (!cairn_local_frame_pointer(w, &s->new_asides[w->n].fp))
                return STOPS;
        }
        cairn_local_note(w, rule);
        if (!cairn_local_follow_fp(w, rule, cfa))
            return STOPS;
        w->slot = cairn_local_slot_va(s, &s->frames[i + 1]);
        w->ret = cairn_local_word_at(w->slot);
        w->sp = cfa;
    }
    w->place = to + 1;
    return MOVED;
}

/* The frame where the walk stands may be that of the last walk at w->place. */
CAIRN_READS_FRAMES enum verdict meet(struct cairn_local_walk *w)
{
    struct cairn_local_state *s = w->state;
    while (w->place < w->rest && cairn_local_sp_at(s, w->place) < w->sp)
        w->place++;
    uint32_t place = w->place;
    struct cairn_local_frame *frame = &s->frames[place];
    if (place == w->rest || cairn_local_sp_at(s, place) != w->sp ||
        cairn_local_slot_va(s, frame) != cairn_local_slot(w))
        return GOES_ON;
    uint32_t rule = cairn_local_rule(frame);
    if (frame->ret != w->ret && (!cairn_fast_is_plain(rule) ||
                                 rule != cairn_local_cache_rule(cairn_fast_lookup_va(w->ret))))
        return GOES_ON;
    uintptr_t fp;
    if (frame->rule & CAIRN_LOCAL_NEEDS_FP &&
        (!cairn_local_frame_pointer(w, &fp) || fp != s->asides[place].fp))
        return GOES_ON;
    if (frame->ret != w->ret) {
        frame->ret = w->ret;
        cairn_local_keep_from(s, place + 1);
    }
    uint32_t proven = cairn_local_compare(w, place);
    return __builtin_expect(proven == w->rest, 1) ? JOINS : take_over(w, place, proven);
}

/* Does the return address lie within the frame, where the rule says where? */
CAIRN_READS_FRAMES bool is_inside(uint32_t rule, uintptr_t sp, uintptr_t cfa)
{
    return CAIRN_FAST_RA != 0 || cairn_fast_ra(rule) - CAIRN_LOCAL_WORD < cfa - sp;
}

CAIRN_READS_FRAMES bool find_cfa(const struct cairn_local_walk *w, uint32_t rule,
                                 uintptr_t *ret_cfa)
{
    uintptr_t base = w->sp;
    bool is_plain = cairn_fast_is_plain(rule);
    enum cairn_fast_deref by = is_plain ? CAIRN_FAST_NO_DEREF : cairn_fast_deref(rule);
    if (!is_plain && by == CAIRN_FAST_NO_DEREF)
        return false;
    if ((is_plain ? cairn_fast_is_fp(rule) : by == CAIRN_FAST_BY_FP) &&
        !cairn_local_frame_pointer(w, &base))
        return false;
    if (is_plain) {
        *ret_cfa = base + cairn_fast_cfa(rule);
        return true;
    }
    uintptr_t slot = cairn_fast_deref_slot(rule, base);
    if (!cairn_local_may_read(w->state, slot))
        return false;
    *ret_cfa = cairn_fast_deref_cfa(rule, cairn_local_word_at(slot));
    return true;
}

/* From the frame where the walk stands, which is noted, to its caller; every way that there is. */
__attribute__((noinline)) CAIRN_WALKS_FRAMES static enum verdict
step_oddly(struct cairn_local_walk *w)
{
    struct cairn_local_state *s = w->state;
    uint32_t rule = cairn_local_cache_rule(cairn_fast_lookup_va(w->ret));
    uintptr_t cfa, high = s->hot.stack.high;
    if (w->n == CAIRN_MAX_FRAMES)
        return FULL;
    if (w->n == w->limit) {
        w->ips = NULL;
        w->limit = CAIRN_MAX_FRAMES;
    }
    if (w->ips)
        w->ips[w->n] = cairn_fast_address(w->ret);
    bool has_fp = cairn_local_frame_pointer(w, &s->new_asides[w->n].fp);
    cairn_local_note(w, rule);
    w->has_odd = true;
    if (!find_cfa(w, rule, &cfa))
        return rule == cairn_rule_make(CAIRN_RULE_OUTERMOST, 0) ? ENDS : STOPS;
    /* cfa > sp, and what lies between is readable. */
    if (cfa <= w->sp || (cfa > high && !reach(s, cfa)) || cfa % CAIRN_FAST_CFA_ALIGN ||
        !is_inside(rule, w->sp, cfa) || (cairn_local_is_rare(rule) && !has_fp) ||
        !cairn_local_follow_fp(w, rule, cfa))
        return STOPS;
    w->slot = cfa - cairn_fast_ra(rule);
    w->ret = cairn_local_word_at(w->slot);
    w->sp = cfa;
    return GOES_ON;
}

/* Plain steps until the stack pointer is at `until`, one at least. About 2.5 ns each: the next
 * frame's address is loaded from the stack, its rule from the cache, and so on in a chain. What is
 * used here lives in registers. */
CAIRN_READS_FRAMES enum verdict run(struct cairn_local_walk *w, uintptr_t until)
{
    struct cairn_local_state *s = w->state;
    const struct cairn_local_stack stack = s->hot.stack;
    struct cairn_local_walk here = *w;
    enum verdict verdict = ODD;
    for (;;) {
        uint32_t rule = cairn_local_cache_rule(cairn_fast_lookup_va(here.ret));
        if (__builtin_expect(cairn_local_is_rare(rule) || here.n == here.limit, 0))
            break;
        uintptr_t cfa = here.sp;
        if (cairn_fast_is_fp(rule)) {
            here.has_odd = true;
            if (!cairn_local_frame_pointer(&here, &cfa))
                break;
        }
        cfa += cairn_fast_cfa(rule);
        if (__builtin_expect(
                cfa - here.sp - 1 >= stack.high - here.sp || cfa % CAIRN_FAST_CFA_ALIGN, 0))
            break;
        if (here.ips)
            here.ips[here.n] = cairn_fast_address(here.ret);
        if (!is_inside(rule, here.sp, cfa))
            break;
        cairn_local_note(&here, rule);
        uintptr_t below = cairn_fast_fp(rule);
        here.fp_slot = below ? cfa - below : here.fp_slot;
        here.slot = cfa - cairn_fast_ra(rule);
        here.ret = cairn_local_word_at(here.slot);
        here.sp = cfa;
        if (here.ret == 0 || cfa >= until) {
            verdict = GOES_ON;
            break;
        }
    }
    *w = here;
    return verdict;
}

/* Walks until the last walk is met, or the stack ends. */
CAIRN_READS_FRAMES enum verdict walk(struct cairn_local_walk *w)
{
    struct cairn_local_state *s = w->state;
    uintptr_t compare_from = 0;
    if (w->place < w->rest) {
        const struct cairn_local_frame *top = &s->frames[w->place];
        if (cairn_local_sp_at(s, w->place) != w->sp ||
            (top->ret != w->ret &&
             cairn_local_rule(top) != cairn_local_cache_rule(cairn_fast_lookup_va(w->ret)))) {
            w->place = s->hot.anchor;
            compare_from = cairn_local_sp_at(s, w->place);
        }
    }
    for (;;) {
        enum verdict verdict = w->sp >= compare_from ? meet(w) : GOES_ON;
        if (verdict == GOES_ON)
            verdict = run(w, compare_from);
        if (__builtin_expect(verdict == ODD, 0))
            verdict = step_oddly(w);
        if (__builtin_expect(verdict > MOVED, 0))
            return verdict;
        if (__builtin_expect(w->ret == 0, 0)) {
            w->ends = w->has_odd = true;
            return ENDS;
        }
    }
}

/* False: the stack has become another one. */
CAIRN_READS_FRAMES bool enter(struct cairn_local_state *s, uintptr_t sp)
{
    struct cairn_local_stack *stack = &s->hot.stack;
    /* What a call pushed lies below sp, and is mapped for sure. */
    uintptr_t low = sp - CAIRN_LOCAL_WORD;
    if (__builtin_expect(low - stack->low < stack->high - stack->low, 1))
        return true;
    return cairn_local_stack_enter(stack, low) && (stack->low - s->hot.base) >> 31 >> 1 == 0;
}

/* Behind a walk that was not just the last one again. */
__attribute__((noinline)) CAIRN_WALKS_FRAMES static enum cairn_local_fast
finish(struct cairn_local_walk *w, enum verdict verdict, uintptr_t *ips,
       struct cairn_local_result *ret_result)
{
    struct cairn_local_state *s = w->state;
    w->joins = verdict == JOINS;
    w->open = verdict == JOINS   ? s->hot.is_open
              : verdict == STOPS ? CAIRN_LOCAL_STOPPED
              : verdict == FULL  ? CAIRN_LOCAL_CUT
                                 : CAIRN_LOCAL_CLOSED;
    if (!w->joins)
        w->place = w->rest;
    if (w->open && w->n + (w->rest - w->place) < CAIRN_MAX_FRAMES) {
        s->walk = *w;
        return CAIRN_LOCAL_FAST_REST;
    }
    s->rest = (struct cairn_local_out){.n = 1,
                                       .end = w->open ? CAIRN_END_MAX_FRAMES : CAIRN_END_OUTERMOST};
    return cairn_local_settle(w, ips, ret_result);
}

__attribute__((hot)) CAIRN_WALKS_FRAMES enum cairn_local_fast
cairn_local_fast_walk(struct cairn_local_state *state, const struct cairn_local_regs *regs,
                      uintptr_t *ips, size_t max, struct cairn_local_result *ret_result)
{
    struct cairn_local_walk w = {.state = state, .ret = regs->ret, .sp = regs->sp, .fp = regs->fp};
    w.max = max < CAIRN_MAX_FRAMES ? (uint32_t)max : CAIRN_MAX_FRAMES;
    w.limit = ips ? w.max : CAIRN_MAX_FRAMES;
    w.ips = ips;
    w.slot = w.sp - CAIRN_FAST_RA;
    if (!enter(state, w.sp))
        cairn_local_state_void(state, w.sp);
    w.place = state->hot.top;
    w.rest = state->hot.rest;
    if (w.sp < CAIRN_LOCAL_WORD || (w.sp > state->hot.stack.high && !reach(state, w.sp))) {
        cairn_local_state_void(state, w.sp);
        return CAIRN_LOCAL_FAST_NOT;
    }
    enum verdict verdict = walk(&w);
    if (__builtin_expect(verdict != JOINS || w.n > 0 || state->hot.is_open, 0))
        return finish(&w, verdict, ips, ret_result);
    state->hot.top = w.place;
    if (state->hot.odd < w.place)
        cairn_local_find_odd(state);
    cairn_local_keep_from(state, w.place);
    ret_result->end = CAIRN_END_OUTERMOST;
    cairn_local_give(&w, ips, ret_result);
    return CAIRN_LOCAL_FAST_DONE;
}

CAIRN_WALKS_FRAMES bool cairn_local_fast_rest(struct cairn_local_state *state)
{
    bool can = cairn_local_rest_from(&state->walk);
    if (!can)
        cairn_local_state_void(state, state->walk.sp);
    return can;
}

CAIRN_WALKS_FRAMES enum cairn_local_fast
cairn_local_fast_finish(struct cairn_local_state *state, uintptr_t *ips,
                        struct cairn_local_result *ret_result)
{
    return cairn_local_settle(&state->walk, ips, ret_result);
}
