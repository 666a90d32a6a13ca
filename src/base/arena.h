/* SPDX-License-Identifier: MIT */
/* Arena: many small blocks that die together. Not thread-safe. */
#ifndef CAIRN_BASE_ARENA_H
#define CAIRN_BASE_ARENA_H

#include <stddef.h>

struct cairn_arena_chunk;

struct cairn_arena {
    struct cairn_arena_chunk *chunks; /* the newest first */
    size_t used_bytes;                /* handed out, for whoever bounds a cache */
};

/* Zeroed, aligned to 16 bytes; NULL where memory is gone. */
void *cairn_arena_alloc(struct cairn_arena *arena, size_t size);

/* A copy with a NUL behind it; NULL where memory is gone. */
char *cairn_arena_text(struct cairn_arena *arena, const char *text, size_t size);

/* Frees all; the arena can be used again. */
void cairn_arena_done(struct cairn_arena *arena);

#endif /* CAIRN_BASE_ARENA_H */
