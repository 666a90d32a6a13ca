/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Late call: what every replacement (heap/late.h) does around its original. In libcairn-track.
 *
 * An original may call another replaced function: realloc its malloc, operator new its malloc,
 * strdup too. Only the outermost call makes a block; deaths count at any depth. So the outermost
 * call leaves its stack pointer in the thread's entry, and a call whose frame is below that is an
 * inner one. Where longjmp(3) left a call, the frames of the next ones soon lie above, and count.
 */
#ifndef CAIRN_HEAP_LATE_CALL_H
#define CAIRN_HEAP_LATE_CALL_H

#include "heap/track.h"
#include "rt/mine.h"

/* Births are recorded. */
extern atomic_bool cairn_late_records __attribute__((visibility("hidden")));
/* Only of slots of chosen modules; the functions themselves note deaths. */
extern atomic_bool cairn_late_is_chosen __attribute__((visibility("hidden")));

CAIRN_HEAP_HOT bool cairn_late_is_inner(const struct cairn_mine *mine, uintptr_t sp)
{
    return __builtin_expect(sp < mine->guard, 0);
}

/* Is a block that is born now recorded? */
CAIRN_HEAP_HOT bool cairn_late_wants_birth(void)
{
    return __builtin_expect(atomic_load_explicit(&cairn_late_records, memory_order_relaxed), 1) &&
           !cairn_late_is_inner(cairn_mine(), cairn_heap_sp());
}

/* The outermost call begins; NULL: this is an inner one, or births are not recorded. */
CAIRN_HEAP_HOT struct cairn_mine *cairn_late_enter(void)
{
    struct cairn_mine *mine = cairn_mine();
    uintptr_t sp = cairn_heap_sp();
    if (!atomic_load_explicit(&cairn_late_records, memory_order_relaxed) ||
        cairn_late_is_inner(mine, sp))
        return NULL;
    mine->guard = sp;
    atomic_signal_fence(memory_order_seq_cst);
    return mine;
}

/* Accepts NULL. */
CAIRN_HEAP_HOT void cairn_late_leave(struct cairn_mine *mine)
{
    atomic_signal_fence(memory_order_seq_cst);
    if (mine)
        mine->guard = 0;
}

struct cairn_heap_death cairn_late_died_slowly(const void *block)
    __attribute__((visibility("hidden")));

/* A block of any kind: where only some calls are seen, the function that ends up freeing a block is
 * often not the one that was called. An unknown block came from a call that was not recorded. */
CAIRN_HEAP_HOT struct cairn_heap_death cairn_late_died(const void *block)
{
    struct cairn_heap_own *own = cairn_heap_hot;
    uintptr_t turn = cairn_heap_turn_now();
    if (__builtin_expect(own->idle != turn, 0))
        return cairn_late_died_slowly(block);
    uint64_t va = cairn_heap_va(block);
    struct cairn_heap_death death = {0};
    cairn_heap_enter(own);
    _Atomic(uint64_t) *place = cairn_heap_shadow_find(&own->heap->shadow, va);
    uint64_t entry = place ? cairn_heap_load(place) : 0;
    bool done =
        place &&
        (entry == 0 || cairn_heap_note_death(own, va, place, cairn_heap_entry_kind(entry), &death));
    cairn_heap_leave_call(own, turn);
    return __builtin_expect(done, 1) ? death : cairn_late_died_slowly(block);
}

#endif /* CAIRN_HEAP_LATE_CALL_H */
