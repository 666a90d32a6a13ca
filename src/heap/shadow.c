/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "heap/shadow.h"

#include "rt/pages.h"

enum {
    CLOSED_SHIFT = 3 /* of the granule's bits in a closed piece's word */
};
static const uintptr_t closed_mask = CAIRN_HEAP_GRANULE_MASK << CLOSED_SHIFT;

static _Atomic(uintptr_t) *middle_of(struct cairn_heap_shadow *shadow, uint64_t va)
{
    uint64_t top = va >> (CAIRN_HEAP_PIECE_BITS + CAIRN_HEAP_MIDDLE_BITS);
    _Atomic(uintptr_t) *middle = atomic_load(&shadow->top[top]);
    if (middle)
        return middle;
    middle = cairn_pages_map(sizeof(*middle) << CAIRN_HEAP_MIDDLE_BITS);
    atomic_store_explicit(&shadow->top[top], middle, memory_order_release);
    return middle;
}

/* The word of the piece with `va`, which is not above the table. NULL: it has no table. */
static _Atomic(uintptr_t) *piece_of(const struct cairn_heap_shadow *shadow, uint64_t va)
{
    uint64_t top = va >> (CAIRN_HEAP_PIECE_BITS + CAIRN_HEAP_MIDDLE_BITS);
    _Atomic(uintptr_t) *middle = atomic_load_explicit(&shadow->top[top], memory_order_acquire);
    uint32_t at = (uint32_t)(va >> CAIRN_HEAP_PIECE_BITS) & ((1u << CAIRN_HEAP_MIDDLE_BITS) - 1);
    return middle ? &middle[at] : NULL;
}

_Atomic(uint64_t) *cairn_heap_shadow_reach(struct cairn_heap_shadow *shadow, uint64_t va)
{
    if (va >> CAIRN_HEAP_VA_BITS)
        return NULL;
    _Atomic(uintptr_t) *piece = piece_of(shadow, va);
    uintptr_t word = piece ? atomic_load(piece) : 0, bits = (word & closed_mask) >> CLOSED_SHIFT;
    /* Whoever was faster has opened it, or cut it off. */
    if (word != 0 && (word & CAIRN_HEAP_GRANULE_MASK) == 0)
        atomic_compare_exchange_strong(piece, &word, (word & ~closed_mask) | bits);
    return cairn_heap_shadow_find(shadow, va);
}

/* How many pieces a leaf stands for: 8192 granules. */
static uint32_t pieces_of(unsigned bits)
{
    return 1u << (CAIRN_HEAP_LEAF_BITS + bits - CAIRN_HEAP_PIECE_BITS);
}

static uintptr_t open_word(const struct cairn_heap_leaf *leaf, uint32_t i)
{
    return (uintptr_t)(leaf->entries + ((size_t)i << (CAIRN_HEAP_PIECE_BITS - leaf->bits))) |
           leaf->bits;
}

static uintptr_t closed_word(const struct cairn_heap_leaf *leaf, uint32_t i)
{
    return open_word(leaf, i) - leaf->bits + ((uintptr_t)leaf->bits << CLOSED_SHIFT);
}

static void make_leaf(struct cairn_heap_shadow *shadow, struct cairn_tracked_state *state,
                      uint64_t va)
{
    unsigned bits = shadow->granule_bits, span_bits = CAIRN_HEAP_LEAF_BITS + bits;
    struct cairn_heap_leaf leaf = {.first = va >> span_bits << span_bits, .bits = bits};
    if (!middle_of(shadow, va))
        return;
    leaf.entries = cairn_heap_state_take(state, CAIRN_HEAP_LEAF, 1, bits, leaf.first);
    if (leaf.entries)
        cairn_heap_shadow_open(shadow, &leaf);
}

_Atomic(uint64_t) *cairn_heap_shadow_make(struct cairn_heap_shadow *shadow,
                                          struct cairn_tracked_state *state, uint64_t va)
{
    _Atomic(uint64_t) *entry = cairn_heap_shadow_reach(shadow, va);
    if (entry || va >> CAIRN_HEAP_VA_BITS)
        return entry;
    cairn_lock_take(&shadow->lock);
    entry = cairn_heap_shadow_reach(shadow, va);
    if (!entry) {
        make_leaf(shadow, state, va);
        entry = cairn_heap_shadow_find(shadow, va);
    }
    cairn_lock_give(&shadow->lock);
    return entry;
}

static bool makes_sense(const struct cairn_heap_shadow *shadow, const struct cairn_heap_leaf *leaf)
{
    unsigned span_bits = CAIRN_HEAP_LEAF_BITS + leaf->bits;
    return leaf->bits >= 3 && leaf->bits <= CAIRN_HEAP_GRANULE_MASK &&
           !(leaf->first >> CAIRN_HEAP_VA_BITS) &&
           !(leaf->first & ((UINT64_C(1) << span_bits) - 1)) && piece_of(shadow, leaf->first);
}

bool cairn_heap_shadow_close(struct cairn_heap_shadow *shadow, const struct cairn_heap_leaf *leaf)
{
    if (!makes_sense(shadow, leaf))
        return false;
    _Atomic(uintptr_t) *pieces = piece_of(shadow, leaf->first);
    uint32_t n = pieces_of(leaf->bits);
    for (uint32_t i = 0; i < n; i++)
        if (atomic_load(&pieces[i]) != open_word(leaf, i))
            return false;
    for (uint32_t i = 0; i < n; i++)
        atomic_store(&pieces[i], closed_word(leaf, i));
    return true;
}

bool cairn_heap_shadow_cut(struct cairn_heap_shadow *shadow, const struct cairn_heap_leaf *leaf)
{
    _Atomic(uintptr_t) *pieces = piece_of(shadow, leaf->first);
    uint32_t n = pieces_of(leaf->bits);
    for (uint32_t i = 0; i < n; i++) {
        uintptr_t closed = closed_word(leaf, i);
        if (!atomic_compare_exchange_strong(&pieces[i], &closed, 0)) {
            cairn_heap_shadow_open(shadow, leaf);
            return false;
        }
    }
    return true;
}

void cairn_heap_shadow_open(struct cairn_heap_shadow *shadow, const struct cairn_heap_leaf *leaf)
{
    _Atomic(uintptr_t) *pieces = piece_of(shadow, leaf->first);
    uint32_t n = pieces_of(leaf->bits);
    for (uint32_t i = 0; i < n; i++)
        atomic_store_explicit(&pieces[i], open_word(leaf, i), memory_order_release);
}
