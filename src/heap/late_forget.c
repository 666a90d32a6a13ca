/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Late forget: before a second start() the program's calls went past us, whether end() was called
 * or cairn was killed during a detach. What lived then may be gone, and its addresses may be other
 * blocks': none of it is known any more. In libcairn-track alone.
 */
#include "heap/late_call.h"
#include "heap/late_rows.h"

static void forget_leaf(const struct cairn_heap_leaf *leaf)
{
    for (uint32_t i = 0; i < 1u << CAIRN_HEAP_LEAF_BITS; i++) {
        uint64_t entry = atomic_load(&leaf->entries[i]);
        uint64_t va = leaf->first + ((uint64_t)i << leaf->bits);
        if (entry)
            cairn_late_died((const void *)(uintptr_t)cairn_heap_entry_va(entry, va, leaf->bits));
    }
}

void cairn_late_forget(struct cairn_tracked_heap *heap)
{
    uint32_t n = atomic_load(&heap->state.n_chunks);
    for (uint32_t chunk = 1; chunk < n; chunk++) {
        const struct cairn_heap_row *row = cairn_heap_state_row(&heap->state, chunk);
        if (atomic_load(&row->kind) != CAIRN_HEAP_LEAF)
            continue;
        const struct cairn_heap_leaf leaf = {cairn_heap_state_at(&heap->state, chunk),
                                             atomic_load(&row->arg), row->granule_bits};
        forget_leaf(&leaf);
    }
}
