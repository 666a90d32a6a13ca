/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Shadow: the live blocks by their addresses. No lock: a block has one owner, who writes its entry
 * between the real malloc and the real free. Two loads find it.
 *
 *     va   63 .. 48 | 47 .. 32 | 31 .. 16 | 15 ......... 0
 *            none       top       piece     granule
 *
 * top[] has a table for 4 GiB each, and that a word for each piece of 64 KiB:
 *
 *     0                        there is no leaf
 *     entries | granule        open: where the entry of the piece's first granule is, in a leaf of
 *                              the state, and the granule's bits: a region may have its own
 *     entries | granule << 3   closed: the same of a leaf that has emptied and is about to be given
 *                              back (heap/empty.h). Who needs it opens it again by an exchange, who
 *                              gives it back makes the word 0 by another: one of them succeeds
 */
#ifndef CAIRN_HEAP_SHADOW_H
#define CAIRN_HEAP_SHADOW_H

#include "heap/state.h"

enum {
    CAIRN_HEAP_VA_BITS = 48,
    CAIRN_HEAP_PIECE_BITS = 16,
    CAIRN_HEAP_TOP_BITS = 16,
    CAIRN_HEAP_MIDDLE_BITS = CAIRN_HEAP_VA_BITS - CAIRN_HEAP_TOP_BITS - CAIRN_HEAP_PIECE_BITS,
    CAIRN_HEAP_LEAF_BITS = CAIRN_HEAP_CHUNK_BITS - 3, /* entries of a leaf */
    CAIRN_HEAP_GRANULE_MASK = 7,
    CAIRN_HEAP_WORD_MASK = 63 /* all that a shift looks at: a piece's entries lie aligned to more */
};

_Static_assert(CAIRN_HEAP_PIECE_BITS + CAIRN_HEAP_MIDDLE_BITS == 32, "as find() takes them out");

struct cairn_heap_shadow {
    _Atomic(_Atomic(uintptr_t) *) top[1 << CAIRN_HEAP_TOP_BITS];
    struct cairn_lock lock; /* of who makes tables and leaves */
    unsigned granule_bits;  /* of leaves made from now on: 3 to 7 */
};

/* An address without its tag (the CPU ignores the uppermost byte where there are such). */
static inline uint64_t cairn_heap_va(const void *block)
{
    uint64_t va = (uintptr_t)block;
#ifdef __aarch64__
    va &= (UINT64_C(1) << 56) - 1;
#endif
    return va;
}

/* Where the entry of `va` is; NULL: there is no leaf for it, or a closed one. */
static inline _Atomic(uint64_t) *cairn_heap_shadow_find(const struct cairn_heap_shadow *shadow,
                                                        uint64_t va)
{
    uint64_t top = va >> (CAIRN_HEAP_PIECE_BITS + CAIRN_HEAP_MIDDLE_BITS);
    if (__builtin_expect(top >= 1u << CAIRN_HEAP_TOP_BITS, 0))
        return NULL;
    _Atomic(uintptr_t) *middle =
        atomic_load_explicit(&shadow->top[(size_t)top], memory_order_acquire);
    if (__builtin_expect(!middle, 0))
        return NULL;
    uintptr_t piece =
        atomic_load_explicit(&middle[(uint32_t)va >> CAIRN_HEAP_PIECE_BITS], memory_order_acquire);
    if (__builtin_expect((piece & CAIRN_HEAP_GRANULE_MASK) == 0, 0))
        return NULL;
    uintptr_t granule =
        (uintptr_t)(va & ((1u << CAIRN_HEAP_PIECE_BITS) - 1)) >> (piece & CAIRN_HEAP_WORD_MASK);
    _Atomic(uint64_t) *leaf = (_Atomic(uint64_t) *)(piece & ~(uintptr_t)CAIRN_HEAP_WORD_MASK);
    _Atomic(uint64_t) *entry = leaf + granule;
    if (!entry)
        __builtin_unreachable();
    return entry;
}

/* The same; a closed one is opened. No lock. */
_Atomic(uint64_t) *cairn_heap_shadow_reach(struct cairn_heap_shadow *shadow, uint64_t va);
/* The same; where there is none, one is made. NULL: there is no room, or `va` is too high. */
_Atomic(uint64_t) *cairn_heap_shadow_make(struct cairn_heap_shadow *shadow,
                                          struct cairn_tracked_state *state, uint64_t va);

/* A leaf as the table of chunks has it, which the program may scribble over. */
struct cairn_heap_leaf {
    const _Atomic(uint64_t) *entries;
    uint64_t first; /* the address that the first one stands for */
    unsigned bits;  /* of its granule */
};

/* With the lock held. Open to closed, closed to 0, and either of the two to open again. False:
 * nothing is changed, for the leaf is not what it says, or somebody has opened it. */
bool cairn_heap_shadow_close(struct cairn_heap_shadow *shadow, const struct cairn_heap_leaf *leaf);
bool cairn_heap_shadow_cut(struct cairn_heap_shadow *shadow, const struct cairn_heap_leaf *leaf);
void cairn_heap_shadow_open(struct cairn_heap_shadow *shadow, const struct cairn_heap_leaf *leaf);

#endif /* CAIRN_HEAP_SHADOW_H */
