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
    struct cairn_heap *heap = cairn_heap_present();
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

#endif /* CAIRN_TESTS_HEAP_TRACKED_H */
