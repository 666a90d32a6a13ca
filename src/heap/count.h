/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Count: what happened to the blocks of a stack. Threads count for themselves, in their deltas, and
 * hand in what they have of a stack when another one needs the place, or when since then there has
 * been a new high-water mark: so the composition at the mark is known without looking at every
 * stack when there is one (copy-on-write, rt/heap_state.h). Live bytes are handed in by steps:
 * cairn_heap_peak_error() bounds by how much the peak is wrong.
 */
#ifndef CAIRN_HEAP_COUNT_H
#define CAIRN_HEAP_COUNT_H

#include "heap/heap.h"

enum {
    CAIRN_HEAP_MARK_BITS = 7, /* the next high-water mark is so much of the last one higher */
    CAIRN_HEAP_FIRST_DELTAS = 1024,
    CAIRN_HEAP_MOST_DELTAS = 1 << 16,
    /* No thread's step is more: then a block that fits into two of them fits into its entry. */
    CAIRN_HEAP_MOST_STEP = (CAIRN_HEAP_SIZE_ASIDE - 1) / 2
};
/* Deltas for a thread that has none. False: no room; then it counts without. */
bool cairn_heap_count_begin(struct cairn_tracked_heap *heap, struct cairn_heap_own *own);

/* Hands in what is at the place of `key` (peak << 32 | stack), and makes it that of `key`. */
struct cairn_heap_delta *cairn_heap_count_switch(struct cairn_tracked_heap *heap,
                                                 struct cairn_heap_own *own, uint64_t key);
void cairn_heap_count_hand_in(struct cairn_tracked_heap *heap, struct cairn_heap_delta *delta);
/* The thread's live bytes into the header's, and perhaps a new high-water mark. */
void cairn_heap_count_hand_in_live(struct cairn_tracked_heap *heap, struct cairn_heap_own *own);

/* A birth or a death that no delta has room for: of a large block, or of one that stands for
 * others. */
void cairn_heap_count_large(struct cairn_tracked_heap *heap, uint32_t stack,
                            struct cairn_heap_share share, bool is_free);

/* Without deltas or a lock: in a signal handler, and of a thread for which there is no room. The
 * composition at the high-water mark may be wrong by as much. */
void cairn_heap_count_directly(struct cairn_tracked_heap *heap, uint32_t stack,
                               struct cairn_heap_share share, bool is_free);
/* A block that was counted as freed was not. */
void cairn_heap_count_undo_free(struct cairn_tracked_heap *heap, uint32_t stack,
                                struct cairn_heap_share share);
/* Blocks that were counted as born were not. */
void cairn_heap_count_undo_birth(struct cairn_tracked_heap *heap, uint32_t stack,
                                 struct cairn_heap_share share);
/* So many of those that were counted as freed were temporary. */
void cairn_heap_count_temporary(struct cairn_tracked_heap *heap, uint32_t stack, uint64_t blocks);

/* To be handed in. */
static inline bool cairn_heap_count_is_full(uint64_t counted)
{
    return (int64_t)counted < 0;
}

/* What the thread has of the header, as it is now. */
void cairn_heap_count_look(struct cairn_tracked_heap *heap, struct cairn_heap_own *own);

/* The thread's place for `stack`. */
CAIRN_THREAD_BLOCK_ACCESS __attribute__((always_inline)) static inline struct cairn_heap_delta *
cairn_heap_count_delta(struct cairn_tracked_heap *heap, struct cairn_heap_own *own, uint32_t stack)
{
    uint64_t peak = atomic_load_explicit(&heap->state.header->peak, memory_order_relaxed);
    uint64_t key = peak << 32 | stack;
    struct cairn_heap_delta *delta = &own->shared->deltas[stack & own->mask];
    if (__builtin_expect(atomic_load_explicit(&delta->key, memory_order_relaxed) != key, 0))
        delta = cairn_heap_count_switch(heap, own, key);
    return delta;
}

CAIRN_THREAD_BLOCK_ACCESS __attribute__((always_inline)) static inline void
cairn_heap_count_add(struct cairn_tracked_heap *heap, struct cairn_heap_delta *delta,
                     _Atomic(uint64_t) *counts, uint32_t bytes)
{
    uint64_t sum =
        atomic_load_explicit(counts, memory_order_relaxed) + cairn_heap_counted(1, bytes);
    atomic_store_explicit(counts, sum, memory_order_relaxed);
    if (__builtin_expect(cairn_heap_count_is_full(sum), 0))
        cairn_heap_count_hand_in(heap, delta);
}

CAIRN_THREAD_BLOCK_ACCESS __attribute__((always_inline)) static inline void
cairn_heap_count_live(struct cairn_tracked_heap *heap, struct cairn_heap_own *own, int64_t bytes)
{
    int64_t live = atomic_load_explicit(&own->shared->live_bytes, memory_order_relaxed) + bytes;
    atomic_store_explicit(&own->shared->live_bytes, live, memory_order_relaxed);
    if (__builtin_expect(live > own->live_step || live < own->live_least, 0))
        cairn_heap_count_hand_in_live(heap, own);
}

#endif /* CAIRN_HEAP_COUNT_H */
