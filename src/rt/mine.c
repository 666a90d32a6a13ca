/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "rt/mine.h"

enum { MOST_STEPS = 256 /* places that are looked at before the table counts as full */ };

_Alignas(64) struct cairn_mine cairn_mine_table[1 << CAIRN_MINE_BITS];
struct cairn_mine cairn_mine_none = {.guard = UINTPTR_MAX};

/* An entry is zero but for its pointer, so one exchange makes it. A signal handler in between has
 * the same pointer and finds or makes the same one. */
struct cairn_mine *cairn_mine_find(uintptr_t thread)
{
    uint32_t at = cairn_mine_place(thread);
    for (unsigned i = 0; i < MOST_STEPS; i++) {
        struct cairn_mine *mine = &cairn_mine_table[(at + i) % (1u << CAIRN_MINE_BITS)];
        uintptr_t found = atomic_load_explicit(&mine->thread, memory_order_relaxed);
        if (found == thread)
            return mine;
        if (found == 0 && atomic_compare_exchange_strong(&mine->thread, &found, thread))
            return mine;
        if (found == thread)
            return mine;
    }
    return &cairn_mine_none;
}
