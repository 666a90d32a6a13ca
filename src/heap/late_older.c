/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/* In libcairn-track alone; run by a thread of cairn's own (heap/late.h). */
#include "heap/late_older.h"

#include <memory_tracker.h>

#include <cairn/unwind.h>

#include "heap/late_call.h"
#include "heap/late_rows.h"
#include "rt/pages.h"

enum { A_CALL = 256 /* blocks: other threads may wait for the end of a call (heap/empty.h) */ };

/* Its hash is that of no stack with frames. */
static uint32_t number_of_older(struct cairn_tracked_heap *heap)
{
    const struct cairn_heap_new_stack new = {.end = CAIRN_END_OUTERMOST,
                                             .flags = CAIRN_HEAP_LOG_BEFORE};
    uint64_t hash = cairn_heap_hash_step(cairn_heap_hash_step(0, UINTPTR_MAX), UINTPTR_MAX);
    bool is_new;
    return cairn_heap_stacks_add(&heap->stacks, &heap->state, &heap->modules, hash, &new, &is_new);
}

/* 0: it was not added. */
static uint64_t add(struct cairn_tracked_heap *heap, uint32_t stack,
                    const struct cairn_late_older_block *block)
{
    uint32_t size = block->bytes < CAIRN_HEAP_SIZE_ASIDE ? (uint32_t)block->bytes
                                                         : (uint32_t)CAIRN_HEAP_SIZE_ASIDE;
    uint64_t none = 0, entry = cairn_heap_entry(block->va, stack, size, CAIRN_HEAP_KIND_MALLOC, 0);
    _Atomic(uint64_t) *place = cairn_heap_shadow_make(&heap->shadow, &heap->state, block->va);
    if (place && atomic_load(place) != 0)
        return 0;
    if (!place || (size == CAIRN_HEAP_SIZE_ASIDE &&
                   !cairn_heap_large_put(&heap->large, &heap->state, block->va, block->bytes))) {
        cairn_heap_state_lose(&heap->state, CAIRN_HEAP_LOSS_FULL, block->bytes);
        return 0;
    }
    if (atomic_compare_exchange_strong(place, &none, entry))
        return block->bytes;
    if (size == CAIRN_HEAP_SIZE_ASIDE)
        cairn_heap_large_take(&heap->large, block->va);
    return 0;
}

static uint64_t drop(struct cairn_tracked_heap *heap, uint32_t stack,
                     const struct cairn_late_older_block *block)
{
    _Atomic(uint64_t) *place = cairn_heap_shadow_reach(&heap->shadow, block->va);
    uint64_t entry = place ? atomic_load(place) : 0, bytes = cairn_heap_entry_size(entry);
    if (!entry || cairn_heap_entry_stack(entry) != stack ||
        !atomic_compare_exchange_strong(place, &entry, 0))
        return 0;
    return bytes == CAIRN_HEAP_SIZE_ASIDE ? cairn_heap_large_take(&heap->large, block->va) : bytes;
}

static void do_some(struct cairn_heap_own *own, uint32_t stack, struct cairn_late_older *older,
                    uint64_t from)
{
    struct cairn_tracked_heap *heap = own->heap;
    struct cairn_heap_share share = {0};
    bool is_drop = older->what == CAIRN_LATE_OLDER_DROP;
    for (uint64_t i = from; i < older->n && i < from + A_CALL; i++) {
        uint64_t bytes = (is_drop ? drop : add)(heap, stack, &older->blocks[i]);
        share.blocks += bytes != 0;
        share.bytes += bytes;
    }
    older->n_done += share.blocks;
    older->done_bytes += share.bytes;
    if (is_drop)
        cairn_heap_count_undo_birth(heap, stack, share);
    else
        cairn_heap_count_large(heap, stack, share, false);
    cairn_heap_count_hand_in_live(heap, own);
}

static int do_all(uint32_t stack, struct cairn_late_older *older)
{
    for (uint64_t i = 0; i < older->n; i += A_CALL) {
        struct cairn_tracked_heap *heap;
        struct cairn_heap_own *own = cairn_heap_call_begin(&heap, cairn_heap_sp());
        if (!own)
            return MEMORY_TRACKER_E_STATE;
        do_some(own, stack, older, i);
        cairn_heap_call_end(own);
    }
    return MEMORY_TRACKER_OK;
}

int cairn_late_older(struct cairn_late_older *older)
{
    struct cairn_tracked_heap *heap = cairn_heap_present();
    if (!older || older->size < sizeof(*older) || older->what < CAIRN_LATE_OLDER_ADD ||
        older->what > CAIRN_LATE_OLDER_KNOWN)
        return MEMORY_TRACKER_E_ARG;
    uint32_t stack = heap ? number_of_older(heap) : 0;
    int code = stack ? MEMORY_TRACKER_OK : MEMORY_TRACKER_E_STATE;
    if (stack)
        atomic_store(&heap->older, stack);
    if (stack && older->what == CAIRN_LATE_OLDER_KNOWN) {
        atomic_store(&heap->state.header->older_unread_bytes, older->unread_bytes);
        atomic_store(&heap->state.header->older, stack);
    } else if (stack) {
        code = do_all(stack, older);
    }
    if (older->mapped_bytes)
        cairn_pages_unmap((void *)older->blocks, (size_t)older->mapped_bytes);
    return code;
}
