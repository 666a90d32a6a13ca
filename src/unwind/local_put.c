/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/local_walk.h"

enum { N = CAIRN_LOCAL_FRAMES };

/* Whole frames, to another place, which may overlap. Not memmove(3), of which TSan sees that a dead
 * thread used the same block. */
CAIRN_WALKS_FRAMES static void put_frames(struct cairn_local_frame *to,
                                          const struct cairn_local_frame *from, uint32_t n)
{
    bool is_down = to < from;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = is_down ? i : n - 1 - i;
        cairn_local_copy(&to[at], &from[at]);
    }
}

CAIRN_WALKS_FRAMES static void put_asides(struct cairn_local_aside *to,
                                          const struct cairn_local_aside *from, uint32_t n)
{
    bool is_down = to < from;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = is_down ? i : n - 1 - i;
        to[at] = from[at];
        atomic_signal_fence(memory_order_seq_cst); /* or GCC makes a call of the loop */
    }
}

/* One word more that the step from `place` read. */
CAIRN_WALKS_FRAMES static bool add_word(struct cairn_local_state *s, uint32_t place, uintptr_t slot)
{
    if (s->hot.n_words == CAIRN_LOCAL_WORDS || !cairn_local_may_read(s, slot))
        return false;
    s->words[s->hot.n_words++] = (struct cairn_local_word){slot, cairn_local_word_at(slot), place};
    s->frames[place].slot |= CAIRN_LOCAL_HAS_WORDS;
    return true;
}

/* The frame pointer that the frame at `place` has. */
CAIRN_WALKS_FRAMES static uintptr_t fp_of(const struct cairn_local_state *s, uint32_t place,
                                          const struct cairn_local_aside *new, uintptr_t cfa)
{
    uint32_t rule = cairn_local_rule(&s->frames[place]);
    if (cairn_local_is_rare(rule))
        return new->fp;
    return cairn_fast_is_fp(rule) ? cfa - cairn_fast_cfa(rule) : s->asides[place + 1].fp;
}

/* The caller's frame pointer, which it needs, was read from `slot`. */
CAIRN_WALKS_FRAMES static bool note_saved_fp(struct cairn_local_state *s, uint32_t place,
                                             uint32_t rest, uintptr_t slot)
{
    struct cairn_local_frame *caller = &s->frames[place + 1];
    uintptr_t base = s->hot.base;
    if (place + 2 < rest && slot == base + cairn_local_slot_of(caller) - CAIRN_LOCAL_WORD &&
        cairn_local_word_at(slot) == base + cairn_local_slot_of(caller + 1) - CAIRN_LOCAL_WORD) {
        caller->slot |= CAIRN_LOCAL_CHAINED;
        return true;
    }
    return add_word(s, place, slot);
}

/* What it takes to prove the frame at `place` next time; its callers have theirs. */
CAIRN_WALKS_FRAMES static bool note_needs(const struct cairn_local_walk *w, uint32_t place,
                                          const struct cairn_local_aside *new)
{
    struct cairn_local_state *s = w->state;
    struct cairn_local_frame *frame = &s->frames[place];
    bool is_last = place + 1 == w->rest;
    if (is_last && !w->ends)
        return true;
    uint32_t rule = cairn_local_rule(frame);
    bool caller_needs = !is_last && frame[1].rule & CAIRN_LOCAL_NEEDS_FP;
    bool is_plain = cairn_fast_is_plain(rule), at_fp = cairn_fast_fp_is_at_fp(rule);
    bool by_fp = is_plain ? cairn_fast_is_fp(rule) : cairn_fast_deref(rule) == CAIRN_FAST_BY_FP;
    uintptr_t saved = cairn_fast_fp(rule);
    uintptr_t cfa = is_last ? w->sp : cairn_local_sp_at(s, place + 1);
    if (by_fp || (caller_needs && (!saved || at_fp))) {
        frame->rule |= CAIRN_LOCAL_NEEDS_FP;
        s->asides[place].fp = fp_of(s, place, new, cfa);
    }
    if (is_last && !add_word(s, place, cfa - cairn_fast_ra(rule))) /* the zero */
        return false;
    if (caller_needs && saved &&
        !note_saved_fp(s, place, w->rest, at_fp ? s->asides[place].fp : cfa - saved))
        return false;
    if (is_plain)
        return true;
    uintptr_t base = by_fp ? s->asides[place].fp : cairn_local_sp_at(s, place);
    return add_word(s, place, cairn_fast_deref_slot(rule, base));
}

/* A walk without comparing does not see that it met the last one earlier than it thought. */
CAIRN_WALKS_FRAMES static void leave_out_old(struct cairn_local_walk *w)
{
    const struct cairn_local_state *s = w->state;
    while (w->n > 0 && w->place > s->hot.top) {
        const struct cairn_local_frame *new = &s->news[w->n - 1], *old = &s->frames[w->place - 1];
        if (new->slot != cairn_local_slot_of(old) || new->ret != old->ret ||
            (!CAIRN_FAST_RA && s->new_asides[w->n - 1].sp != s->asides[w->place - 1].sp))
            return;
        w->n--;
        w->place--;
    }
}

CAIRN_WALKS_FRAMES void cairn_local_find_odd(struct cairn_local_state *s)
{
    uint32_t place = s->hot.top;
    while (place < N && !(s->frames[place].slot & CAIRN_LOCAL_ASKS))
        place++;
    s->hot.odd = place;
}

CAIRN_WALKS_FRAMES static bool put(struct cairn_local_walk *w)
{
    struct cairn_local_state *s = w->state;
    uint32_t place = w->place, n = w->n, top = place - n;
    s->hot.anchor = place < w->rest ? place : w->rest - 1;
    while (s->hot.n_words > 0 && s->words[s->hot.n_words - 1].place < place)
        s->hot.n_words--;
    s->hot.top = top;
    put_frames(s->frames + top, s->news, n);
    if (!CAIRN_FAST_RA)
        put_asides(s->asides + top, s->new_asides, n);
    if (n == 0)
        return true;
    bool needs_fp = false;
    if (place < w->rest) {
        s->frames[place].slot &= ~(uint32_t)CAIRN_LOCAL_CHAINED;
        needs_fp = s->frames[place].rule & CAIRN_LOCAL_NEEDS_FP;
    }
    if (!w->has_odd && !needs_fp)
        return true;
    for (uint32_t i = n; i-- > 0;)
        if (!note_needs(w, top + i, &s->new_asides[i]))
            return false;
    return true;
}

CAIRN_WALKS_FRAMES bool cairn_local_put(struct cairn_local_walk *w)
{
    leave_out_old(w);
    if (!put(w))
        return false;
    cairn_local_find_odd(w->state);
    return true;
}

/* Words that are counted to places from `from` on; those of frames that fell off are let go. */
CAIRN_WALKS_FRAMES static void move_words(struct cairn_local_state *s, uint32_t from, int32_t by)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->hot.n_words; i++) {
        struct cairn_local_word word = s->words[i];
        if (word.place < from || (int64_t)word.place + by >= N)
            continue;
        word.place += (uintptr_t)(intptr_t)by;
        s->words[n++] = word;
    }
    s->hot.n_words = n;
}

CAIRN_WALKS_FRAMES void cairn_local_move(struct cairn_local_walk *w, int32_t by)
{
    struct cairn_local_state *s = w->state;
    uint32_t from = w->place, to = from + (uint32_t)by, rest = w->rest + (uint32_t)by;
    rest = rest < N ? rest : N;
    if (to < rest) {
        put_frames(s->frames + to, s->frames + from, rest - to);
        put_asides(s->asides + to, s->asides + from, rest - to);
        s->frames[rest - 1].slot &= ~(uint32_t)CAIRN_LOCAL_CHAINED;
    }
    move_words(s, from, by);
    w->place = to < rest ? to : rest;
    w->rest = rest;
    s->hot.top = w->place;
}
