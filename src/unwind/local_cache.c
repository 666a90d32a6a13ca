/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/local_cache.h"

#include "rt/pages.h"
#include "unwind/local_rule.h"
#include "unwind/unload.h"

enum { LARGEST_PAGE = 1 << 16 };

/* Whole pages, so that they can be given back. */
__attribute__((aligned(
    LARGEST_PAGE))) struct cairn_local_cache_set cairn_local_cache[1 << CAIRN_LOCAL_CACHE_BITS];

/* A rule whose module went while it was made must not stay; who unloads changes the generation
 * before it clears the cache, so that either sees the other. */
static void remember(uintptr_t va, uint32_t rule, uint64_t generation)
{
    if (!cairn_local_cache_covers(va))
        return;
    unsigned home = cairn_local_cache_home(va);
    _Atomic(uint64_t) *entries = cairn_local_cache_set_of(va)->entries;
    for (unsigned i = CAIRN_LOCAL_CACHE_WAYS - 1; i > 0; i--)
        atomic_store(&entries[home ^ i], atomic_load(&entries[home ^ (i - 1)]));
    atomic_store(&entries[home], cairn_local_cache_entry(va, rule));
    if (atomic_load(&cairn_unload_generation) != generation)
        for (unsigned i = 0; i < CAIRN_LOCAL_CACHE_WAYS; i++)
            atomic_store(&entries[i], 0);
}

uint32_t cairn_local_cache_miss(uintptr_t va)
{
    uint32_t rule = 0;
    uint64_t generation = atomic_load(&cairn_unload_generation);
    enum cairn_local_found found = cairn_local_rule_make(va, &rule);
    if (found == CAIRN_LOCAL_RULE || found == CAIRN_LOCAL_GAP)
        remember(va, rule, generation);
    return rule;
}

void cairn_local_cache_clear(void)
{
    cairn_pages_drop(cairn_local_cache, sizeof(cairn_local_cache));
}
