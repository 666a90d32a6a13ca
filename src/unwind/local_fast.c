/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/local_fast.h"

#include <cairn/unwind.h>

#include "unwind/local_cache.h"
#include "unwind/local_fast_cpu.h"

/* A walker reads the frames of others: their padding, which ASan has poisoned, and words that other
 * threads write through pointers they were given, which TSan would call a race. What it reads
 * decides nothing but which word is read next, within what is known to be readable. */
#define READS_FRAMES __attribute__((no_sanitize("address", "thread"), always_inline)) static inline
#define WALKS_FRAMES __attribute__((no_sanitize("address", "thread")))

enum { N = CAIRN_LOCAL_FRAMES, WORD = sizeof(uintptr_t) };

/* A walk on its way. */
struct walk {
    struct cairn_local_state *state;
    uintptr_t ret, sp;
    uintptr_t fp_slot; /* va where the frame pointer is saved; 0: it is `fp` */
    uintptr_t fp;
    uint32_t n;     /* news */
    uintptr_t *ips; /* the caller's room, for `max` addresses; or NULL */
    size_t max;
    uintptr_t *to;  /* where the addresses go that are compared, from w->place on; NULL */
    uint32_t place; /* of the last walk: the innermost frame that may still be met */
    uint32_t kept;  /* of the last walk: from here on outwards no address was changed */
};

enum verdict { GOES_ON, MOVED, JOINS, ENDS, CANNOT };

READS_FRAMES uintptr_t word_at(uintptr_t va)
{
    return *(const volatile uintptr_t *)va;
}

/* Is the word at `va` one that may be read? What the walk has reached lies below stack.high. */
READS_FRAMES bool may_read(const struct cairn_local_state *state, uintptr_t va)
{
    return va - state->hot.stack.low < state->hot.stack.high - state->hot.stack.low - (WORD - 1) &&
           va % WORD == 0;
}

READS_FRAMES bool frame_pointer(const struct walk *w, uintptr_t *ret_fp)
{
    *ret_fp = w->fp;
    if (w->fp_slot) {
        if (!may_read(w->state, w->fp_slot))
            return false;
        *ret_fp = word_at(w->fp_slot);
    }
    return true;
}

/* The frame at `place`, which is proven, is the one that `slot`'s word returns to now. */
READS_FRAMES bool has_rule(uintptr_t ret, uint32_t rule)
{
    return cairn_fast_is_plain(rule) && cairn_local_cache_has(cairn_fast_lookup_va(ret), rule);
}

/* Where the return address into a frame lies: kept where it is not the same distance everywhere. */
READS_FRAMES uintptr_t slot_of(const struct cairn_local_frame *frame)
{
    return frame->sp - CAIRN_FAST_RA;
}

/* The first frame of [frame, end) to which its callee returns no more; `end`: none. What is found
 * goes to `copies`, unless NULL. A loop of its own, for its four variables live in registers then:
 * a load, a load and a compare a frame. */
__attribute__((noinline, hot)) WALKS_FRAMES static struct cairn_local_frame *
find_changed(struct cairn_local_frame *frame, const struct cairn_local_frame *end,
             uintptr_t *copies)
{
    if (!copies) {
        while (frame < end && word_at(slot_of(frame)) == frame->ret)
            frame++;
        return frame;
    }
    for (; frame < end; frame++) {
        uintptr_t ret = word_at(slot_of(frame));
        *copies++ = ret;
        if (ret != frame->ret)
            break;
    }
    return frame;
}

/* The return addresses of the frames (from, to]; `from` is proven. Returns the first place whose
 * frame is not (to + 1: all are). */
READS_FRAMES uint32_t compare_rets(struct walk *w, uint32_t from, uint32_t to)
{
    struct cairn_local_frame *frames = w->state->frames, *end = frames + to + 1;
    struct cairn_local_frame *frame = frames + from + 1;
    if (frame == end)
        return to + 1;
    /* Code with frame pointers has a word between any two return addresses: no call for each. */
    if (frame + 1 == end && word_at(slot_of(frame)) == frame->ret) {
        if (w->to)
            w->to[frame - frames - w->place] = frame->ret;
        return to + 1;
    }
    for (;;) {
        uintptr_t *copies = w->to ? w->to + (frame - frames) - w->place : NULL;
        frame = find_changed(frame, end, copies);
        if (frame == end)
            return to + 1;
        uintptr_t ret = word_at(slot_of(frame));
        if (!has_rule(ret, frame->rule))
            return (uint32_t)(frame - frames);
        frame->ret = ret;
        w->kept = (uint32_t)(frame - frames) + 1;
        frame++;
    }
}

/* All words that the walk read from the frame at `place` on, which is proven. Returns the first
 * place whose frame is not, or from where the step to its caller is not (N: all are). */
READS_FRAMES uint32_t compare(struct walk *w, uint32_t place)
{
    const struct cairn_local_state *s = w->state;
    uint32_t proven;
    for (uint32_t n = s->frames[place].n_words; n-- > 0;) {
        const struct cairn_local_word *word = &s->words[n];
        proven = compare_rets(w, place, (uint32_t)word->place);
        if (proven <= word->place)
            return proven;
        place = (uint32_t)word->place;
        if (word_at(word->slot) != word->value)
            return place;
    }
    return compare_rets(w, place, N - 1);
}

/* Where the caller's frame pointer is, beyond a frame of `rule` with this CFA. */
READS_FRAMES bool follow_fp(struct walk *w, uint32_t rule, uintptr_t cfa)
{
    uintptr_t below = cairn_fast_fp(rule);
    if (cairn_fast_fp_is_at_fp(rule))
        return frame_pointer(w, &w->fp_slot);
    if (below)
        w->fp_slot = cfa - below;
    return true;
}

/* Takes the frames [from, to) of the last walk, which are proven, for new ones, and stands at `to`.
 */
WALKS_FRAMES static enum verdict take_over(struct walk *w, uint32_t from, uint32_t to)
{
    struct cairn_local_state *s = w->state;
    w->place = to + 1;
    if (w->n + (to - from) > N)
        return CANNOT;
    for (uint32_t i = from; i < to; i++) {
        uint32_t rule = s->frames[i].rule;
        s->news[w->n++] = (struct cairn_local_frame){
            .ret = s->frames[i].ret, .sp = s->frames[i].sp, .fp = w->fp_slot, .rule = rule};
        if (!follow_fp(w, rule, s->frames[i + 1].sp))
            return CANNOT;
    }
    if (to > from) {
        w->sp = s->frames[to].sp;
        w->ret = word_at(slot_of(&s->frames[to]));
    }
    return MOVED;
}

/* The frame where the walk stands may be that of the last walk at w->place. */
READS_FRAMES enum verdict meet(struct walk *w, uint32_t rule)
{
    struct cairn_local_state *s = w->state;
    while (w->place < N && s->frames[w->place].sp < w->sp)
        w->place++;
    uint32_t place = w->place;
    uintptr_t fp;
    if (place >= N || s->frames[place].sp != w->sp)
        return GOES_ON;
    const struct cairn_local_frame *frame = &s->frames[place];
    if (s->frames[place].ret != w->ret && (rule != frame->rule || !cairn_fast_is_plain(rule)))
        return GOES_ON;
    if (frame->needs_fp && (!frame_pointer(w, &fp) || fp != frame->fp))
        return GOES_ON;
    if (s->frames[place].ret != w->ret) {
        s->frames[place].ret = w->ret;
        w->kept = place + 1 > w->kept ? place + 1 : w->kept;
    }
    w->to = w->ips && N - place + w->n <= w->max ? w->ips + w->n : NULL;
    uint32_t proven = compare(w, place);
    if (__builtin_expect(proven == N, 1))
        return JOINS;
    /* A copy, so that the walk itself stays in registers. */
    struct walk moved = *w;
    enum verdict verdict = take_over(&moved, place, proven);
    *w = moved;
    return verdict;
}

/* CFAs that are not a register plus a number; the memory they are in. */
READS_FRAMES bool deref(const struct walk *w, uint32_t rule, uintptr_t *ret_slot)
{
    enum cairn_fast_deref by = cairn_fast_deref(rule);
    uintptr_t base = w->sp;
    if (by == CAIRN_FAST_NO_DEREF || (by == CAIRN_FAST_BY_FP && !frame_pointer(w, &base)))
        return false;
    *ret_slot = cairn_fast_deref_slot(rule, base);
    return may_read(w->state, *ret_slot);
}

READS_FRAMES bool find_cfa(const struct walk *w, uint32_t rule, uintptr_t *ret_cfa)
{
    uintptr_t base = w->sp, slot;
    if (__builtin_expect(cairn_fast_is_plain(rule), 1)) {
        if (cairn_fast_is_fp(rule) && !frame_pointer(w, &base))
            return false;
        *ret_cfa = base + cairn_fast_cfa(rule);
        return true;
    }
    if (!deref(w, rule, &slot))
        return false;
    *ret_cfa = cairn_fast_deref_cfa(rule, word_at(slot));
    return true;
}

/* From the frame where the walk stands, which is noted, to its caller. */
READS_FRAMES enum verdict step(struct walk *w, uint32_t rule)
{
    struct cairn_local_state *s = w->state;
    uintptr_t cfa;
    if (__builtin_expect(w->n == N, 0))
        return CANNOT;
    s->news[w->n++] =
        (struct cairn_local_frame){.ret = w->ret, .sp = w->sp, .fp = w->fp_slot, .rule = rule};
    if (__builtin_expect(!find_cfa(w, rule, &cfa), 0))
        return rule == cairn_rule_make(CAIRN_RULE_OUTERMOST, 0) ? ENDS : CANNOT;
    /* cfa > sp, and what lies between is readable. */
    if (__builtin_expect(cfa - w->sp - 1 >= s->hot.stack.high - w->sp, 0) &&
        (cfa <= w->sp || !cairn_local_stack_reach(&s->hot.stack, cfa)))
        return CANNOT;
    if (__builtin_expect(cfa % CAIRN_FAST_CFA_ALIGN, 0) || !follow_fp(w, rule, cfa))
        return CANNOT;
    w->ret = word_at(cfa - cairn_fast_ra(rule));
    w->sp = cfa;
    return GOES_ON;
}

/* One word more that the step from `place` read. */
WALKS_FRAMES static bool add_word(struct cairn_local_state *s, uint32_t place, uintptr_t slot)
{
    if (s->hot.n_words == CAIRN_LOCAL_WORDS || !may_read(s, slot))
        return false;
    s->words[s->hot.n_words++] = (struct cairn_local_word){slot, word_at(slot), place};
    return true;
}

/* What it takes to prove the frame at `place` next time; its callers have theirs. `end_sp`: where
 * the walk stood when it ended. */
__attribute__((noinline)) WALKS_FRAMES static bool
note_needs(const struct walk *w, const struct cairn_local_frame *new, uint32_t place)
{
    struct cairn_local_state *s = w->state;
    struct cairn_local_frame *frame = &s->frames[place];
    bool is_last = place + 1 == N;
    bool caller_needs = !is_last && frame[1].needs_fp;
    uint32_t rule = new->rule;
    frame->needs_fp = false;
    if (cairn_rule_kind(rule) == CAIRN_RULE_OUTERMOST)
        return true;
    uintptr_t saved = cairn_fast_fp(rule);
    bool at_fp = cairn_fast_fp_is_at_fp(rule), is_plain = cairn_fast_is_plain(rule);
    struct walk there = {.state = s, .sp = new->sp, .fp_slot = new->fp, .fp = w->fp};
    if ((is_plain ? cairn_fast_is_fp(rule) : cairn_fast_deref(rule) == CAIRN_FAST_BY_FP) ||
        (caller_needs && (!saved || at_fp))) {
        frame->needs_fp = true;
        if (!frame_pointer(&there, &frame->fp))
            return false;
    }
    uintptr_t cfa = is_last ? w->sp : s->frames[place + 1].sp, slot;
    if (is_last &&
        !add_word(s, place, cfa - cairn_fast_ra(rule))) /* the zero that ended the walk */
        return false;
    if (caller_needs && saved && !add_word(s, place, at_fp ? frame->fp : cfa - saved))
        return false;
    return is_plain || (deref(&there, rule, &slot) && add_word(s, place, slot));
}

/* Puts the news before the frame at w->place, where the walk met the last one (N: nowhere). */
WALKS_FRAMES static bool put(struct walk *w)
{
    struct cairn_local_state *s = w->state;
    uint32_t place = w->place, n = w->n;
    /* The anchor keeps the walk from seeing that it met the last one earlier. */
    while (n > 0 && place > s->hot.top && s->news[n - 1].sp == s->frames[place - 1].sp &&
           s->news[n - 1].ret == s->frames[place - 1].ret) {
        n--;
        place--;
    }
    if (n > place)
        return false;
    w->place = place;
    s->hot.anchor = place < N ? place : N - 1;
    s->hot.n_words = place < N ? s->frames[place].n_words : 0;
    s->hot.top = place - n;
    while (n > 0) {
        const struct cairn_local_frame *new = &s->news[--n];
        place--;
        s->frames[place] = *new;
        /* Most frames: counted from sp, and nobody farther out wants the frame pointer. */
        if ((!cairn_fast_is_plain(new->rule) || cairn_fast_is_fp(new->rule) || place + 1 == N ||
             s->frames[place + 1].needs_fp) &&
            !note_needs(w, new, place))
            return false;
        s->frames[place].n_words = (uint16_t)s->hot.n_words;
    }
    return true;
}

/* Walks until the last walk is met, or the stack ends. About 2.5 ns a new frame: the next one's
 * address is loaded from the stack, its rule from the cache, and so on in a chain. */
READS_FRAMES enum verdict walk(struct walk *w)
{
    struct cairn_local_state *s = w->state;
    uintptr_t compare_from = 0;
    uint32_t rule = cairn_local_cache_rule(cairn_fast_lookup_va(w->ret));
    if (s->hot.top < N &&
        (s->frames[s->hot.top].sp != w->sp ||
         (s->frames[s->hot.top].ret != w->ret && s->frames[s->hot.top].rule != rule))) {
        w->place = s->hot.anchor;
        compare_from = s->frames[s->hot.anchor].sp;
    }
    for (;;) {
        enum verdict verdict = GOES_ON;
        if (w->sp >= compare_from)
            verdict = meet(w, rule);
        if (verdict == GOES_ON)
            verdict = step(w, rule);
        if (__builtin_expect(verdict > MOVED, 0))
            return verdict;
        if (__builtin_expect(w->ret == 0, 0))
            return ENDS;
        rule = cairn_local_cache_rule(cairn_fast_lookup_va(w->ret));
    }
}

__attribute__((hot)) WALKS_FRAMES bool cairn_local_fast_walk(struct cairn_local_state *state,
                                                             const struct cairn_local_regs *regs,
                                                             uintptr_t *ips, size_t max,
                                                             struct cairn_local_result *ret_result)
{
    struct walk w = {
        .state = state, .ret = regs->ret, .sp = regs->sp, .fp = regs->fp, .ips = ips, .max = max};
    enum verdict verdict = CANNOT;
    /* What a call pushed lies below sp, and is mapped for sure. */
    if (w.sp - 8 - state->hot.stack.low >= state->hot.stack.high - state->hot.stack.low &&
        !cairn_local_stack_enter(&state->hot.stack, w.sp - 8))
        cairn_local_state_void(state);
    w.place = state->hot.top;
    if (w.sp <= state->hot.stack.high || cairn_local_stack_reach(&state->hot.stack, w.sp))
        verdict = walk(&w);
    if (verdict == ENDS)
        w.place = N;
    struct walk done = w;
    if (verdict == JOINS && w.n == 0)
        state->hot.top = w.place;
    else if (verdict == CANNOT || !put(&done)) {
        cairn_local_state_void(state);
        return false;
    }
    ret_result->n_shared = N - (done.place > done.kept ? done.place : done.kept);
    ret_result->n_copied = verdict == JOINS && w.to ? N - w.place - 1 : 0;
    ret_result->end = CAIRN_END_OUTERMOST;
    return true;
}
