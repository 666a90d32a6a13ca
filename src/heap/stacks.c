/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "heap/stacks.h"

#include <string.h>

#include "rt/pages.h"

enum {
    FIRST_TABLE = 1 << 12, /* words */
    FIRST_HASHES = 1 << 12,
    MOST_FRAMES = 1024,
    FULL_OF_4 = 3 /* quarters: then a larger one is made */
};
_Static_assert(sizeof(struct cairn_heap_log) + MOST_FRAMES * sizeof(uint64_t) < CAIRN_HEAP_CHUNK,
               "a record fits into a chunk");

static struct cairn_heap_stack_table *new_table(uint64_t words)
{
    struct cairn_heap_stack_table *table =
        cairn_pages_map(sizeof(*table) + (size_t)words * sizeof(table->words[0]));
    if (table)
        table->mask = words - 1;
    return table;
}

static void put_word(struct cairn_heap_stack_table *table, uint64_t hash, uint32_t number)
{
    uint64_t at = hash & table->mask;
    while (atomic_load_explicit(&table->words[at], memory_order_relaxed))
        at = (at + 1) & table->mask;
    atomic_store_explicit(&table->words[at], cairn_heap_stacks_word(hash, number),
                          memory_order_release);
}

/* Who reads the old table meanwhile misses new stacks, comes here, and looks again. */
static bool have_table(struct cairn_heap_stacks *stacks)
{
    struct cairn_heap_stack_table *old = atomic_load(&stacks->table);
    if (old && stacks->n < (old->mask + 1) / 4 * FULL_OF_4)
        return true;
    struct cairn_heap_stack_table *table = new_table(old ? (old->mask + 1) * 2 : FIRST_TABLE);
    if (!table)
        return false;
    for (uint32_t i = 1; i < stacks->n; i++)
        put_word(table, stacks->hashes[i], i);
    atomic_store_explicit(&stacks->table, table, memory_order_release);
    return true;
}

static bool have_hashes(struct cairn_heap_stacks *stacks)
{
    if (stacks->n < stacks->hashes_room)
        return true;
    uint32_t room = stacks->hashes_room ? stacks->hashes_room * 2 : FIRST_HASHES;
    uint64_t *hashes = cairn_pages_map(room * sizeof(*hashes));
    if (!hashes)
        return false;
    if (stacks->n > 0)
        memcpy(hashes, stacks->hashes, stacks->n * sizeof(*hashes));
    cairn_pages_unmap(stacks->hashes, stacks->hashes_room * sizeof(*hashes));
    stacks->hashes = hashes;
    stacks->hashes_room = room;
    return true;
}

static bool have_counts(struct cairn_heap_stacks *stacks, struct cairn_tracked_state *state)
{
    uint32_t chunk = stacks->n / CAIRN_HEAP_STACKS_A_CHUNK;
    if (chunk < stacks->n_stack_chunks)
        return true;
    struct cairn_heap_stack *made = cairn_heap_state_take(state, CAIRN_HEAP_STACKS, 1, 0, chunk);
    if (!made)
        return false;
    atomic_store_explicit(&stacks->chunks[chunk], made, memory_order_release);
    stacks->n_stack_chunks++;
    return true;
}

static void *log_room(struct cairn_heap_stacks *stacks, struct cairn_tracked_state *state,
                      uint32_t bytes)
{
    if (!stacks->log || CAIRN_HEAP_CHUNK - stacks->log_used < bytes) {
        uint8_t *log = cairn_heap_state_take(state, CAIRN_HEAP_LOG, 1, 0, stacks->n_logs);
        if (!log)
            return NULL;
        stacks->log = log;
        stacks->log_used = 0;
        stacks->n_logs++;
    }
    return stacks->log + stacks->log_used;
}

/* Where in the log the stack is now; 0: no room. No record is at the place that 0 would be, for
 * chunk 0 is the header's. */
static uint64_t write_log(struct cairn_heap_stacks *stacks, struct cairn_tracked_state *state,
                          uint32_t n_modules, const struct cairn_heap_new_stack *new)
{
    uint32_t n = new->n - new->n_shared, bytes = (uint32_t)(sizeof(struct cairn_heap_log) + 8 * n);
    struct cairn_heap_log *log = log_room(stacks, state, bytes);
    if (!log)
        return 0;
    log->base = new->base;
    log->n_shared = (uint16_t) new->n_shared;
    log->n = (uint16_t)n;
    log->end = (uint8_t) new->end;
    log->flags = new->flags;
    log->n_cut = (uint16_t)(new->n_cut < UINT16_MAX ? new->n_cut : UINT16_MAX);
    log->n_modules = n_modules;
    for (uint32_t i = 0; i < n; i++)
        log->rets[i] = new->frames[n - 1 - i].ret;
    uint64_t at =
        (uint64_t)cairn_heap_state_chunk(state, log) << CAIRN_HEAP_CHUNK_BITS | stacks->log_used;
    stacks->log_used += bytes;
    return at;
}

static uint32_t add_locked(struct cairn_heap_stacks *stacks, struct cairn_tracked_state *state,
                           struct cairn_heap_modules *modules, uint64_t hash,
                           const struct cairn_heap_new_stack *new)
{
    uint32_t number = cairn_heap_stacks_find(stacks, hash);
    if (number)
        return number;
    if (stacks->n > CAIRN_HEAP_MAX_STACKS || !have_table(stacks) || !have_hashes(stacks) ||
        !have_counts(stacks, state))
        return 0;
    for (uint32_t i = 0; i < new->n - new->n_shared; i++)
        cairn_heap_modules_meet(modules, state, new->frames[i].ret);
    uint64_t log = write_log(stacks, state, modules->n_records, new);
    if (log == 0)
        return 0;
    number = stacks->n++;
    stacks->hashes[number] = hash;
    atomic_store_explicit(&cairn_heap_stacks_at(stacks, number)->log, log, memory_order_release);
    atomic_store_explicit(&state->header->n_stacks, stacks->n, memory_order_release);
    put_word(atomic_load(&stacks->table), hash, number);
    return number;
}

uint32_t cairn_heap_stacks_add(struct cairn_heap_stacks *stacks, struct cairn_tracked_state *state,
                               struct cairn_heap_modules *modules, uint64_t hash,
                               const struct cairn_heap_new_stack *new, bool *ret_is_new)
{
    cairn_lock_take(&stacks->lock);
    uint32_t n = stacks->n, number = add_locked(stacks, state, modules, hash, new);
    *ret_is_new = stacks->n > n;
    cairn_lock_give(&stacks->lock);
    return number;
}

/* Its record as it was written. False: it has none. */
static bool read_log(const struct cairn_heap_stacks *stacks,
                     const struct cairn_tracked_state *state, uint32_t number,
                     struct cairn_heap_log *ret_log)
{
    uint64_t at =
        atomic_load_explicit(&cairn_heap_stacks_at(stacks, number)->log, memory_order_acquire);
    const char *chunk =
        at ? cairn_heap_state_at(state, (uint32_t)(at >> CAIRN_HEAP_CHUNK_BITS)) : NULL;
    if (!chunk)
        return false;
    memcpy(ret_log, chunk + (at & (CAIRN_HEAP_CHUNK - 1)), sizeof(*ret_log));
    return true;
}

/* The hash is not that of a stack of these two frames: there is no code at UINTPTR_MAX - 1. */
uint32_t cairn_heap_stacks_ignored(struct cairn_heap_stacks *stacks,
                                   struct cairn_tracked_state *state,
                                   struct cairn_heap_modules *modules, uint32_t number)
{
    uint64_t seed = atomic_load_explicit(&stacks->seed, memory_order_relaxed);
    uint64_t hash =
        cairn_heap_hash_step(cairn_heap_hash_step(seed, UINTPTR_MAX - 1), (uintptr_t)number);
    uint32_t known = cairn_heap_stacks_find(stacks, hash);
    struct cairn_heap_log log = {.flags = CAIRN_HEAP_LOG_CALLER};
    bool is_new;
    if (known)
        return known;
    (void)(number && read_log(stacks, state, number, &log));
    uint32_t n = (uint32_t)log.n_shared + log.n;
    const struct cairn_heap_new_stack new = {.n = n,
                                             .n_shared = n,
                                             .base = n ? number : 0,
                                             .n_cut = log.n_cut,
                                             .end = log.end,
                                             .flags = log.flags | CAIRN_HEAP_LOG_IGNORED};
    return cairn_heap_stacks_add(stacks, state, modules, hash, &new, &is_new);
}

bool cairn_heap_stacks_init(struct cairn_heap_stacks *stacks, struct cairn_tracked_state *state)
{
    if (!have_table(stacks) || !have_hashes(stacks) || !have_counts(stacks, state))
        return false;
    stacks->n = 1;
    atomic_store(&state->header->n_stacks, 1);
    return true;
}
