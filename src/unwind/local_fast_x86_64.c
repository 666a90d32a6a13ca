/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include <cairn/unwind.h>

#include "unwind/local_cache.h"
#include "unwind/local_fast.h"
#include "unwind/rule_x86_64.h"

/* A walker reads the frames of others: their padding, which ASan has poisoned, and words that other
 * threads write through pointers they were given, which TSan would call a race. What it reads
 * decides nothing but which word is read next, within what is known to be readable. */
#define READS_FRAMES __attribute__((no_sanitize("address", "thread"), always_inline)) static inline
#define WALKS_FRAMES __attribute__((no_sanitize("address", "thread")))

enum { N = CAIRN_LOCAL_FRAMES };

/* A walk on its way. */
struct walk {
    struct cairn_local_state *state;
    uintptr_t ret, sp;
    uintptr_t fp_slot; /* va where the frame pointer is saved; 0: it is `fp` */
    uintptr_t fp;
    uint32_t n;     /* news */
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
    return va - state->stack.low < state->stack.high - state->stack.low - 7 && va % 8 == 0;
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
    return cairn_x86_64_is_plain(rule) &&
           cairn_local_cache_at(ret - 1) == cairn_local_cache_entry(ret - 1, rule);
}

/* The words behind the frame at `place`, which is proven, from there outwards. Returns the first
 * place whose frame is not proven (N: all are). */
READS_FRAMES uint32_t compare(struct walk *w, uint32_t place)
{
    struct cairn_local_state *s = w->state;
    const struct cairn_local_word *word = s->words + s->frames[place].n_words;
    for (uint32_t i = place; i < N; i++) {
        for (; word > s->words && word[-1].place == i; word--)
            if (word_at(word[-1].slot) != word[-1].value)
                return i;
        if (i + 1 == N)
            break;
        uintptr_t ret = word_at(s->sps[i + 1] - 8);
        if (__builtin_expect(ret != s->rets[i + 1], 0)) {
            if (!has_rule(ret, s->frames[i + 1].rule))
                return i + 1;
            s->rets[i + 1] = ret;
            w->kept = i + 2;
        }
    }
    return N;
}

/* The same where nothing but return addresses was read: what a steady loop does. */
READS_FRAMES uint32_t compare_plain(struct walk *w, uint32_t place)
{
    struct cairn_local_state *s = w->state;
    for (uint32_t i = place + 1; i < N; i++) {
        uintptr_t ret = word_at(s->sps[i] - 8);
        if (__builtin_expect(ret != s->rets[i], 0)) {
            if (!has_rule(ret, s->frames[i].rule))
                return i;
            s->rets[i] = ret;
            w->kept = i + 1;
        }
    }
    return N;
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
        uint32_t rule = s->frames[i].rule, saved = cairn_x86_64_fp(rule);
        s->news[w->n++] = (struct cairn_local_new){s->rets[i], s->sps[i], w->fp_slot, rule};
        if (saved == CAIRN_X86_64_FP_AT_FP) {
            if (!frame_pointer(w, &w->fp_slot))
                return CANNOT;
        } else if (saved != CAIRN_X86_64_FP_SAME) {
            w->fp_slot = s->sps[i + 1] - 8 * (uintptr_t)saved;
        }
    }
    if (to > from) {
        w->sp = s->sps[to];
        w->ret = word_at(w->sp - 8);
    }
    return MOVED;
}

/* The frame where the walk stands may be that of the last walk at w->place. */
READS_FRAMES enum verdict meet(struct walk *w, uint32_t rule)
{
    struct cairn_local_state *s = w->state;
    while (w->place < N && s->sps[w->place] < w->sp)
        w->place++;
    uint32_t place = w->place;
    uintptr_t fp;
    if (place >= N || s->sps[place] != w->sp)
        return GOES_ON;
    const struct cairn_local_frame *frame = &s->frames[place];
    if (s->rets[place] != w->ret && (rule != frame->rule || !cairn_x86_64_is_plain(rule)))
        return GOES_ON;
    if (frame->needs_fp && (!frame_pointer(w, &fp) || fp != frame->fp))
        return GOES_ON;
    if (s->rets[place] != w->ret) {
        s->rets[place] = w->ret;
        w->kept = place + 1 > w->kept ? place + 1 : w->kept;
    }
    uint32_t proven = frame->n_words ? compare(w, place) : compare_plain(w, place);
    if (__builtin_expect(proven == N, 1))
        return JOINS;
    return take_over(w, place, proven);
}

/* CFAs that are not a register plus a number; the memory they are in. */
READS_FRAMES bool deref(const struct walk *w, uint32_t rule, uintptr_t *ret_slot)
{
    uintptr_t fp;
    switch (cairn_rule_kind(rule)) {
    case CAIRN_X86_64_FP_DEREF:
        if (!frame_pointer(w, &fp))
            return false;
        *ret_slot = fp - (uintptr_t)cairn_x86_64_cfa(rule);
        break;
    case CAIRN_X86_64_SP_DEREF:
        *ret_slot = w->sp + (uintptr_t)cairn_x86_64_cfa(rule);
        break;
    default:
        return false;
    }
    return may_read(w->state, *ret_slot);
}

READS_FRAMES bool find_cfa(const struct walk *w, uint32_t rule, uintptr_t *ret_cfa)
{
    uintptr_t base = w->sp, slot;
    if (__builtin_expect(cairn_x86_64_is_plain(rule), 1)) {
        if (cairn_x86_64_is_fp(rule) && !frame_pointer(w, &base))
            return false;
        *ret_cfa = base + (uintptr_t)cairn_x86_64_cfa(rule);
        return true;
    }
    if (!deref(w, rule, &slot))
        return false;
    *ret_cfa = word_at(slot) + (cairn_rule_kind(rule) == CAIRN_X86_64_SP_DEREF ? 8 : 0);
    return true;
}

/* From the frame where the walk stands, which is noted, to its caller. */
READS_FRAMES enum verdict step(struct walk *w, uint32_t rule)
{
    struct cairn_local_state *s = w->state;
    uintptr_t cfa, fp_slot = w->fp_slot;
    if (__builtin_expect(w->n == N, 0))
        return CANNOT;
    s->news[w->n++] = (struct cairn_local_new){w->ret, w->sp, w->fp_slot, rule};
    if (__builtin_expect(!find_cfa(w, rule, &cfa), 0))
        return rule == cairn_rule_make(CAIRN_RULE_OUTERMOST, 0) ? ENDS : CANNOT;
    /* cfa > sp, and what lies between is readable. */
    if (__builtin_expect(cfa - w->sp - 1 >= s->stack.high - w->sp, 0) &&
        (cfa <= w->sp || !cairn_local_stack_reach(&s->stack, cfa)))
        return CANNOT;
    if (__builtin_expect(cfa % 8, 0))
        return CANNOT;
    uint32_t saved = cairn_x86_64_fp(rule);
    if (saved == CAIRN_X86_64_FP_AT_FP) {
        if (!frame_pointer(w, &fp_slot))
            return CANNOT;
    } else if (saved) {
        fp_slot = cfa - 8 * (uintptr_t)saved;
    }
    w->fp_slot = fp_slot;
    w->ret = word_at(cfa - 8);
    w->sp = cfa;
    return GOES_ON;
}

/* One word more that the step from `place` read. */
static bool add_word(struct cairn_local_state *s, uint32_t place, uintptr_t slot)
{
    if (s->n_words == CAIRN_LOCAL_WORDS || !may_read(s, slot))
        return false;
    s->words[s->n_words++] = (struct cairn_local_word){slot, word_at(slot), place};
    return true;
}

/* What it takes to prove the frame at `place` next time; its callers have theirs. `end_sp`: where
 * the walk stood when it ended. */
WALKS_FRAMES static bool note_needs(const struct walk *w, const struct cairn_local_new *new,
                                    uint32_t place)
{
    struct cairn_local_state *s = w->state;
    struct cairn_local_frame *frame = &s->frames[place];
    bool is_last = place + 1 == N;
    bool caller_needs = !is_last && frame[1].needs_fp;
    uint32_t rule = new->rule, kind = cairn_rule_kind(rule), saved = cairn_x86_64_fp(rule);
    frame->needs_fp = false;
    if (kind == CAIRN_RULE_OUTERMOST)
        return true;
    bool at_fp = saved == CAIRN_X86_64_FP_AT_FP;
    struct walk there = {.state = s, .sp = new->sp, .fp_slot = new->fp_slot, .fp = w->fp};
    if (kind == CAIRN_X86_64_FP || kind == CAIRN_X86_64_FP_DEREF ||
        (caller_needs && (saved == CAIRN_X86_64_FP_SAME || at_fp))) {
        frame->needs_fp = true;
        if (!frame_pointer(&there, &frame->fp))
            return false;
    }
    uintptr_t cfa = is_last ? w->sp : s->sps[place + 1], slot;
    if (is_last && !add_word(s, place, cfa - 8)) /* the zero that ended the walk */
        return false;
    if (caller_needs && saved != CAIRN_X86_64_FP_SAME &&
        !add_word(s, place, at_fp ? frame->fp : cfa - 8 * (uintptr_t)saved))
        return false;
    return cairn_x86_64_is_plain(rule) || (deref(&there, rule, &slot) && add_word(s, place, slot));
}

/* Puts the news before the frame at w->place, where the walk met the last one (N: nowhere). */
WALKS_FRAMES static bool put(struct walk *w)
{
    struct cairn_local_state *s = w->state;
    uint32_t place = w->place, n = w->n;
    /* The anchor keeps the walk from seeing that it met the last one earlier. */
    while (n > 0 && place > s->top && s->news[n - 1].sp == s->sps[place - 1] &&
           s->news[n - 1].ret == s->rets[place - 1]) {
        n--;
        place--;
    }
    if (n > place)
        return false;
    w->place = place;
    s->anchor = place < N ? place : N - 1;
    s->n_words = place < N ? s->frames[place].n_words : 0;
    s->top = place - n;
    while (n > 0) {
        const struct cairn_local_new *new = &s->news[--n];
        place--;
        s->rets[place] = new->ret;
        s->sps[place] = new->sp;
        s->frames[place].rule = new->rule;
        if (!note_needs(w, new, place))
            return false;
        s->frames[place].n_words = (uint16_t)s->n_words;
    }
    return true;
}

/* Walks until the last walk is met, or the stack ends. */
READS_FRAMES enum verdict walk(struct walk *w)
{
    struct cairn_local_state *s = w->state;
    uintptr_t compare_from = 0;
    uint32_t rule = cairn_local_cache_rule(w->ret - 1);
    if (s->top < N && (s->sps[s->top] != w->sp ||
                       (s->rets[s->top] != w->ret && s->frames[s->top].rule != rule))) {
        w->place = s->anchor;
        compare_from = s->sps[s->anchor];
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
        rule = cairn_local_cache_rule(w->ret - 1);
    }
}

WALKS_FRAMES bool cairn_local_fast_walk(struct cairn_local_state *state,
                                        const struct cairn_local_regs *regs,
                                        struct cairn_local_result *ret_result)
{
    struct walk w = {
        .state = state, .ret = regs->ret, .sp = regs->sp, .fp = regs->fp, .place = state->top};
    enum verdict verdict = CANNOT;
    /* What a call pushed lies below sp, and is mapped for sure. */
    if (!cairn_local_stack_enter(&state->stack, w.sp - 8))
        cairn_local_state_void(state);
    w.place = state->top;
    if (cairn_local_stack_reach(&state->stack, w.sp))
        verdict = walk(&w);
    if (verdict == ENDS)
        w.place = N;
    if (verdict == CANNOT || !put(&w)) {
        cairn_local_state_void(state);
        return false;
    }
    ret_result->n_shared = N - (w.place > w.kept ? w.place : w.kept);
    ret_result->end = CAIRN_END_OUTERMOST;
    return true;
}
