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

struct cairn_heap_death {
    uint64_t entry; /* as it was; 0: there was none */
    uint64_t bytes;
};

/* Whatever there is to be done. In registers all of it, or who is inlined keeps it in memory. */
void cairn_heap_born_fully(const void *block, uint64_t bytes, unsigned kind, uintptr_t ret,
                           uintptr_t sp, uintptr_t fp);
struct cairn_heap_death cairn_heap_died_fully(const void *block, unsigned kind);
/* The same of a birth whose stack has a number already; `own` is not idle. */
void cairn_heap_born_oddly(struct cairn_heap_own *own, const void *block, uint64_t bytes,
                           unsigned kind, uint32_t stack);

/* What was taken out for a realloc that failed: the block lives as if nothing had been. */
void cairn_heap_put_back(const void *block, const struct cairn_heap_death *death);

/* The number of the stack from a caller on, which is not the one of the thread's last capture. */
uint32_t cairn_heap_other_stack(struct cairn_heap_own *own, struct cairn_local_again again);
uint32_t cairn_heap_stack_fully(struct cairn_heap_own *own, uintptr_t ret, uintptr_t sp,
                                uintptr_t fp);

/* The number of the stack from `at` on; 0: none. */
CAIRN_HEAP_HOT uint32_t cairn_heap_stack_of(struct cairn_heap_own *own,
                                            struct cairn_local_frame_at at)
{
    if (__builtin_expect(!(atomic_load_explicit(&own->header->flags, memory_order_relaxed) &
                           CAIRN_HEAP_STACKS_ON),
                         0))
        return 0;
    struct cairn_local_again again = cairn_local_again(at.ret, at.sp, at.fp);
    if (__builtin_expect(again.n == 0, 0))
        return cairn_heap_stack_fully(own, at.ret, at.sp, at.fp);
    uint32_t number = own->frames[again.n - 1].number;
    if (__builtin_expect(again.n_shared == again.n && number, 1))
        return number;
    return cairn_heap_other_stack(own, again);
}

/* The thread's delta of a stack as it is now; what is in it is another one's if its key is. */
CAIRN_HEAP_HOT struct cairn_heap_delta *cairn_heap_delta_of(const struct cairn_heap_own *own,
                                                            uint32_t stack, uint64_t *ret_key)
{
    uint64_t peak = atomic_load_explicit(&own->header->peak, memory_order_relaxed);
    *ret_key = peak << 32 | stack;
    return &own->shared->deltas[stack & own->mask];
}

CAIRN_HEAP_HOT bool cairn_heap_is_of(struct cairn_heap_delta *delta, uint64_t key)
{
    return atomic_load_explicit(&delta->key, memory_order_relaxed) == key;
}

CAIRN_HEAP_HOT uint64_t cairn_heap_load(_Atomic(uint64_t) *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

/* `place` is where the block's entry goes; NULL: there is no leaf for it. */
CAIRN_HEAP_HOT void cairn_heap_note_birth(struct cairn_heap_own *own, _Atomic(uint64_t) *place,
                                          const void *block, uint64_t bytes, unsigned kind,
                                          uint32_t stack)
{
    uint64_t va = cairn_heap_va(block), key;
    struct cairn_heap_delta *delta = cairn_heap_delta_of(own, stack, &key);
    uint64_t allocs = cairn_heap_load(&delta->allocs) + cairn_heap_count_one(bytes);
    int64_t live =
        atomic_load_explicit(&own->shared->live_bytes, memory_order_relaxed) + (int64_t)bytes;
    if (__builtin_expect(!place || bytes >= CAIRN_HEAP_SIZE_ASIDE || --own->until_tick == 0 ||
                             cairn_heap_load(place) != 0 || !cairn_heap_is_of(delta, key) ||
                             allocs & CAIRN_HEAP_DELTA_FULL || live > own->live_step,
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

/* The entry's line is asked for before the stack is looked at: which takes about as long. */
CAIRN_HEAP_HOT void cairn_heap_note(struct cairn_heap_own *own, const void *block, uint64_t bytes,
                                    unsigned kind, struct cairn_local_frame_at caller)
{
    _Atomic(uint64_t) *place = cairn_heap_shadow_find(&own->heap->shadow, cairn_heap_va(block));
    __builtin_prefetch(place, 1);
    uint32_t stack = cairn_heap_stack_of(own, caller);
    cairn_heap_note_birth(own, place, block, bytes, kind, stack);
}

CAIRN_HEAP_HOT void cairn_heap_born(const void *block, uint64_t bytes, unsigned kind,
                                    struct cairn_local_frame_at caller)
{
    struct cairn_heap_own *own = cairn_heap_own;
    if (__builtin_expect(!own || own->idle != CAIRN_HEAP_IDLE, 0)) {
        cairn_heap_born_fully(block, bytes, kind, caller.ret, caller.sp, caller.fp);
        return;
    }
    own->idle = caller.sp;
    atomic_signal_fence(memory_order_seq_cst);
    cairn_heap_note(own, block, bytes, kind, caller);
    atomic_signal_fence(memory_order_seq_cst);
    own->idle = CAIRN_HEAP_IDLE;
}

/* Of that kind, and its size within: it, else more than there is. */
CAIRN_HEAP_HOT uint64_t cairn_heap_plain_size(uint64_t entry, unsigned kind)
{
    uint64_t word =
        entry >> CAIRN_HEAP_STACK_BITS & ((1u << (CAIRN_HEAP_SIZE_BITS + CAIRN_HEAP_HALF_BIT)) - 1);
    return word - ((uint64_t)kind << CAIRN_HEAP_SIZE_BITS);
}

/* What is known of it is taken out, if there is nothing odd to it. */
CAIRN_HEAP_HOT bool cairn_heap_note_death(struct cairn_heap_own *own, uint64_t va,
                                          _Atomic(uint64_t) *place, unsigned kind)
{
    uint64_t entry = cairn_heap_load(place), key;
    uint64_t bytes = cairn_heap_plain_size(entry, kind);
    struct cairn_heap_delta *delta = cairn_heap_delta_of(own, cairn_heap_entry_stack(entry), &key);
    uint64_t frees = cairn_heap_load(&delta->frees) + cairn_heap_count_one(bytes);
    int64_t live =
        atomic_load_explicit(&own->shared->live_bytes, memory_order_relaxed) - (int64_t)bytes;
    if (__builtin_expect(bytes >= CAIRN_HEAP_SIZE_ASIDE || !cairn_heap_is_of(delta, key) ||
                             frees & CAIRN_HEAP_DELTA_FULL || live < -own->live_step,
                         0))
        return false;
    atomic_store_explicit(place, 0, memory_order_relaxed);
    atomic_store_explicit(&delta->frees, frees, memory_order_relaxed);
    atomic_store_explicit(&own->shared->live_bytes, live, memory_order_relaxed);
    if (own->last_va == va) {
        own->last_va = 0;
        uint32_t n = atomic_load_explicit(&delta->n_temporary, memory_order_relaxed);
        atomic_store_explicit(&delta->n_temporary, n + 1, memory_order_relaxed);
    }
    return true;
}

/* False: nothing was done, and cairn_heap_died_fully() is to be called. */
CAIRN_HEAP_HOT bool cairn_heap_died_plainly(const void *block, unsigned kind)
{
    struct cairn_heap_own *own = cairn_heap_own;
    if (__builtin_expect(!own || own->idle != CAIRN_HEAP_IDLE, 0))
        return false;
    uint64_t va = cairn_heap_va(block);
    _Atomic(uint64_t) *place = cairn_heap_shadow_find(&own->heap->shadow, va);
    if (__builtin_expect(!place, 0))
        return false;
    own->idle = cairn_heap_sp();
    atomic_signal_fence(memory_order_seq_cst);
    bool plain = cairn_heap_note_death(own, va, place, kind);
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
