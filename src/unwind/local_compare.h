/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Local compare: the proof that the stack is what it was, from a frame that is proven outwards.
 * Inline, so that all of the usual case is one piece of code (local_same.c).
 */
#ifndef CAIRN_UNWIND_LOCAL_COMPARE_H
#define CAIRN_UNWIND_LOCAL_COMPARE_H

#include "unwind/local_walk.h"

enum { CAIRN_LOCAL_CHANGED = UINT32_MAX };

/* How far it has come. */
struct cairn_local_proof {
    uint32_t place; /* the first frame that is not proven */
    uint32_t words; /* of the state's that are still to be compared: those of frames farther out
                       come before; CHANGED: `place` is another frame than it was */
};

/* `words` are left. Do those hold that the step from the frame at `place` read? Returns what is
 * left of them then, or CHANGED. */
uint32_t cairn_local_words_left(const struct cairn_local_state *s, uint32_t place, uint32_t words);

/* A frame more, or several that are chained, whatever they ask for; where a callee returns to
 * another place, but one of the same rule, that is remembered. Addresses go to `to`, if it is not
 * NULL. */
struct cairn_local_proof cairn_local_prove(struct cairn_local_state *s,
                                           struct cairn_local_proof proof, uintptr_t *to);

/* Does its callee return to where it did, and is that all it asks for? */
CAIRN_READS_FRAMES bool cairn_local_returns(const struct cairn_local_frame *frame, uintptr_t base,
                                            uintptr_t *to, bool copy)
{
    uintptr_t ret = cairn_local_word_at(base + cairn_local_slot_of(frame));
    if (copy)
        *to = cairn_fast_address(ret);
    return ((ret ^ frame->ret) | (frame->slot & CAIRN_LOCAL_ASKS)) == 0;
}

/* The same of two frames that ask for nothing else: it is the branches that cost. */
CAIRN_READS_FRAMES bool cairn_local_both_return(const struct cairn_local_frame *frame,
                                                uintptr_t base, uintptr_t *to, bool copy)
{
    uintptr_t a = cairn_local_word_at(base + frame[0].slot);
    uintptr_t b = cairn_local_word_at(base + frame[1].slot);
    if (copy) { /* volatile: no vector is made of the two */
        *(volatile uintptr_t *)to = cairn_fast_address(a);
        *(volatile uintptr_t *)(to + 1) = cairn_fast_address(b);
    }
    return ((a ^ frame[0].ret) | (b ^ frame[1].ret)) == 0;
}

/* The first frame behind `place`, which is proven but for its words, that is not; `place` itself
 * where those have changed; hot.rest: all are proven. `to` is where the address behind that of
 * `place` goes; `copy`, known when this is compiled, says whether any does. */
CAIRN_READS_FRAMES uint32_t cairn_local_find_changed(struct cairn_local_state *s, uint32_t place,
                                                     uintptr_t *to, bool copy)
{
    const struct cairn_local_frame *frames = s->frames, *frame = frames + place + 1;
    const struct cairn_local_frame *end = frames + s->hot.rest;
    uintptr_t base = s->hot.base;
    uint32_t words = s->hot.n_words;
    if (__builtin_expect(frames[place].slot & CAIRN_LOCAL_HAS_WORDS, 0)) {
        words = cairn_local_words_left(s, place, words);
        if (words == CAIRN_LOCAL_CHANGED)
            return place;
    }
    for (;;) {
        /* `to` goes along with `frame`: fewer registers than one that is counted from it. */
        while (frame + 1 < end && !((frame[0].slot | frame[1].slot) & CAIRN_LOCAL_ASKS) &&
               cairn_local_both_return(frame, base, to, copy)) {
            frame += 2;
            if (copy)
                to += 2;
        }
        if (frame == end)
            return s->hot.rest;
        if (cairn_local_returns(frame, base, to, copy)) {
            frame++;
            if (copy)
                to++;
            continue;
        }
        struct cairn_local_proof proof = {(uint32_t)(frame - frames), words};
        proof = cairn_local_prove(s, proof, copy ? to : NULL);
        if (proof.words == CAIRN_LOCAL_CHANGED)
            return proof.place;
        if (copy)
            to += frames + proof.place - frame;
        frame = frames + proof.place;
        words = proof.words;
    }
}

#endif /* CAIRN_UNWIND_LOCAL_COMPARE_H */
