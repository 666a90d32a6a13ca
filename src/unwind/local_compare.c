/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/local_cache.h"
#include "unwind/local_walk.h"

/* Is the frame pointer that is saved right below this frame's return address the one that it was?
 */
CAIRN_READS_FRAMES bool is_chained(const struct cairn_local_frame *frame, uintptr_t base)
{
    return cairn_local_word_at(base + cairn_local_slot_of(frame) - CAIRN_LOCAL_WORD) ==
           base + cairn_local_slot_of(frame + 1) - CAIRN_LOCAL_WORD;
}

/* The words that the step from the frame at `place` read; those of frames farther out come before.
 */
__attribute__((noinline)) CAIRN_WALKS_FRAMES static bool words_hold(struct cairn_local_walk *w,
                                                                    uint32_t place)
{
    const struct cairn_local_state *s = w->state;
    uint32_t n = w->n_words;
    for (; n > 0 && s->words[n - 1].place <= place; n--) {
        const struct cairn_local_word *word = &s->words[n - 1];
        if (word->place == place && cairn_local_word_at(word->slot) != word->value)
            return false;
    }
    w->n_words = n;
    return true;
}

/* Its callee returns to another place: of the same rule, so that it is laid out as before? */
__attribute__((noinline)) CAIRN_WALKS_FRAMES static bool has_rule(struct cairn_local_walk *w,
                                                                  uint32_t place)
{
    struct cairn_local_frame *frame = &w->state->frames[place];
    uintptr_t ret = cairn_local_word_at(cairn_local_slot_va(w->state, frame));
    uint32_t rule = cairn_local_rule(frame);
    if (!cairn_fast_is_plain(rule) || !cairn_local_cache_has(cairn_fast_lookup_va(ret), rule))
        return false;
    frame->ret = ret;
    w->kept = place + 1;
    return true;
}

/* Does its callee return to where it did? */
CAIRN_READS_FRAMES bool returns(const struct cairn_local_frame *frame, uintptr_t base,
                                uintptr_t *to, bool copy)
{
    uintptr_t ret = cairn_local_word_at(base + cairn_local_slot_of(frame));
    if (copy)
        *(volatile uintptr_t *)to = cairn_fast_address(ret);
    return ret == frame->ret;
}

/* The same of two frames that ask for nothing else: it is the branches that cost. */
CAIRN_READS_FRAMES bool both_return(const struct cairn_local_frame *frame, uintptr_t base,
                                    uintptr_t *to, bool copy)
{
    uintptr_t a = cairn_local_word_at(base + frame[0].slot);
    uintptr_t b = cairn_local_word_at(base + frame[1].slot);
    if (copy) { /* volatile: no vector is made of the two */
        *(volatile uintptr_t *)to = cairn_fast_address(a);
        *(volatile uintptr_t *)(to + 1) = cairn_fast_address(b);
    }
    return ((a ^ frame[0].ret) | (b ^ frame[1].ret)) == 0;
}

/* Over frames that are CHAINED and no more: code that keeps frame pointers. */
CAIRN_READS_FRAMES const struct cairn_local_frame *
skip_chained(const struct cairn_local_frame *frame, const struct cairn_local_frame *end,
             uintptr_t base, uintptr_t *to, bool copy)
{
    uint32_t slot = frame < end ? frame->slot : 0, next;
    for (; frame < end && (slot & CAIRN_LOCAL_ASKS) == CAIRN_LOCAL_CHAINED; slot = next) {
        uintptr_t va = base + slot - CAIRN_LOCAL_CHAINED, ret = cairn_local_word_at(va);
        next = frame[1].slot;
        if (copy)
            *(volatile uintptr_t *)to++ = cairn_fast_address(ret);
        if (ret != frame->ret || cairn_local_word_at(va - CAIRN_LOCAL_WORD) !=
                                     base + (next & ~(uint32_t)CAIRN_LOCAL_ASKS) - CAIRN_LOCAL_WORD)
            break;
        frame++;
    }
    return frame;
}

/* Over pairs of frames that ask for nothing but their return address. */
CAIRN_READS_FRAMES const struct cairn_local_frame *skip_plain(const struct cairn_local_frame *frame,
                                                              const struct cairn_local_frame *end,
                                                              uintptr_t base, uintptr_t *to,
                                                              bool copy)
{
    while (frame + 1 < end && !((frame[0].slot | frame[1].slot) & CAIRN_LOCAL_ASKS) &&
           both_return(frame, base, to, copy)) {
        frame += 2;
        if (copy)
            to += 2;
    }
    return frame;
}

/* Is the frame at `place` proven, whatever it asks for? */
CAIRN_READS_FRAMES bool is_proven(struct cairn_local_walk *w, uint32_t place, uintptr_t *to,
                                  bool copy)
{
    const struct cairn_local_frame *frame = &w->state->frames[place];
    uintptr_t base = w->state->hot.base;
    if (!returns(frame, base, to, copy) && !has_rule(w, place))
        return false;
    return !(frame->slot & CAIRN_LOCAL_ASKS) ||
           ((!(frame->slot & CAIRN_LOCAL_CHAINED) || is_chained(frame, base)) &&
            (!(frame->slot & CAIRN_LOCAL_HAS_WORDS) || words_hold(w, place)));
}

/* The first frame behind `place` that is not proven. `copy` is known when this is compiled. */
CAIRN_READS_FRAMES uint32_t find_changed(struct cairn_local_walk *w, uint32_t place, uintptr_t *to,
                                         bool copy)
{
    const struct cairn_local_frame *frames = w->state->frames, *end = frames + w->rest;
    const struct cairn_local_frame *from = frames + place + 1, *frame = from;
    uintptr_t base = w->state->hot.base;
    for (; frame < end; frame++) {
        frame = skip_plain(frame, end, base, copy ? to + (frame - from) : NULL, copy);
        frame = skip_chained(frame, end, base, copy ? to + (frame - from) : NULL, copy);
        if (frame == end)
            break;
        if (!is_proven(w, (uint32_t)(frame - frames), copy ? to + (frame - from) : NULL, copy))
            return (uint32_t)(frame - frames);
    }
    return w->rest;
}

__attribute__((hot)) CAIRN_WALKS_FRAMES uint32_t cairn_local_compare(struct cairn_local_walk *w,
                                                                     uint32_t place)
{
    const struct cairn_local_state *s = w->state;
    w->n_words = s->hot.n_words;
    if (s->frames[place].slot & CAIRN_LOCAL_HAS_WORDS && !words_hold(w, place))
        return place;
    if (w->ips && w->rest - place + w->n <= w->max) {
        uintptr_t *to = w->ips + w->n;
        *to = cairn_fast_address(w->ret);
        return find_changed(w, place, to + 1, true);
    }
    w->ips = NULL;
    return find_changed(w, place, NULL, false);
}
