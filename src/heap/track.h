/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Track: births and deaths of blocks, as the interposed functions tell them. A birth is told behind
 * the real allocation, a death before the real free: so an address is never two blocks'.
 *
 * Budget of a pair: a dozen loads, the capture (unwind/local.h), four stores to lines that the
 * thread has. What is out of the ordinary goes through track_slow.c.
 */
#ifndef CAIRN_HEAP_TRACK_H
#define CAIRN_HEAP_TRACK_H

#include "heap/count.h"
#include "heap/epoch.h"
#include "heap/heap.h"
#include "unwind/local.h"
#include "unwind/unload.h"

#define CAIRN_HEAP_HOT CAIRN_THREAD_BLOCK_ACCESS __attribute__((always_inline)) static inline

/* A birth. */
struct cairn_heap_birth {
    const void *block;
    uint64_t bytes;
    unsigned kind; /* enum cairn_heap_kind */
    struct cairn_local_frame_at at;
};

struct cairn_heap_death {
    uint64_t entry; /* as it was; 0: there was none */
    uint64_t bytes;
};

/* Where the thread has nothing yet, or is within a call already (a signal handler). */
void cairn_heap_born_slowly(const struct cairn_heap_birth *birth);
struct cairn_heap_death cairn_heap_died_slowly(const void *block, unsigned kind);

/* The rarer halves of what is below. */
uint32_t cairn_heap_new_stack(struct cairn_heap *heap, struct cairn_heap_own *own,
                              const struct cairn_local_capture *capture, uint32_t n_shared);
void cairn_heap_born_oddly(struct cairn_heap *heap, struct cairn_heap_own *own,
                           const struct cairn_heap_birth *birth, uint32_t stack);
struct cairn_heap_death cairn_heap_died_oddly(struct cairn_heap *heap, const void *block,
                                              uint64_t entry, unsigned kind);

/* What was taken out for a realloc that failed: the block lives as if nothing had been. */
void cairn_heap_put_back(const void *block, const struct cairn_heap_death *death);

/* The number of the stack from `at` on; 0: none. */
CAIRN_HEAP_HOT uint32_t cairn_heap_stack_of(struct cairn_heap *heap, struct cairn_heap_own *own,
                                            const struct cairn_local_frame_at *at)
{
    struct cairn_local_capture capture;
    if (!cairn_heap_state_has(&heap->state, CAIRN_HEAP_STACKS_ON))
        return 0;
    if (__builtin_expect(!cairn_local_capture(at, &capture) || capture.n == 0, 0)) {
        cairn_heap_state_lose(&heap->state, CAIRN_HEAP_LOSS_NO_STACK, 0);
        return 0;
    }
    if (__builtin_expect(capture.n_shared == capture.n, 1) && own->numbers[capture.n - 1])
        return own->numbers[capture.n - 1];
    return cairn_heap_new_stack(heap, own, &capture, capture.n_shared);
}

CAIRN_HEAP_HOT void cairn_heap_note_birth(struct cairn_heap *heap, struct cairn_heap_own *own,
                                          const struct cairn_heap_birth *birth)
{
    uint64_t va = cairn_heap_va(birth->block);
    uint32_t stack = cairn_heap_stack_of(heap, own, &birth->at);
    _Atomic(uint64_t) *place = cairn_heap_shadow_find(&heap->shadow, va);
    if (__builtin_expect(--own->until_tick == 0, 0)) {
        own->until_tick = CAIRN_HEAP_TICK;
        cairn_heap_epoch_tick(heap);
    }
    own->last_va = va;
    if (__builtin_expect(!place || birth->bytes >= CAIRN_HEAP_SIZE_ASIDE ||
                             atomic_load_explicit(place, memory_order_relaxed) != 0,
                         0)) {
        cairn_heap_born_oddly(heap, own, birth, stack);
        return;
    }
    uint32_t bytes = (uint32_t)birth->bytes;
    uint32_t epoch = atomic_load_explicit(&heap->state.header->epoch, memory_order_relaxed);
    atomic_store_explicit(place, cairn_heap_entry(stack, bytes, birth->kind, epoch),
                          memory_order_relaxed);
    struct cairn_heap_delta *delta = cairn_heap_count_delta(heap, own, stack);
    cairn_heap_count_add(heap, delta, &delta->allocs, bytes);
    cairn_heap_count_live(heap, own, bytes);
}

CAIRN_HEAP_HOT struct cairn_heap_death cairn_heap_note_death(struct cairn_heap *heap,
                                                             struct cairn_heap_own *own,
                                                             const void *block, unsigned kind)
{
    uint64_t va = cairn_heap_va(block);
    _Atomic(uint64_t) *place = cairn_heap_shadow_find(&heap->shadow, va);
    uint64_t entry = place ? atomic_load_explicit(place, memory_order_relaxed) : 0;
    uint32_t bytes = cairn_heap_entry_size(entry);
    bool is_temporary = own->last_va == va;
    if (is_temporary)
        own->last_va = 0;
    if (__builtin_expect(bytes == CAIRN_HEAP_SIZE_ASIDE || cairn_heap_entry_kind(entry) != kind,
                         0)) {
        struct cairn_heap_death odd = cairn_heap_died_oddly(heap, block, entry, kind);
        if (bytes == CAIRN_HEAP_SIZE_ASIDE || entry == 0)
            return odd;
    }
    atomic_store_explicit(place, 0, memory_order_relaxed);
    struct cairn_heap_delta *delta =
        cairn_heap_count_delta(heap, own, cairn_heap_entry_stack(entry));
    if (is_temporary)
        atomic_store_explicit(&delta->n_temporary,
                              atomic_load_explicit(&delta->n_temporary, memory_order_relaxed) + 1,
                              memory_order_relaxed);
    cairn_heap_count_add(heap, delta, &delta->frees, bytes);
    cairn_heap_count_live(heap, own, -(int64_t)bytes);
    return (struct cairn_heap_death){entry, bytes};
}

CAIRN_HEAP_HOT void cairn_heap_born(const struct cairn_heap_birth *birth)
{
    struct cairn_heap_own *own = cairn_heap_own;
    if (__builtin_expect(!own || !own->idle, 0)) {
        cairn_heap_born_slowly(birth);
        return;
    }
    own->idle = 0;
    atomic_signal_fence(memory_order_seq_cst);
    cairn_heap_note_birth(own->heap, own, birth);
    atomic_signal_fence(memory_order_seq_cst);
    own->idle = 1;
}

CAIRN_HEAP_HOT struct cairn_heap_death cairn_heap_died(const void *block, unsigned kind)
{
    struct cairn_heap_own *own = cairn_heap_own;
    if (__builtin_expect(!own || !own->idle, 0))
        return cairn_heap_died_slowly(block, kind);
    own->idle = 0;
    atomic_signal_fence(memory_order_seq_cst);
    struct cairn_heap_death death = cairn_heap_note_death(own->heap, own, block, kind);
    atomic_signal_fence(memory_order_seq_cst);
    own->idle = 1;
    return death;
}

#endif /* CAIRN_HEAP_TRACK_H */
