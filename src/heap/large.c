/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "heap/large.h"

static struct cairn_heap_large *at(const struct cairn_heap_large_table *table, uint32_t i)
{
    return &table->chunks[i / CAIRN_HEAP_LARGE_A_CHUNK][i % CAIRN_HEAP_LARGE_A_CHUNK];
}

/* The place of `va` (0: a hole), or `n`. */
static uint32_t find(const struct cairn_heap_large_table *table, uint64_t va)
{
    uint32_t i = 0;
    while (i < table->n && atomic_load_explicit(&at(table, i)->va, memory_order_relaxed) != va)
        i++;
    return i;
}

static bool put_locked(struct cairn_heap_large_table *table, struct cairn_tracked_state *state,
                       uint64_t va, uint64_t bytes)
{
    uint32_t i = find(table, 0);
    if (i == CAIRN_HEAP_LARGE_CHUNKS * CAIRN_HEAP_LARGE_A_CHUNK)
        return false;
    if (i / CAIRN_HEAP_LARGE_A_CHUNK == table->n_chunks) {
        struct cairn_heap_large *chunk =
            cairn_heap_state_take(state, CAIRN_HEAP_LARGE, 1, 0, table->n_chunks);
        if (!chunk)
            return false;
        table->chunks[table->n_chunks++] = chunk;
    }
    struct cairn_heap_large *large = at(table, i);
    atomic_store_explicit(&large->size, bytes, memory_order_relaxed);
    atomic_store_explicit(&large->va, va, memory_order_release);
    table->n += i == table->n;
    return true;
}

bool cairn_heap_large_put(struct cairn_heap_large_table *table, struct cairn_tracked_state *state,
                          uint64_t va, uint64_t bytes)
{
    cairn_lock_take(&table->lock);
    bool done = put_locked(table, state, va, bytes);
    cairn_lock_give(&table->lock);
    return done;
}

uint64_t cairn_heap_large_take(struct cairn_heap_large_table *table, uint64_t va)
{
    uint64_t bytes = 0;
    cairn_lock_take(&table->lock);
    uint32_t i = find(table, va);
    if (i < table->n) {
        struct cairn_heap_large *large = at(table, i);
        bytes = atomic_load_explicit(&large->size, memory_order_relaxed);
        atomic_store_explicit(&large->va, 0, memory_order_release);
        table->n -= i + 1 == table->n;
    }
    cairn_lock_give(&table->lock);
    return bytes;
}
