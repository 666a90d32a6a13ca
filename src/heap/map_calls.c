/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "heap/map_calls.h"

#include "heap/start.h"
#include "heap/track.h"
#include "rt/pages.h"

CAIRN_THREAD_BLOCK_ACCESS void cairn_heap_map_begin(struct cairn_heap_map_call *call,
                                                    const struct cairn_local_frame_at *at)
{
    *call = (struct cairn_heap_map_call){0};
    call->own = cairn_heap_call_begin(&call->heap, at ? at->sp : (uintptr_t)__builtin_dwarf_cfa());
    if (call->own && at)
        call->stack = cairn_heap_stack_of(call->own, *at);
}

void cairn_heap_map_lock(struct cairn_heap_map_call *call)
{
    if (call->own && !call->locked)
        cairn_lock_take(&call->heap->maps.lock);
    call->locked = call->own != NULL;
}

/* A part of a page is a whole one; what goes to the end of all addresses stays below it. */
static uint64_t end_of(uint64_t va, uint64_t bytes)
{
    const uint64_t page = cairn_pages_size();
    return bytes > UINT64_MAX - va - page ? UINT64_MAX - page
                                          : va + (bytes + page - 1) / page * page;
}

/* The break is where it was put, within a page. */
static bool can_record(struct cairn_heap_map_call *call, uint64_t bytes)
{
    if (call->heap && !call->own)
        cairn_heap_state_lose(&call->heap->state, CAIRN_HEAP_LOSS_MAPPING, bytes);
    return call->own != NULL && bytes != 0;
}

void cairn_heap_map_made(struct cairn_heap_map_call *call, uint64_t va, uint64_t bytes,
                         enum cairn_heap_map_kind kind)
{
    if (!can_record(call, bytes))
        return;
    cairn_heap_map_lock(call);
    const struct cairn_heap_range range = {
        .from = va,
        .to = kind == CAIRN_HEAP_MAP_BREAK ? va + bytes : end_of(va, bytes),
        .stack = call->stack,
        .epoch = atomic_load_explicit(&call->heap->state.header->epoch, memory_order_relaxed),
        .kind = kind,
    };
    cairn_heap_maps_put(&call->heap->maps, &call->heap->state, &range);
}

void cairn_heap_map_gone(struct cairn_heap_map_call *call, uint64_t va, uint64_t bytes)
{
    if (!can_record(call, bytes))
        return;
    cairn_heap_map_lock(call);
    cairn_heap_maps_cut(&call->heap->maps, &call->heap->state, va, end_of(va, bytes));
}

void cairn_heap_map_moved(struct cairn_heap_map_call *call, const struct cairn_heap_range *from,
                          uint64_t va, uint64_t bytes)
{
    if (!can_record(call, bytes))
        return;
    cairn_heap_map_lock(call);
    enum cairn_heap_map_kind kind = cairn_heap_maps_kind(&call->heap->maps, from->from, from->kind);
    if (from->to > from->from)
        cairn_heap_maps_cut(&call->heap->maps, &call->heap->state, from->from,
                            end_of(from->from, from->to - from->from));
    cairn_heap_map_made(call, va, bytes, kind);
}

CAIRN_THREAD_BLOCK_ACCESS void cairn_heap_map_end(struct cairn_heap_map_call *call)
{
    if (call->locked)
        cairn_lock_give(&call->heap->maps.lock);
    if (call->own)
        cairn_heap_call_end(call->own);
}
