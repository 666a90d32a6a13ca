/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "heap/within.h"

/* Whose own does not say that a call is under way says so here: heap/empty.h. */
CAIRN_THREAD_BLOCK_ACCESS static bool read_begin(struct cairn_tracked_heap *heap)
{
    const struct cairn_heap_own *own = cairn_heap_mine;
    bool reads = !own || own->idle == 0 || cairn_heap_is_idle(own);
    if (reads)
        cairn_heap_state_read_begin(&heap->state);
    return reads;
}

static void read_end(struct cairn_tracked_heap *heap, bool reads)
{
    if (reads)
        cairn_heap_state_read_end(&heap->state);
}

static void born(struct cairn_tracked_heap *heap, uint64_t va, uint64_t bytes, unsigned kind)
{
    _Atomic(uint64_t) *place = cairn_heap_shadow_reach(&heap->shadow, va);
    if (!place || bytes >= CAIRN_HEAP_SIZE_ASIDE) {
        cairn_heap_state_lose(&heap->state, CAIRN_HEAP_LOSS_FULL, bytes);
        return;
    }
    uint32_t epoch = atomic_load_explicit(&heap->state.header->epoch, memory_order_relaxed);
    atomic_store_explicit(place, cairn_heap_entry(va, 0, (uint32_t)bytes, kind, epoch),
                          memory_order_relaxed);
    cairn_heap_count_directly(heap, 0,
                              cairn_heap_live_share(va, bytes, heap->settings.sample_bytes), false);
    cairn_heap_state_lose(&heap->state, CAIRN_HEAP_LOSS_NO_STACK, bytes);
}

static struct cairn_heap_death died(struct cairn_tracked_heap *heap, uint64_t va)
{
    _Atomic(uint64_t) *place = cairn_heap_shadow_reach(&heap->shadow, va);
    uint64_t entry = place ? atomic_exchange_explicit(place, 0, memory_order_relaxed) : 0;
    uint64_t bytes = cairn_heap_entry_size(entry);
    /* The size of a large one is left where it is: its place may be locked. */
    if (bytes == CAIRN_HEAP_SIZE_ASIDE)
        bytes = 0;
    if (entry)
        cairn_heap_count_directly(heap, cairn_heap_entry_stack(entry),
                                  cairn_heap_live_share(va, bytes, heap->settings.sample_bytes),
                                  true);
    return (struct cairn_heap_death){entry, bytes};
}

void cairn_heap_born_within(struct cairn_tracked_heap *heap, const void *block, uint64_t bytes,
                            unsigned kind)
{
    bool reads = read_begin(heap);
    born(heap, cairn_heap_va(block), bytes, kind);
    read_end(heap, reads);
}

struct cairn_heap_death cairn_heap_died_within(struct cairn_tracked_heap *heap, const void *block)
{
    bool reads = read_begin(heap);
    struct cairn_heap_death death = died(heap, cairn_heap_va(block));
    read_end(heap, reads);
    return death;
}
