/* SPDX-License-Identifier: MIT */
/*
 * Layout of glibc's arenas (malloc/malloc.c, malloc/arena.c; 2.30 to 2.41, 64 bit).
 *
 *     arena   | lock, flags | 10 fastbins | top | last remainder | 127 bins: two links | next ...
 *     heap    | arena, previous heap, size ... | first one: the arena | chunks ...   64 MiB apart
 *     chunk   | size of the previous one, if free | size, 3 flags | what the program has
 *
 * An empty bin's two links lead to the bin as if it were a chunk: to 16 bytes before it.
 */
#ifndef CAIRN_ARENA_LAYOUT_H
#define CAIRN_ARENA_LAYOUT_H

#include "arena/arena.h"

enum {
    ARENA_FASTBINS = 0x10,
    ARENA_N_FASTBINS = 10,
    ARENA_TOP = 0x60,
    ARENA_BINS = 0x70,
    ARENA_N_BINS = 127,
    ARENA_NEXT = 0x870,
    ARENA_NEXT_FREE = 0x878,
    ARENA_SYSTEM_MEM = 0x888,
    ARENA_MAX_SYSTEM_MEM = 0x890,
    ARENA_BYTES = 0x898,
    ARENA_HEAP_BITS = 26,
    ARENA_PAGE = 4096,
    ARENA_MEM_BITS = 46, /* of all memory that there may be */
    CHUNK_ALIGN = 16,
    CHUNK_LEAST = 32,
    CHUNK_HEAD = 16,  /* up to what the program has */
    CHUNK_FENCE = 16, /* the size of what ends a part of the heap */
    CHUNK_IN_USE = 1, /* of the chunk before */
    CHUNK_MAPPED = 2,
    CHUNK_FLAGS = 7
};

/* What a walk works on. */
struct cairn_arena_walking {
    const struct cairn_arena_space *space;
    struct cairn_arena_walk *walk;
    uint64_t main_va;  /* of the main arena */
    uint64_t first_va; /* of the main arena's first chunk by its sums; 0: in pieces */
    uint64_t *heaps;   /* of other arenas: their first bytes */
    size_t n_heaps, cap_heaps;
    uint64_t *arenas;
    size_t n_arenas, cap_arenas;
    uint64_t *cached; /* addresses of chunks that look as if they were in use */
    size_t n_cached, cap_cached;
    uint64_t n_linked; /* links that were followed */
    uint64_t n_tried;  /* places that might have been chunks */
    uint8_t *buffer;   /* of CAIRN_ARENA_BUFFER bytes, for whoever needs it */
    struct cairn_err *err;
};

enum { CAIRN_ARENA_BUFFER = 1 << 18 };

const struct cairn_arena_region *cairn_arena_region_of(const struct cairn_arena_space *space,
                                                       uint64_t va);
bool cairn_arena_word(const struct cairn_arena_space *space, uint64_t va, uint64_t *ret_word);
/* Appends to one of the lists of addresses. */
int cairn_arena_push(struct cairn_arena_walking *w, uint64_t **list, size_t *n, size_t *cap,
                     uint64_t va);
int cairn_arena_add_block(struct cairn_arena_walking *w, uint64_t va, uint64_t bytes);
void cairn_arena_sort(uint64_t *list, size_t n);
bool cairn_arena_has(const uint64_t *sorted, size_t n, uint64_t va);

/* find.c: the main arena, the ring, the heaps. */
int cairn_arena_find(struct cairn_arena_walking *w);

/* chunks.c: the chunks of [low, high). `top_at`: where the arena has the address of its top chunk,
 * if that lies there, else 0. Each chunk in use becomes a block; it may still be cached. `ret_end`:
 * how far the chain is sound. */
struct cairn_arena_part {
    uint64_t low, high, top_at;
    bool is_heap; /* of a thread arena */
};
int cairn_arena_chunks(struct cairn_arena_walking *w, const struct cairn_arena_part *part,
                       uint64_t *ret_end);
/* Does a chain of sound chunks begin at `va`? */
bool cairn_arena_is_chain(struct cairn_arena_walking *w, uint64_t va, uint64_t high);

/* cache.c: what fastbins and threads' caches hold is not the program's, nor the caches. */
int cairn_arena_take_out_cached(struct cairn_arena_walking *w);

/* mapped.c: chunks with a mapping of their own. */
int cairn_arena_mapped(struct cairn_arena_walking *w);

#endif /* CAIRN_ARENA_LAYOUT_H */
