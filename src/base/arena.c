/* SPDX-License-Identifier: MIT */
/*
 * Chunks come from calloc and are handed out front to back, so what a caller gets is zero already:
 *
 *     newest chunk: | header | block | text | block |      free      |
 */
#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"

enum { ALIGN = 16, CHUNK_FIRST = 4096, CHUNK_LARGEST = 1 << 20 };

struct cairn_arena_chunk {
    struct cairn_arena_chunk *next;
    size_t size, used; /* of `bytes` */
    uint8_t *bytes;    /* behind this header, aligned */
};

/* malloc aligns to two words, which is less than ALIGN where words have 32 bits. */
static struct cairn_arena_chunk *new_chunk(size_t size)
{
    size_t whole;
    if (__builtin_add_overflow(size, sizeof(struct cairn_arena_chunk) + ALIGN, &whole))
        return NULL;
    struct cairn_arena_chunk *chunk = cairn_alloc(whole, 1);
    if (!chunk)
        return NULL;
    uint8_t *behind = (uint8_t *)(chunk + 1);
    chunk->bytes = behind + (-(uintptr_t)behind & (ALIGN - 1));
    chunk->size = size;
    return chunk;
}

/* A chunk with `need` free bytes behind its `used`, which becomes the newest unless the block is so
 * large that it fills a chunk of its own: then the newest keeps its room. */
static struct cairn_arena_chunk *chunk_for(struct cairn_arena *arena, size_t need)
{
    struct cairn_arena_chunk *newest = arena->chunks;
    size_t size = newest ? newest->size * 2 : CHUNK_FIRST;
    if (size > CHUNK_LARGEST)
        size = CHUNK_LARGEST;
    bool alone = need > size / 4;
    struct cairn_arena_chunk *chunk = new_chunk(alone ? need : size);
    if (!chunk)
        return NULL;
    if (alone && newest) {
        chunk->next = newest->next;
        newest->next = chunk;
    } else {
        chunk->next = newest;
        arena->chunks = chunk;
    }
    return chunk;
}

static void *take(struct cairn_arena *arena, size_t size, size_t align)
{
    struct cairn_arena_chunk *chunk = arena->chunks;
    size_t at = chunk ? (chunk->used + align - 1) & ~(align - 1) : 0;
    if (!chunk || at > chunk->size || size > chunk->size - at) {
        chunk = chunk_for(arena, size);
        if (!chunk)
            return NULL;
        at = 0;
    }
    chunk->used = at + size;
    arena->used_bytes += size;
    return chunk->bytes + at;
}

void *cairn_arena_alloc(struct cairn_arena *arena, size_t size)
{
    return take(arena, size ? size : 1, ALIGN);
}

char *cairn_arena_text(struct cairn_arena *arena, const char *text, size_t size)
{
    if (size == SIZE_MAX)
        return NULL;
    char *copy = take(arena, size + 1, 1);
    return copy && size ? memcpy(copy, text, size) : copy;
}

void cairn_arena_done(struct cairn_arena *arena)
{
    struct cairn_arena_chunk *chunk = arena->chunks;
    while (chunk) {
        struct cairn_arena_chunk *next = chunk->next;
        cairn_free(chunk);
        chunk = next;
    }
    *arena = (struct cairn_arena){0};
}
