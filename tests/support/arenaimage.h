/* SPDX-License-Identifier: MIT */
/*
 * Arena image: a small process of glibc's malloc in memory, whose live blocks are known:
 *
 *     data      malloc_par, the main arena
 *     break     the first thread's cache, chunks in use, cached, in a fastbin, free, the top
 *     heap      a thread arena: its heap's head, the arena, chunks, the top
 *     thread    TLS with the pointer to the cache, and a thread pointer that points to itself
 *     mapped    a page of the program's, a mapped chunk, an aligned mapped chunk
 */
#ifndef CAIRN_TESTS_SUPPORT_ARENAIMAGE_H
#define CAIRN_TESTS_SUPPORT_ARENAIMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "arena/arena.h"

enum {
    TEST_ARENA_PARTS = 5,
    TEST_ARENA_PART = 0x8000, /* bytes of each, at most */
    TEST_ARENA_BLOCKS = 9,
    TEST_ARENA_MAIN = 0x200,   /* the main arena, in the data */
    TEST_ARENA_DAMAGED = 0x340 /* a chunk in the break: in use, not the first one */
};

enum test_arena_part {
    TEST_ARENA_BREAK,
    TEST_ARENA_DATA,
    TEST_ARENA_HEAP,
    TEST_ARENA_THREAD,
    TEST_ARENA_MAPPED
};

struct test_arena {
    struct cairn_arena_region regions[TEST_ARENA_PARTS];
    uint8_t bytes[TEST_ARENA_PARTS][TEST_ARENA_PART];
    bool is_old; /* glibc before 2.32: links are plain, heads of heaps shorter */
    uint64_t n_reads, n_read_bytes;
    uint64_t reads_left; /* then all fail */
    struct cairn_arena_block live[TEST_ARENA_BLOCKS];
    size_t n_live;
    uint64_t at;     /* of the chunk that is written next */
    uint64_t in_use; /* the one before it is: its flag */
};

static inline uint8_t *test_arena_at(struct test_arena *t, uint64_t va, size_t size)
{
    for (size_t i = 0; i < TEST_ARENA_PARTS; i++)
        if (va >= t->regions[i].low && va < t->regions[i].high && t->regions[i].high - va >= size)
            return t->bytes[i] + (va - t->regions[i].low);
    return NULL;
}

static inline bool test_arena_read(void *context, uint64_t va, void *out, size_t size)
{
    struct test_arena *t = context;
    const uint8_t *from = test_arena_at(t, va, size);
    t->n_reads++;
    if (!from || t->reads_left == 0)
        return false;
    t->reads_left--;
    t->n_read_bytes += size;
    memcpy(out, from, size);
    return true;
}

static inline void test_arena_put(struct test_arena *t, uint64_t va, uint64_t word)
{
    memcpy(test_arena_at(t, va, sizeof word), &word, sizeof word);
}

static inline void test_arena_link(struct test_arena *t, uint64_t va, uint64_t to)
{
    test_arena_put(t, va, t->is_old ? to : to ^ va >> 12);
}

/* A chunk behind the one before; returns the block in it. */
static inline uint64_t test_arena_chunk(struct test_arena *t, uint64_t size, bool in_use)
{
    uint64_t va = t->at;
    test_arena_put(t, va + 8, size | t->in_use);
    t->at += size;
    t->in_use = in_use;
    return va + 16;
}

static inline void test_arena_live(struct test_arena *t, uint64_t va, uint64_t bytes)
{
    t->live[t->n_live++] = (struct cairn_arena_block){va, bytes};
}

static inline void test_arena_live_chunk(struct test_arena *t, uint64_t size)
{
    test_arena_live(t, test_arena_chunk(t, size, true), size - 8);
}

static inline void test_arena_arena(struct test_arena *t, uint64_t va, uint64_t top, uint64_t next,
                                    uint64_t system_mem)
{
    test_arena_put(t, va + 0x60, top);
    for (uint64_t bin = va + 0x70; bin < va + 0x860; bin += 16) {
        test_arena_put(t, bin, bin - 16);
        test_arena_put(t, bin + 8, bin - 16);
    }
    test_arena_put(t, va + 0x870, next);
    test_arena_put(t, va + 0x888, system_mem);
    test_arena_put(t, va + 0x890, system_mem);
}

static inline void test_arena_break(struct test_arena *t, uint64_t arena)
{
    const uint64_t low = t->regions[TEST_ARENA_BREAK].low;
    t->at = low;
    t->in_use = 1;
    uint64_t cache = test_arena_chunk(t, 0x290, true);
    test_arena_live_chunk(t, 0x30);
    uint64_t cached = test_arena_chunk(t, 0x30, true), next = test_arena_chunk(t, 0x30, true);
    uint64_t fast = test_arena_chunk(t, 0x20, true);
    test_arena_live_chunk(t, 0x50); /* at TEST_ARENA_DAMAGED */
    uint64_t none = test_arena_chunk(t, 0x100, false);
    test_arena_live_chunk(t, 0x290); /* zeros, like an empty cache */
    test_arena_live_chunk(t, 0x1000);
    for (unsigned i = 0; i < 20; i++)
        test_arena_chunk(t, 0x40, false);
    uint64_t top = t->at;
    test_arena_chunk(t, low + 0x4000 - top, true);
    test_arena_put(t, cache, UINT64_C(2) << 16); /* two in bin 1 */
    test_arena_put(t, cache + 0x80 + 8, cached);
    test_arena_link(t, cached, next);
    test_arena_link(t, next, 0);
    test_arena_link(t, fast, 0);
    test_arena_arena(t, arena, top, arena, 0x4000);
    test_arena_put(t, arena + 0x10, fast - 16);
    test_arena_put(t, arena + 0x70, none - 16);
    /* malloc_par up to the first break: mapped chunks and their bytes */
    uint64_t sums = t->regions[TEST_ARENA_DATA].low + 0x100;
    test_arena_put(t, sums, low);
    test_arena_put(t, sums - 8, 0x4000);
    test_arena_put(t, sums - 16, 0x4000);
    test_arena_put(t, sums - 24, t->is_old ? 2 : 0);
    test_arena_put(t, sums - 32, t->is_old ? UINT64_C(65536) << 32 | 2 : UINT64_C(2) << 32 | 65536);
    test_arena_put(t, sums - 40, t->is_old ? 0 : UINT64_C(2) << 32);
    /* the first thread's TLS */
    uint64_t pointer = t->regions[TEST_ARENA_THREAD].low + 0x1000;
    test_arena_put(t, pointer, pointer);
    test_arena_put(t, pointer + 16, pointer);
    test_arena_put(t, pointer - 0x48, cache);
}

static inline void test_arena_heap(struct test_arena *t, uint64_t main_arena)
{
    const uint64_t low = t->regions[TEST_ARENA_HEAP].low;
    uint64_t arena = low + (t->is_old ? 0x20 : 0x30);
    test_arena_put(t, low, arena);
    test_arena_put(t, low + 16, 0x4000);
    t->at = (arena + 0x898 + 15) & ~UINT64_C(15);
    t->in_use = 1;
    test_arena_live_chunk(t, 0x40);
    test_arena_chunk(t, 0x60, false);
    test_arena_live_chunk(t, 0x800);
    uint64_t top = t->at;
    test_arena_chunk(t, low + 0x4000 - top, true);
    test_arena_arena(t, arena, top, main_arena, 0x4000);
    test_arena_put(t, main_arena + 0x870, arena);
}

static inline void test_arena_mapped(struct test_arena *t)
{
    uint64_t va = t->regions[TEST_ARENA_MAPPED].low + 0x1000;
    test_arena_put(t, va + 8, 0x2000 | 2);
    test_arena_live(t, va + 16, 0x2000 - 16);
    va += 0x2000;
    test_arena_put(t, va + 8, 0x2000 | 2); /* what malloc wrote before it was aligned to 256 */
    test_arena_put(t, va + 0xf0, 0xf0);
    test_arena_put(t, va + 0xf8, (0x2000 - 0xf0) | 2);
    test_arena_live(t, va + 0x100, 0x2000 - 0x100);
}

/* `t`: zeros. */
static inline void test_arena_make(struct test_arena *t, bool is_old)
{
    static const struct cairn_arena_region regions[TEST_ARENA_PARTS] = {
        {0x550000000000, 0x550000004000, CAIRN_ARENA_BREAK},
        {0x700000000000, 0x700000001000, CAIRN_ARENA_DATA},
        {0x7f0004000000, 0x7f0004004000, CAIRN_ARENA_ANONYMOUS},
        {0x7f8000000000, 0x7f8000002000, CAIRN_ARENA_ANONYMOUS},
        {0x7f9000000000, 0x7f9000006000, CAIRN_ARENA_ANONYMOUS}};
    memcpy(t->regions, regions, sizeof regions);
    t->is_old = is_old;
    t->reads_left = UINT64_MAX;
    uint64_t arena = t->regions[TEST_ARENA_DATA].low + TEST_ARENA_MAIN;
    test_arena_break(t, arena);
    test_arena_heap(t, arena);
    test_arena_mapped(t);
}

static inline int test_arena_walk(struct test_arena *t, struct cairn_arena_walk *walk,
                                  struct cairn_err *err)
{
    const struct cairn_arena_space space = {test_arena_read, t, t->regions, TEST_ARENA_PARTS};
    return cairn_arena_walk(&space, walk, err);
}

#endif /* CAIRN_TESTS_SUPPORT_ARENAIMAGE_H */
