/* SPDX-License-Identifier: MIT */
/*
 * TLS: where threads keep the pointer to their cache. A thread pointer is found by the two words
 * that point to it (x86-64: struct pthread begins with tcb, dtv, self), at the end of a thread's
 * stack, or in a small mapping for the main thread.
 *
 *     | ... stack | TLS: ... the cache ... | self, dtv, self ... |
 *                        ^----- distance --^
 */
#include <stdlib.h>
#include <string.h>

#include "arena/cache.h"
#include "base/alloc.h"
#include "base/error.h"

enum {
    EDGE = 1 << 16,    /* bytes at each end of a mapping that are looked at */
    TLS_MAX = 1 << 16, /* bytes in front of a thread pointer */
    THREADS_MAX = 1 << 15,
    VOTERS_MAX = 64, /* the distance is the same for all */
    SELF_WORDS = 2   /* between the two words */
};

static int compare(const void *x, const void *y)
{
    const struct cairn_arena_cache *a = x, *b = y;
    return a->va < b->va ? -1 : a->va > b->va;
}

static struct cairn_arena_cache *find(const struct cairn_arena_caches *caches, uint64_t va)
{
    const struct cairn_arena_cache key = {.va = va};
    return caches->n ? bsearch(&key, caches->items, caches->n, sizeof key, compare) : NULL;
}

bool cairn_arena_is_cache(const struct cairn_arena_caches *caches, uint64_t va)
{
    const struct cairn_arena_cache *cache = find(caches, va);
    return cache && cache->is;
}

struct threads {
    uint64_t *pointers;
    size_t n, cap;
};

static int look_at(struct cairn_arena_walking *w, uint64_t low, uint64_t high,
                   struct threads *threads)
{
    const size_t n = (size_t)(high - low);
    if (!w->space->read(w->space->context, low, w->buffer, n))
        return CAIRN_OK;
    for (size_t at = 0; at + (SELF_WORDS + 1) * 8 <= n && threads->n < THREADS_MAX; at += 16) {
        uint64_t words[SELF_WORDS + 1], va = low + at;
        memcpy(words, w->buffer + at, sizeof words);
        if (words[0] != va || words[SELF_WORDS] != va)
            continue;
        int result = cairn_arena_push(w, &threads->pointers, &threads->n, &threads->cap, va);
        if (result < 0)
            return result;
    }
    return CAIRN_OK;
}

static int find_threads(struct cairn_arena_walking *w, struct threads *threads)
{
    int result = CAIRN_OK;
    for (size_t i = 0; result == CAIRN_OK && i < w->space->n; i++) {
        const struct cairn_arena_region *region = &w->space->regions[i];
        uint64_t size = region->high - region->low;
        uint64_t edge = size < EDGE ? size : EDGE;
        result = look_at(w, region->low, region->low + edge, threads);
        if (result == CAIRN_OK && size > EDGE)
            result = look_at(w, region->high - (size < 2 * EDGE ? size - EDGE : EDGE), region->high,
                             threads);
    }
    return result;
}

/* What lies in front of a thread pointer, up to the next multiple of a word. */
static size_t read_tls(struct cairn_arena_walking *w, uint64_t pointer)
{
    const struct cairn_arena_region *region = cairn_arena_region_of(w->space, pointer);
    uint64_t n = region ? pointer - region->low : 0;
    n = n < TLS_MAX ? n : TLS_MAX;
    return w->space->read(w->space->context, pointer - n, w->buffer, (size_t)n) ? (size_t)n : 0;
}

/* The distance, in words, at which most of them lie; 0: none does. */
static size_t vote(struct cairn_arena_walking *w, const struct cairn_arena_caches *caches,
                   const struct threads *threads, uint64_t *votes)
{
    size_t best = 0;
    for (size_t i = 0; i < threads->n && i < VOTERS_MAX; i++) {
        size_t n = read_tls(w, threads->pointers[i]);
        for (size_t back = 1; back <= n / 8; back++) {
            uint64_t word;
            memcpy(&word, w->buffer + n - 8 * back, sizeof word);
            const struct cairn_arena_cache *cache = find(caches, word);
            votes[back] += cache ? cache->weight : 0;
            if (votes[back] > votes[best])
                best = back;
        }
    }
    return best;
}

int cairn_arena_choose_caches(struct cairn_arena_walking *w, struct cairn_arena_caches *caches)
{
    struct threads threads = {0};
    uint64_t word, *votes = cairn_alloc(TLS_MAX / 8 + 1, sizeof *votes);
    if (caches->n)
        qsort(caches->items, caches->n, sizeof *caches->items, compare);
    for (size_t i = 0; i < caches->n; i++)
        caches->items[i].is = caches->items[i].weight >= CAIRN_ARENA_SURE;
    int result = votes ? CAIRN_OK : cairn_fail_memory(w->err);
    if (result == CAIRN_OK && caches->n)
        result = find_threads(w, &threads);
    size_t back = result == CAIRN_OK ? vote(w, caches, &threads, votes) : 0;
    for (size_t i = 0; back && i < threads.n; i++) {
        struct cairn_arena_cache *cache =
            cairn_arena_word(w->space, threads.pointers[i] - 8 * back, &word) ? find(caches, word)
                                                                              : NULL;
        if (cache)
            cache->is = true;
    }
    cairn_free(threads.pointers);
    cairn_free(votes);
    return result;
}
