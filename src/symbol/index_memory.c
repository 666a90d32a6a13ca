/* SPDX-License-Identifier: MIT */
#include "symbol/index_memory.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"

enum {
    WARM_BYTES = 31 << 20
}; /* above 32 MiB glibc learns nothing: mallopt(3), M_MMAP_THRESHOLD */

enum { CHUNK_FIRST = 1 << 16, CHUNK_LARGEST = 1 << 26, ALIGN = 8 };

struct cairn_index_chunk {
    struct cairn_index_chunk *next;
    size_t size, used; /* of what follows */
};

static struct cairn_index_chunk *add_chunk(struct cairn_index_memory *memory, size_t need)
{
    size_t size = memory->chunks ? memory->chunks->size * 4 : CHUNK_FIRST;
    size = size > CHUNK_LARGEST ? CHUNK_LARGEST : size;
    size = size < need ? need : size;
    if (size > SIZE_MAX - sizeof(struct cairn_index_chunk))
        return NULL;
    struct cairn_index_chunk *chunk =
        cairn_realloc(NULL, size + sizeof(struct cairn_index_chunk), 1);
    if (!chunk)
        return NULL;
    cairn_advise_filled(chunk, size);
    *chunk = (struct cairn_index_chunk){memory->chunks, size, 0};
    memory->chunks = chunk;
    return chunk;
}

void *cairn_index_memory_take(struct cairn_index_memory *memory, size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes) || bytes > SIZE_MAX - ALIGN)
        return NULL;
    size_t whole = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    struct cairn_index_chunk *chunk = memory->chunks;
    if (!chunk || whole > chunk->size - chunk->used)
        chunk = add_chunk(memory, whole);
    if (!chunk)
        return NULL;
    uint8_t *block = (uint8_t *)(chunk + 1) + chunk->used;
    chunk->used += whole;
    return block;
}

void *cairn_index_memory_copy(struct cairn_index_memory *memory, const void *from, size_t n,
                              size_t size)
{
    void *to = cairn_index_memory_take(memory, n, size);
    return to && n > 0 ? memcpy(to, from, n * size) : to;
}

void cairn_index_memory_warm(void)
{
    cairn_free(cairn_realloc(NULL, WARM_BYTES, 1)); /* not touched: it costs no memory */
}

void cairn_index_memory_done(struct cairn_index_memory *memory)
{
    struct cairn_index_chunk *chunk = memory->chunks;
    while (chunk) {
        struct cairn_index_chunk *next = chunk->next;
        cairn_free(chunk);
        chunk = next;
    }
    memory->chunks = NULL;
}
