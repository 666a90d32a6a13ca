/* SPDX-License-Identifier: MIT */
/*
 * Cache: chunks that are free although the next chunk says that they are in use: those in fastbins
 * and in the threads' caches (tcache).
 *
 *     tcache (2.30 to 2.41)    | 64 counts, 16 bits | 64 first blocks |    in a block of its own
 *     links (since 2.32)       stored as  link ^ address of the link >> 12
 */
#include "arena/cache.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum {
    BINS = 64,
    CACHE_BYTES = BINS * 2 + BINS * 8,
    CACHE_HOLDS = CACHE_BYTES + 8, /* of its chunk of 0x290 bytes */
    LINKS_MAX = 1 << 16,           /* of one list: its count has 16 bits */
    AGAIN_MAX = 8,                 /* a thread may change the list meanwhile */
    LINKS_A_BLOCK = 16,
    LINKS_LEAST = 1 << 10,
    MASK_SHIFT = 12
};

struct cache {
    uint16_t counts[BINS];
    uint64_t first[BINS];
};

static uint64_t size_of(unsigned bin)
{
    return CHUNK_LEAST + CHUNK_ALIGN * (uint64_t)bin;
}

/* Is a chunk of that size there? */
static bool is_chunk(const struct cairn_arena_walking *w, uint64_t va, uint64_t size)
{
    uint64_t word;
    return va % CHUNK_ALIGN == 0 && cairn_arena_word(w->space, va + 8, &word) &&
           (word & ~(uint64_t)CHUNK_FLAGS) == size && !(word & CHUNK_MAPPED);
}

static unsigned judge_once(const struct cairn_arena_walking *w, uint64_t va)
{
    struct cache cache;
    unsigned n = 0;
    if (!w->space->read(w->space->context, va, &cache, sizeof cache))
        return 0;
    for (unsigned i = 0; i < BINS; i++) {
        if (!cache.first[i] != !cache.counts[i])
            return 0;
        if (!cache.first[i])
            continue;
        if (!is_chunk(w, cache.first[i] - CHUNK_HEAD, size_of(i)))
            return 0;
        n++;
    }
    return n ? CAIRN_ARENA_SURE : 1;
}

/* What a block that may be a cache weighs; 0: it is none. */
static unsigned judge(const struct cairn_arena_walking *w, uint64_t va)
{
    unsigned weight = 0;
    for (unsigned i = 0; i < AGAIN_MAX && !weight; i++)
        weight = judge_once(w, va);
    return weight;
}

/* The chunk that the link at `va` leads to; 0: the list ends. False: it leads nowhere. `head`: from
 * a chunk to what links point to. */
static bool next_of(const struct cairn_arena_walking *w, uint64_t va, uint64_t head, uint64_t size,
                    uint64_t *ret_chunk)
{
    uint64_t link;
    if (!cairn_arena_word(w->space, va, &link))
        return false;
    uint64_t plain = link ^ va >> MASK_SHIFT;
    *ret_chunk = 0;
    if (link == 0 || plain == 0)
        return true;
    *ret_chunk = (is_chunk(w, plain - head, size) ? plain : link) - head;
    return is_chunk(w, *ret_chunk, size);
}

/* All lists together are no longer than there are chunks, but for those that are read again. */
static bool may_go_on(struct cairn_arena_walking *w)
{
    return w->n_linked++ < LINKS_A_BLOCK * ((uint64_t)w->walk->n + LINKS_LEAST);
}

/* One list, from its first link on, which is not masked. `ret_whole`: it ended as a list does. */
static int follow(struct cairn_arena_walking *w, uint64_t first_va, uint64_t head, uint64_t size,
                  bool *ret_whole)
{
    uint64_t chunk = 0, mark = 0;
    *ret_whole = cairn_arena_word(w->space, first_va, &chunk) && chunk == 0;
    if (*ret_whole || !chunk || !is_chunk(w, chunk - head, size))
        return CAIRN_OK;
    chunk -= head;
    for (unsigned i = 0; chunk && chunk != mark && i < LINKS_MAX && may_go_on(w); i++) {
        int result = cairn_arena_push(w, &w->cached, &w->n_cached, &w->cap_cached, chunk);
        if (result < 0)
            return result;
        mark = (i & (i - 1)) == 0 ? chunk : mark; /* a loop comes back to it */
        if (!next_of(w, chunk + CHUNK_HEAD, head, size, &chunk))
            return CAIRN_OK;
    }
    *ret_whole = chunk == 0;
    return CAIRN_OK;
}

/* What was found stays found: a chunk that is free now and then is none of the blocks that lived
 * through it all. */
static int follow_again(struct cairn_arena_walking *w, uint64_t first_va, uint64_t head,
                        uint64_t size)
{
    bool is_whole = false;
    int result = CAIRN_OK;
    for (unsigned i = 0; result == CAIRN_OK && !is_whole && i < AGAIN_MAX; i++)
        result = follow(w, first_va, head, size, &is_whole);
    return result;
}

static int collect_fastbins(struct cairn_arena_walking *w)
{
    int result = CAIRN_OK;
    for (size_t i = 0; i < w->n_arenas; i++)
        for (unsigned bin = 0; result == CAIRN_OK && bin < ARENA_N_FASTBINS; bin++)
            result =
                follow_again(w, w->arenas[i] + ARENA_FASTBINS + 8 * (uint64_t)bin, 0, size_of(bin));
    return result;
}

static int collect_caches(struct cairn_arena_walking *w, const struct cairn_arena_caches *caches)
{
    int result = CAIRN_OK;
    for (size_t i = 0; i < caches->n; i++)
        for (unsigned bin = 0; result == CAIRN_OK && caches->items[i].is && bin < BINS; bin++)
            result = follow_again(
                w, caches->items[i].va + offsetof(struct cache, first) + 8 * (uint64_t)bin,
                CHUNK_HEAD, size_of(bin));
    return result;
}

/* Blocks that may be caches, by their size and by what is in them. */
static int find_candidates(struct cairn_arena_walking *w, struct cairn_arena_caches *caches)
{
    for (size_t i = 0; i < w->walk->n; i++) {
        const struct cairn_arena_block *block = &w->walk->blocks[i];
        unsigned weight = block->bytes == CACHE_HOLDS ? judge(w, block->va) : 0;
        if (!weight)
            continue;
        if (cairn_grow((void **)&caches->items, &caches->cap, caches->n + 1,
                       sizeof *caches->items) < 0)
            return cairn_fail_memory(w->err);
        caches->items[caches->n++] = (struct cairn_arena_cache){block->va, weight, false};
    }
    return CAIRN_OK;
}

/* From the chunks that were met first on, as they may have moved from one list to another: those
 * of caches go to fastbins when a thread ends, and back when one allocates. */
static int collect(struct cairn_arena_walking *w, const struct cairn_arena_caches *caches)
{
    int result = collect_caches(w, caches);
    if (result == CAIRN_OK)
        result = collect_fastbins(w);
    if (result == CAIRN_OK)
        result = collect_caches(w, caches);
    cairn_arena_sort(w->cached, w->n_cached);
    return result;
}

static void take_out(struct cairn_arena_walking *w, const struct cairn_arena_caches *caches)
{
    struct cairn_arena_walk *walk = w->walk;
    size_t n = 0;
    for (size_t i = 0; i < walk->n; i++) {
        const struct cairn_arena_block block = walk->blocks[i];
        bool is_cached = cairn_arena_has(w->cached, w->n_cached, block.va - CHUNK_HEAD);
        walk->n_cached += is_cached;
        if (!is_cached && !cairn_arena_is_cache(caches, block.va))
            walk->blocks[n++] = block;
    }
    walk->n = n;
    for (size_t i = 0; i < caches->n; i++)
        walk->n_caches += caches->items[i].is;
}

int cairn_arena_take_out_cached(struct cairn_arena_walking *w)
{
    struct cairn_arena_caches caches = {0};
    int result = find_candidates(w, &caches);
    if (result == CAIRN_OK)
        result = cairn_arena_choose_caches(w, &caches);
    if (result == CAIRN_OK)
        result = collect(w, &caches);
    if (result == CAIRN_OK)
        take_out(w, &caches);
    cairn_free(caches.items);
    return result;
}
