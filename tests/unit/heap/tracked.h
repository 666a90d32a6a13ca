/* SPDX-License-Identifier: MIT */
/* Blocks that are told to a tracker in this test program, whose real malloc knows nothing of it. */
#ifndef CAIRN_TESTS_HEAP_TRACKED_H
#define CAIRN_TESTS_HEAP_TRACKED_H

#include "heap/caller.h"
#include "heap/start.h"
#include "heap/track.h"
#include "support/apart.h"
#include "unit/heap/temporary.h"

__attribute__((unused)) static int start(void **state)
{
    (void)state;
    return cairn_heap_start(&temporary_settings) ? 0 : -1;
}

__attribute__((unused)) static int stop(void **state)
{
    (void)state;
    struct cairn_tracked_heap *heap = cairn_heap_present();
    cairn_heap_state_remove(&heap->state);
    return 0;
}

APART __attribute__((unused)) static void born(void *block, size_t bytes)
{
    cairn_heap_born(block, bytes, CAIRN_HEAP_KIND_MALLOC);
}

__attribute__((unused)) static void died(void *block)
{
    cairn_heap_died(block, CAIRN_HEAP_KIND_MALLOC);
}

/* With something behind the call, for a tail call has no frame. */
APART __attribute__((unused)) static void one_way(void *block)
{
    born(block, 8);
    __asm__ volatile("" ::: "memory");
}

APART __attribute__((unused)) static void other_way(void *block)
{
    born(block, 8);
    __asm__ volatile("nop" ::: "memory");
}

__attribute__((unused)) static uint32_t number_at(const void *block)
{
    return cairn_heap_entry_stack(
        *cairn_heap_shadow_find(&cairn_heap_present()->shadow, cairn_heap_va(block)));
}

/* No stack was taken: its one frame is the caller. */
static inline bool is_of_caller(const struct cairn_tracked_heap *heap, uint32_t stack)
{
    uint64_t at = cairn_heap_stacks_at(&heap->stacks, stack)->log;
    const char *chunk = cairn_heap_state_at(&heap->state, (uint32_t)(at >> CAIRN_HEAP_CHUNK_BITS));
    const struct cairn_heap_log *log = (const void *)(chunk + (at & (CAIRN_HEAP_CHUNK - 1)));
    return log->n == 1 && (log->flags & CAIRN_HEAP_LOG_CALLER);
}

#endif /* CAIRN_TESTS_HEAP_TRACKED_H */
