/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Local walk: a remembered walk on its way (local_fast.h), what its parts share:
 *
 *     local_fast.c     goes from frame to frame, until it meets the last walk
 *     local_compare.c  proves the last walk from where it was met
 *     local_put.c      puts what is new before what was proven
 */
#ifndef CAIRN_UNWIND_LOCAL_WALK_H
#define CAIRN_UNWIND_LOCAL_WALK_H

#include "unwind/local_fast.h"
#include "unwind/local_fast_cpu.h"

/* A walker reads the frames of others: their padding, which ASan has poisoned, and words that other
 * threads write through pointers they were given, which TSan would call a race. What it reads
 * decides nothing but which word is read next, within what is known to be readable. */
#define CAIRN_READS_FRAMES                                                                         \
    __attribute__((no_sanitize("address", "thread"), always_inline)) static inline
#define CAIRN_WALKS_FRAMES __attribute__((no_sanitize("address", "thread")))

enum { CAIRN_LOCAL_WORD = sizeof(uintptr_t) };

/* The words of the last walk from the frame at `place` on, which is proven. Returns the first place
 * whose frame is not, or from where the step to its caller is not (w->rest: all are). Addresses go
 * to w->ips, unless they might be too many: it is NULL then. */
uint32_t cairn_local_compare(struct cairn_local_walk *w, uint32_t place);

/* Puts the news before the frame at w->place, where the walk met the last one (w->rest: nowhere).
 * False: what it takes to prove them again does not fit. */
bool cairn_local_put(struct cairn_local_walk *w);

/* Looks for hot.odd anew, from hot.top on. */
void cairn_local_find_odd(struct cairn_local_state *s);

/* Puts what was proven, from w->place on, `by` places farther out; what would lie beyond the last
 * place falls off. */
void cairn_local_move(struct cairn_local_walk *w, int32_t by);

CAIRN_READS_FRAMES uintptr_t cairn_local_word_at(uintptr_t va)
{
    typedef uintptr_t __attribute__((may_alias)) word;
    return *(const word *)va;
}

/* Is the word at `va` one that may be read? What the walk has reached lies below stack.high. */
CAIRN_READS_FRAMES bool cairn_local_may_read(const struct cairn_local_state *s, uintptr_t va)
{
    return va - s->hot.stack.low < s->hot.stack.high - s->hot.stack.low - (CAIRN_LOCAL_WORD - 1) &&
           va % CAIRN_LOCAL_WORD == 0;
}

CAIRN_READS_FRAMES uint32_t cairn_local_slot_of(const struct cairn_local_frame *frame)
{
    return frame->slot & ~(uint32_t)CAIRN_LOCAL_ASKS;
}

CAIRN_READS_FRAMES uintptr_t cairn_local_slot_va(const struct cairn_local_state *s,
                                                 const struct cairn_local_frame *frame)
{
    return s->hot.base + cairn_local_slot_of(frame);
}

/* The stack pointer of the remembered frame at `place`. */
CAIRN_READS_FRAMES uintptr_t cairn_local_sp_at(const struct cairn_local_state *s, uint32_t place)
{
    return CAIRN_FAST_RA ? cairn_local_slot_va(s, &s->frames[place]) + CAIRN_FAST_RA
                         : s->asides[place].sp;
}

/* The same, by the frame. */
CAIRN_READS_FRAMES uintptr_t cairn_local_sp_of(const struct cairn_local_state *s,
                                               const struct cairn_local_frame *frame)
{
    return CAIRN_FAST_RA ? cairn_local_slot_va(s, frame) + CAIRN_FAST_RA
                         : s->asides[frame - s->frames].sp;
}

/* The frame pointer where the walk stands. False: it cannot be read. */
CAIRN_READS_FRAMES bool cairn_local_frame_pointer(const struct cairn_local_walk *w,
                                                  uintptr_t *ret_fp)
{
    if (w->fp_slot && !cairn_local_may_read(w->state, w->fp_slot))
        return false;
    *ret_fp = w->fp_slot ? cairn_local_word_at(w->fp_slot) : w->fp;
    return true;
}

/* Where the caller's frame pointer is, beyond a frame of `rule` with this CFA. */
CAIRN_READS_FRAMES bool cairn_local_follow_fp(struct cairn_local_walk *w, uint32_t rule,
                                              uintptr_t cfa)
{
    uintptr_t below = cairn_fast_fp(rule);
    if (__builtin_expect(cairn_fast_fp_is_at_fp(rule), 0)) {
        uintptr_t fp;
        bool can = cairn_local_frame_pointer(w, &fp);
        w->fp_slot = can ? fp : w->fp_slot;
        return can;
    }
    w->fp_slot = below ? cfa - below : w->fp_slot;
    return true;
}

/* The rule of a frame, without what lies above it. */
CAIRN_READS_FRAMES uint32_t cairn_local_rule(const struct cairn_local_frame *frame)
{
    return frame->rule & CAIRN_RULE_MASK;
}

/* Neither the CFA nor where the caller's frame pointer is saved can be told from the rule and the
 * stack pointers. */
CAIRN_READS_FRAMES bool cairn_local_is_rare(uint32_t rule)
{
    return !cairn_fast_is_plain(rule) || cairn_fast_fp_is_at_fp(rule);
}

/* Where the return address lies that led to where the walk stands. */
CAIRN_READS_FRAMES uintptr_t cairn_local_slot(const struct cairn_local_walk *w)
{
    return CAIRN_FAST_RA ? w->sp - CAIRN_FAST_RA : w->slot;
}

/* Frames are put down and copied as two words, for what was stored just now is only handed to a
 * load that is within one of the stores. */
typedef uint64_t __attribute__((may_alias)) cairn_local_half;

CAIRN_READS_FRAMES void cairn_local_put_down(struct cairn_local_frame *to, uintptr_t ret,
                                             uintptr_t slot, uint32_t rule)
{
    _Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the slot is the lower half");
    to->ret = ret;
    *(cairn_local_half *)(void *)&to->slot = (uint32_t)slot | (uint64_t)rule << 32;
}

CAIRN_READS_FRAMES void cairn_local_copy(struct cairn_local_frame *to,
                                         const struct cairn_local_frame *from)
{
    *(volatile uintptr_t *)&to->ret = from->ret;
    *(volatile cairn_local_half *)(void *)&to->slot =
        *(const cairn_local_half *)(const void *)&from->slot;
}

/* The walk goes on from its frame, which it notes. */
CAIRN_READS_FRAMES void cairn_local_note(struct cairn_local_walk *w, uint32_t rule)
{
    struct cairn_local_state *s = w->state;
    cairn_local_put_down(&s->news[w->n], w->ret, cairn_local_slot(w) - s->hot.base, rule);
    if (!CAIRN_FAST_RA)
        s->new_asides[w->n].sp = w->sp;
    w->n++;
}

#endif /* CAIRN_UNWIND_LOCAL_WALK_H */
