/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "heap/stats.h"

#include <unistd.h>

enum { MOST_LOOKS = 1000 };

/* What is not to be counted any more. */
static struct {
    _Atomic(uint64_t) stamp; /* the process << 32 | how often it was written * 2 | is just now */
    _Atomic(uint64_t) n_allocs, alloc_bytes, n_frees, free_bytes;
    _Atomic(uint64_t) seen_bytes; /* the most that was seen alive: small peaks raise no mark */
} before;

static uint64_t stamp_of(uint32_t pid, uint64_t stamp)
{
    return (uint64_t)pid << 32 | (uint32_t)stamp;
}

static void set_before(const struct cairn_heap_counts *counts, uint64_t live_bytes)
{
    atomic_store(&before.n_allocs, counts->n_allocs);
    atomic_store(&before.alloc_bytes, counts->alloc_bytes);
    atomic_store(&before.n_frees, counts->n_frees);
    atomic_store(&before.free_bytes, counts->free_bytes);
    atomic_store(&before.seen_bytes, live_bytes);
}

/* In a child of fork it is the parent's, which is nothing here. */
static void make_ours(void)
{
    uint32_t pid = (uint32_t)getpid();
    uint64_t stamp = atomic_load(&before.stamp);
    if (stamp >> 32 == pid ||
        !atomic_compare_exchange_strong(&before.stamp, &stamp, stamp_of(pid, 1)))
        return;
    set_before(&(struct cairn_heap_counts){0}, 0);
    atomic_store(&before.stamp, stamp_of(pid, 2));
}

static struct cairn_heap_counts counts_before(void)
{
    struct cairn_heap_counts counts = {0};
    for (int i = 0; i < MOST_LOOKS; i++) {
        uint64_t stamp = atomic_load(&before.stamp);
        counts = (struct cairn_heap_counts){
            atomic_load(&before.n_allocs), atomic_load(&before.alloc_bytes),
            atomic_load(&before.n_frees), atomic_load(&before.free_bytes)};
        if (!(stamp & 1) && atomic_load(&before.stamp) == stamp)
            break;
    }
    return counts;
}

static uint64_t difference(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* What lies above the mark may be too little to have raised it. */
static uint64_t raise_seen(uint64_t bytes)
{
    uint64_t seen = atomic_load(&before.seen_bytes);
    while (seen < bytes && !atomic_compare_exchange_weak(&before.seen_bytes, &seen, bytes))
        ;
    return seen < bytes ? bytes : seen;
}

void cairn_heap_stats(const struct cairn_tracked_heap *heap, struct cairn_heap_stats *ret_stats)
{
    struct cairn_heap_counts now;
    make_ours();
    struct cairn_heap_counts start = counts_before();
    int64_t peak = atomic_load(&heap->state.header->peak_bytes);
    cairn_heap_inside_count(heap, &now);
    uint64_t live_bytes = difference(now.alloc_bytes, now.free_bytes);
    uint64_t seen = raise_seen(live_bytes);
    *ret_stats = (struct cairn_heap_stats){
        .counts = {difference(now.n_allocs, start.n_allocs),
                   difference(now.alloc_bytes, start.alloc_bytes),
                   difference(now.n_frees, start.n_frees),
                   difference(now.free_bytes, start.free_bytes)},
        .n_live = difference(now.n_allocs, now.n_frees),
        .live_bytes = live_bytes,
        .peak_bytes = peak > 0 && (uint64_t)peak > seen ? (uint64_t)peak : seen,
    };
}

/* Who comes while another thread is at it leaves it to that. */
void cairn_heap_stats_reset(struct cairn_tracked_heap *heap)
{
    struct cairn_heap_header *header = heap->state.header;
    struct cairn_heap_counts now;
    make_ours();
    uint64_t stamp = atomic_load(&before.stamp);
    if (stamp & 1 || !atomic_compare_exchange_strong(&before.stamp, &stamp, stamp + 1))
        return;
    cairn_heap_inside_count(heap, &now);
    uint64_t live_bytes = difference(now.alloc_bytes, now.free_bytes);
    set_before(&now, live_bytes);
    /* A new high-water mark, lower than the last one. */
    atomic_store(&header->peak_bytes, (int64_t)live_bytes);
    atomic_store(&heap->mark_bytes, (int64_t)live_bytes);
    atomic_fetch_add(&header->turn_and_peak, CAIRN_HEAP_NEXT_PEAK);
    atomic_store(&before.stamp, stamp_of((uint32_t)(stamp >> 32), stamp + 2));
}
