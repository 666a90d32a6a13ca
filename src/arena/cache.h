/* SPDX-License-Identifier: MIT */
/*
 * Cache: the blocks that may be caches of threads, and which of them are. What is in one tells, but
 * not of an empty one, which looks like any block of zeros: that is one if a thread's TLS points to
 * it, at the distance from the thread pointer at which others point to theirs.
 */
#ifndef CAIRN_ARENA_CACHE_H
#define CAIRN_ARENA_CACHE_H

#include "arena/layout.h"

enum { CAIRN_ARENA_SURE = 1 << 12 /* the weight of one with blocks in it; of an empty one: 1 */ };

struct cairn_arena_cache {
    uint64_t va;
    unsigned weight;
    bool is;
};

struct cairn_arena_caches {
    struct cairn_arena_cache *items; /* ascending, once they are chosen */
    size_t n, cap;
};

/* Sorts them, and says which ones are. */
int cairn_arena_choose_caches(struct cairn_arena_walking *w, struct cairn_arena_caches *caches);
bool cairn_arena_is_cache(const struct cairn_arena_caches *caches, uint64_t va);

#endif /* CAIRN_ARENA_CACHE_H */
