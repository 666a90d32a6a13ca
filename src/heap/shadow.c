/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "heap/shadow.h"

#include "rt/pages.h"

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

/* A leaf stands for one piece or several, 8192 granules. */
static void make_leaf(struct cairn_heap_shadow *shadow, struct cairn_heap_state *state, uint64_t va)
{
    unsigned bits = shadow->granule_bits, span_bits = CAIRN_HEAP_LEAF_BITS + bits;
    uint64_t first = va >> span_bits << span_bits;
    _Atomic(uintptr_t) *middle = middle_of(shadow, va);
    if (!middle)
        return;
    uint64_t *leaf = cairn_heap_state_take(state, CAIRN_HEAP_LEAF, 1, bits, first);
    if (!leaf)
        return;
    uint32_t at = (uint32_t)(first >> CAIRN_HEAP_PIECE_BITS) & ((1u << CAIRN_HEAP_MIDDLE_BITS) - 1);
    uint32_t n = 1u << (span_bits - CAIRN_HEAP_PIECE_BITS);
    for (uint32_t i = 0; i < n; i++)
        atomic_store_explicit(&middle[at + i],
                              (uintptr_t)(leaf + ((size_t)i << (CAIRN_HEAP_PIECE_BITS - bits))) |
                                  bits,
                              memory_order_release);
}

_Atomic(uint64_t) *cairn_heap_shadow_make(struct cairn_heap_shadow *shadow,
                                          struct cairn_heap_state *state, uint64_t va)
{
    if (va >> CAIRN_HEAP_VA_BITS)
        return NULL;
    cairn_lock_take(&shadow->lock);
    _Atomic(uint64_t) *entry = cairn_heap_shadow_find(shadow, va);
    if (!entry) {
        make_leaf(shadow, state, va);
        entry = cairn_heap_shadow_find(shadow, va);
    }
    cairn_lock_give(&shadow->lock);
    return entry;
}
