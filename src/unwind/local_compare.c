/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/local_compare.h"

#include "unwind/local_cache.h"
#include "unwind/local_rest.h"

__attribute__((hot)) CAIRN_WALKS_FRAMES uint32_t
cairn_local_words_left(const struct cairn_local_state *s, uint32_t place, uint32_t words)
{
    for (; words > 0 && s->words[words - 1].place <= place; words--) {
        const struct cairn_local_word *word = &s->words[words - 1];
        if (word->place == place && cairn_local_word_at(word->slot) != word->value)
            return CAIRN_LOCAL_CHANGED;
    }
    return words;
}

/* Its callee returns to another place: of the same rule, so that it is laid out as before? */
CAIRN_WALKS_FRAMES static bool has_rule(struct cairn_local_state *s, uint32_t place, uintptr_t ret)
{
    struct cairn_local_frame *frame = &s->frames[place];
    uint32_t rule = cairn_local_rule(frame);
    if (!cairn_fast_is_plain(rule) || !cairn_local_cache_has(cairn_fast_lookup_va(ret), rule))
        return false;
    frame->ret = ret;
    cairn_local_keep_from(s, place + 1);
    return true;
}

/* Is the frame pointer that is saved right below this frame's return address the one that it was?
 */
CAIRN_READS_FRAMES bool is_chained(const struct cairn_local_frame *frame, uintptr_t base)
{
    return cairn_local_word_at(base + cairn_local_slot_of(frame) - CAIRN_LOCAL_WORD) ==
           base + cairn_local_slot_of(frame + 1) - CAIRN_LOCAL_WORD;
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

/* One frame more; false: it is another one than it was. */
CAIRN_READS_FRAMES bool prove_one(struct cairn_local_state *s, struct cairn_local_proof *proof,
                                  uintptr_t *to)
{
    uint32_t place = proof->place, words = proof->words;
    const struct cairn_local_frame *frame = &s->frames[place];
    uintptr_t ret = cairn_local_word_at(cairn_local_slot_va(s, frame));
    if (to)
        *to = cairn_fast_address(ret);
    if (ret != frame->ret && !has_rule(s, place, ret))
        return false;
    if (frame->slot & CAIRN_LOCAL_CHAINED && !is_chained(frame, s->hot.base))
        return false;
    if (frame->slot & CAIRN_LOCAL_HAS_WORDS)
        words = cairn_local_words_left(s, place, words);
    if (words == CAIRN_LOCAL_CHANGED)
        return false;
    *proof = (struct cairn_local_proof){place + 1, words};
    return true;
}

__attribute__((hot)) CAIRN_WALKS_FRAMES struct cairn_local_proof
cairn_local_prove(struct cairn_local_state *s, struct cairn_local_proof proof, uintptr_t *to)
{
    const struct cairn_local_frame *end = s->frames + s->hot.rest;
    const struct cairn_local_frame *frame = s->frames + proof.place, *next;
    next = to ? skip_chained(frame, end, s->hot.base, to, true)
              : skip_chained(frame, end, s->hot.base, NULL, false);
    proof.place += (uint32_t)(next - frame);
    if (next == frame && !prove_one(s, &proof, to))
        proof.words = CAIRN_LOCAL_CHANGED;
    return proof;
}

CAIRN_WALKS_FRAMES uint32_t cairn_local_compare(struct cairn_local_walk *w, uint32_t place)
{
    struct cairn_local_state *s = w->state;
    if (w->ips && w->rest - place + w->n <= w->max) {
        uintptr_t *to = w->ips + w->n;
        *to = cairn_fast_address(w->ret);
        return cairn_local_find_changed(s, place, to + 1, true);
    }
    w->ips = NULL;
    return cairn_local_find_changed(s, place, NULL, false);
}
