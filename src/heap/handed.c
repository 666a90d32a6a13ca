/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "heap/handed.h"

#include <stdatomic.h>
#include <stdint.h>

static _Atomic(uintptr_t) blocks[CAIRN_HEAP_HANDED];
static _Atomic(uint32_t) n_blocks;

void cairn_heap_handed_put(const void *block)
{
    for (unsigned i = 0; i < CAIRN_HEAP_HANDED; i++) {
        uintptr_t free_place = 0;
        if (atomic_compare_exchange_strong(&blocks[i], &free_place, (uintptr_t)block)) {
            atomic_fetch_add(&n_blocks, 1);
            return;
        }
    }
}

bool cairn_heap_handed_take(const void *block)
{
    if (atomic_load_explicit(&n_blocks, memory_order_relaxed) == 0)
        return false;
    for (unsigned i = 0; i < CAIRN_HEAP_HANDED; i++) {
        uintptr_t va = (uintptr_t)block;
        if (va && atomic_compare_exchange_strong(&blocks[i], &va, 0)) {
            atomic_fetch_sub(&n_blocks, 1);
            return true;
        }
    }
    return false;
}
