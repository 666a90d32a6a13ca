/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/* Blocks that die, as heap/track.h says: what is left of them, and what is taken back. */
#include <errno.h>

#include "heap/handed.h"
#include "heap/track.h"
#include "heap/within.h"

static struct cairn_heap_death death_of_unknown(struct cairn_tracked_heap *heap, const void *block)
{
    if (heap->settings.sample_bytes == 0 && !cairn_heap_handed_take(block))
        cairn_heap_state_lose(
            &heap->state,
            heap->settings.parent ? CAIRN_HEAP_LOSS_INHERITED : CAIRN_HEAP_LOSS_UNKNOWN, 0);
    return (struct cairn_heap_death){0};
}

CAIRN_THREAD_BLOCK_ACCESS static void count_death(struct cairn_tracked_heap *heap,
                                                  struct cairn_heap_own *own, uint32_t stack,
                                                  uint64_t bytes, bool is_temporary)
{
    uint64_t mean = heap->settings.sample_bytes;
    if (bytes >= CAIRN_HEAP_SIZE_ASIDE || mean) {
        struct cairn_heap_share share = cairn_heap_sample_share(&own->sampler, mean, bytes);
        cairn_heap_count_large(heap, stack, share, true);
        if (is_temporary)
            cairn_heap_count_temporary(heap, stack, share.blocks);
        return;
    }
    struct cairn_heap_delta *delta = cairn_heap_count_delta(heap, own, stack);
    if (is_temporary)
        atomic_store_explicit(&delta->n_temporary,
                              atomic_load_explicit(&delta->n_temporary, memory_order_relaxed) + 1,
                              memory_order_relaxed);
    cairn_heap_count_add(heap, delta, &delta->frees, (uint32_t)bytes);
    cairn_heap_count_live(heap, own, -(int64_t)bytes);
}

CAIRN_THREAD_BLOCK_ACCESS static struct cairn_heap_death note_death(struct cairn_tracked_heap *heap,
                                                                    struct cairn_heap_own *own,
                                                                    const void *block,
                                                                    unsigned kind)
{
    uint64_t va = cairn_heap_va(block);
    _Atomic(uint64_t) *place = cairn_heap_shadow_reach(&heap->shadow, va);
    uint64_t entry = place ? atomic_load_explicit(place, memory_order_relaxed) : 0;
    uint64_t bytes = cairn_heap_entry_size(entry);
    bool is_temporary = own->last_va == ~va;
    if (is_temporary)
        own->last_va = 0;
    if (entry == 0)
        return death_of_unknown(heap, block);
    atomic_store_explicit(place, 0, memory_order_relaxed);
    if (bytes == CAIRN_HEAP_SIZE_ASIDE)
        bytes = cairn_heap_large_take(&heap->large, va);
    if (cairn_heap_entry_kind(entry) != kind)
        cairn_heap_state_lose(&heap->state, CAIRN_HEAP_LOSS_MISMATCHED, bytes);
    count_death(heap, own, cairn_heap_entry_stack(entry), bytes, is_temporary);
    return (struct cairn_heap_death){entry, bytes};
}

/* The free is handed in first, so that there is one to be taken back. */
CAIRN_THREAD_BLOCK_ACCESS static void put_back(struct cairn_tracked_heap *heap,
                                               struct cairn_heap_own *own, const void *block,
                                               const struct cairn_heap_death *death)
{
    uint64_t va = cairn_heap_va(block);
    uint32_t stack = cairn_heap_entry_stack(death->entry);
    /* Its leaf may be gone, if the block was the only one. */
    _Atomic(uint64_t) *place = cairn_heap_shadow_make(&heap->shadow, &heap->state, va);
    if (!place) {
        cairn_heap_state_lose(&heap->state, CAIRN_HEAP_LOSS_FULL, death->bytes);
        return;
    }
    if (cairn_heap_entry_size(death->entry) == CAIRN_HEAP_SIZE_ASIDE)
        cairn_heap_large_put(&heap->large, &heap->state, va, death->bytes);
    else
        cairn_heap_count_hand_in(heap, cairn_heap_count_delta(heap, own, stack));
    cairn_heap_count_undo_free(
        heap, stack, cairn_heap_live_share(va, death->bytes, heap->settings.sample_bytes));
    atomic_store_explicit(place, death->entry, memory_order_relaxed);
}

CAIRN_THREAD_BLOCK_ACCESS void cairn_heap_put_back(const void *block,
                                                   const struct cairn_heap_death *death)
{
    struct cairn_heap_own *own = cairn_heap_mine;
    if (!own || !cairn_heap_is_idle(own) || !death->entry)
        return;
    own->idle = cairn_heap_sp();
    atomic_signal_fence(memory_order_seq_cst);
    put_back(own->heap, own, block, death);
    cairn_heap_call_end(own);
}

/* Most of the blocks that die, where only some are recorded. */
CAIRN_HEAP_HOT bool is_recorded(struct cairn_heap_own *own, const void *block)
{
    cairn_heap_enter(own);
    const _Atomic(uint64_t) *place =
        cairn_heap_shadow_reach(&own->heap->shadow, cairn_heap_va(block));
    bool is = place && cairn_heap_load(place) != 0;
    cairn_heap_call_end(own);
    return is;
}

/* A block of whatever kind. */
CAIRN_THREAD_BLOCK_ACCESS static struct cairn_heap_death
note_if_known(struct cairn_tracked_heap *heap, struct cairn_heap_own *own, const void *block)
{
    const _Atomic(uint64_t) *place = cairn_heap_shadow_reach(&heap->shadow, cairn_heap_va(block));
    uint64_t entry = place ? atomic_load_explicit(place, memory_order_relaxed) : 0;
    return entry ? note_death(heap, own, block, cairn_heap_entry_kind(entry))
                 : (struct cairn_heap_death){0};
}

/* `call_sp`: of the function that it is a part of. `kind`: NULL for whatever kind. */
CAIRN_HEAP_HOT struct cairn_heap_death died(const void *block, uintptr_t call_sp,
                                            const unsigned *kind)
{
    if (cairn_heap_hot->idle == CAIRN_HEAP_IDLE_SAMPLES && !is_recorded(cairn_heap_hot, block))
        return (struct cairn_heap_death){0};
    int saved = errno;
    struct cairn_heap_death death = {0};
    struct cairn_tracked_heap *heap;
    struct cairn_heap_own *own = cairn_heap_call_begin(&heap, call_sp);
    if (own) {
        death = kind ? note_death(heap, own, block, *kind) : note_if_known(heap, own, block);
        cairn_heap_call_end(own);
    } else if (heap) {
        death = cairn_heap_died_within(heap, block);
    }
    errno = saved;
    return death;
}

CAIRN_THREAD_BLOCK_ACCESS struct cairn_heap_death cairn_heap_died_fully(const void *block,
                                                                        unsigned kind)
{
    return died(block, (uintptr_t)__builtin_dwarf_cfa(), &kind);
}

CAIRN_THREAD_BLOCK_ACCESS struct cairn_heap_death cairn_heap_died_if_known(const void *block)
{
    return died(block, (uintptr_t)__builtin_dwarf_cfa(), NULL);
}

CAIRN_THREAD_BLOCK_ACCESS void cairn_heap_forget(const void *block)
{
    int saved = errno;
    struct cairn_tracked_heap *heap;
    struct cairn_heap_own *own = cairn_heap_call_begin(&heap, (uintptr_t)__builtin_dwarf_cfa());
    if (own) {
        note_if_known(heap, own, block);
        cairn_heap_call_end(own);
    }
    errno = saved;
}
