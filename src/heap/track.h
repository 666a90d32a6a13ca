/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Track: births and deaths of blocks, as the interposed functions tell them. A birth is told behind
 * the real allocation, a death before the real free: so an address is never two blocks'.
 *
 * Budget of a pair: a dozen loads, the capture (unwind/local.h), six stores to lines that the
 * thread has. First all is looked at, and what is out of the ordinary in any way left to the
 * functions that can do everything; then all is written.
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

/* Whatever there is to be done. */
void cairn_heap_born_fully(const struct cairn_heap_birth *birth);
struct cairn_heap_death cairn_heap_died_fully(const void *block, unsigned kind);
/* The same of a birth whose stack has a number already; `own` is not idle. */
void cairn_heap_born_oddly(struct cairn_heap_own *own, const void *block, uint64_t bytes,
                           unsigned kind, uint32_t stack);

/* What was taken out for a realloc that failed: the block lives as if nothing had been. */
void cairn_heap_put_back(const void *block, const struct cairn_heap_death *death);

/* The number of a stack that is not the one of the thread's last capture. */
uint32_t cairn_heap_new_stack(struct cairn_heap *heap, struct cairn_heap_own *own,
                              const struct cairn_local_capture *capture);
uint32_t cairn_heap_no_stack(struct cairn_heap *heap);

/* The number of the stack from `at` on; 0: none. */
CAIRN_HEAP_HOT uint32_t cairn_heap_stack_of(struct cairn_heap_own *own,
                                            const struct cairn_local_frame_at *at)
{
    struct cairn_local_capture capture;
    if (__builtin_expect(!(atomic_load_explicit(&own->header->flags, memory_order_relaxed) &
                           CAIRN_HEAP_STACKS_ON),
                         0))
        return 0;
    if (__builtin_expect(!cairn_local_capture(at, &capture) || capture.n == 0, 0))
        return cairn_heap_no_stack(own->heap);
    if (__builtin_expect(capture.n_shared == capture.n, 1) && own->numbers[capture.n - 1])
        return own->numbers[capture.n - 1];
    return cairn_heap_new_stack(own->heap, own, &capture);
}

/* The thread's delta of a stack as it is now; what is in it is another one's if its key is. */
CAIRN_HEAP_HOT struct cairn_heap_delta *cairn_heap_delta_of(const struct cairn_heap_own *own,
                                                            uint32_t stack, uint64_t *ret_key)
{
    uint64_t peak = atomic_load_explicit(&own->header->peak, memory_order_relaxed);
    *ret_key = peak << 32 | stack;
    return &own->deltas[stack & own->mask];
}

/* Neither of the two needs to be handed in? */
CAIRN_HEAP_HOT bool cairn_heap_has_room(const struct cairn_heap_own *own, uint64_t sum,
                                        int64_t live)
{
    return !(sum & CAIRN_HEAP_DELTA_FULL) &&
           (uint64_t)(live + own->live_step) <= (uint64_t)own->live_step * 2;
}

CAIRN_HEAP_HOT void cairn_heap_note_birth(struct cairn_heap_own *own, const void *block,
                                          uint64_t bytes, unsigned kind, uint32_t stack)
{
    uint64_t va = cairn_heap_va(block), key;
    _Atomic(uint64_t) *place = cairn_heap_shadow_find(&own->heap->shadow, va);
    struct cairn_heap_delta *delta = cairn_heap_delta_of(own, stack, &key);
    uint64_t allocs =
        atomic_load_explicit(&delta->allocs, memory_order_relaxed) + cairn_heap_count_one(bytes);
    int64_t live =
        atomic_load_explicit(&own->shared->live_bytes, memory_order_relaxed) + (int64_t)bytes;
    if (__builtin_expect(!place || bytes >= CAIRN_HEAP_SIZE_ASIDE || --own->until_tick == 0 ||
                             atomic_load_explicit(place, memory_order_relaxed) != 0 ||
                             atomic_load_explicit(&delta->key, memory_order_relaxed) != key ||
                             !cairn_heap_has_room(own, allocs, live),
                         0)) {
        cairn_heap_born_oddly(own, block, bytes, kind, stack);
        return;
    }
    uint32_t epoch = atomic_load_explicit(&own->header->epoch, memory_order_relaxed);
    own->last_va = va;
    atomic_store_explicit(place, cairn_heap_entry(va, stack, (uint32_t)bytes, kind, epoch),
                          memory_order_relaxed);
    atomic_store_explicit(&delta->allocs, allocs, memory_order_relaxed);
    atomic_store_explicit(&own->shared->live_bytes, live, memory_order_relaxed);
}

CAIRN_HEAP_HOT void cairn_heap_born(const void *block, uint64_t bytes, unsigned kind,
                                    const struct cairn_local_frame_at *at)
{
    struct cairn_heap_own *own = cairn_heap_own;
    if (__builtin_expect(!own || own->idle != CAIRN_HEAP_IDLE, 0)) {
        cairn_heap_born_fully(&(struct cairn_heap_birth){block, bytes, kind, *at});
        return;
    }
    own->idle = at->sp;
    atomic_signal_fence(memory_order_seq_cst);
    uint32_t stack = cairn_heap_stack_of(own, at);
    cairn_heap_note_birth(own, block, bytes, kind, stack);
    atomic_signal_fence(memory_order_seq_cst);
    own->idle = CAIRN_HEAP_IDLE;
}

/* False: nothing was done, and cairn_heap_died_fully() is to be called. */
CAIRN_HEAP_HOT bool cairn_heap_died_plainly(const void *block, unsigned kind)
{
    struct cairn_heap_own *own = cairn_heap_own;
    if (__builtin_expect(!own || own->idle != CAIRN_HEAP_IDLE, 0))
        return false;
    uint64_t va = cairn_heap_va(block), key;
    _Atomic(uint64_t) *place = cairn_heap_shadow_find(&own->heap->shadow, va);
    if (__builtin_expect(!place, 0))
        return false;
    own->idle = cairn_heap_sp();
    atomic_signal_fence(memory_order_seq_cst);
    uint64_t entry = atomic_load_explicit(place, memory_order_relaxed);
    uint32_t bytes = cairn_heap_entry_size(entry);
    struct cairn_heap_delta *delta = cairn_heap_delta_of(own, cairn_heap_entry_stack(entry), &key);
    uint64_t frees =
        atomic_load_explicit(&delta->frees, memory_order_relaxed) + cairn_heap_count_one(bytes);
    int64_t live = atomic_load_explicit(&own->shared->live_bytes, memory_order_relaxed) - bytes;
    bool plain = cairn_heap_entry_kind(entry) == kind && bytes != CAIRN_HEAP_SIZE_ASIDE &&
                 atomic_load_explicit(&delta->key, memory_order_relaxed) == key &&
                 cairn_heap_has_room(own, frees, live);
    if (__builtin_expect(plain, 1)) {
        atomic_store_explicit(place, 0, memory_order_relaxed);
        atomic_store_explicit(&delta->frees, frees, memory_order_relaxed);
        atomic_store_explicit(&own->shared->live_bytes, live, memory_order_relaxed);
        if (own->last_va == va) {
            own->last_va = 0;
            atomic_store_explicit(&delta->n_temporary,
                                  atomic_load_explicit(&delta->n_temporary, memory_order_relaxed) +
                                      1,
                                  memory_order_relaxed);
        }
    }
    atomic_signal_fence(memory_order_seq_cst);
    own->idle = CAIRN_HEAP_IDLE;
    return plain;
}

CAIRN_HEAP_HOT void cairn_heap_died(const void *block, unsigned kind)
{
    if (__builtin_expect(!cairn_heap_died_plainly(block, kind), 0))
        cairn_heap_died_fully(block, kind);
}

#endif /* CAIRN_HEAP_TRACK_H */
