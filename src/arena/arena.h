/* SPDX-License-Identifier: MIT */
/*
 * Arena: the blocks of glibc's malloc, read from the allocator's own structures in another address
 * space: a running process, which is not stopped for it, or a core file. No symbols are needed.
 *
 *     regions, a read function ──find.c──► main arena ──► ring of arenas ──► their heaps
 *                                              │
 *     chains of chunks (chunks.c), mapped chunks (mapped.c), less what caches hold (cache.c)
 *
 * glibc 2.30 to 2.41, 64 bit. The program may write on, and may have overwritten anything: what
 * makes no sense is read again, then skipped, and counted in bytes.
 */
#ifndef CAIRN_ARENA_ARENA_H
#define CAIRN_ARENA_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/error.h>

/* Exactly `size` bytes. False: not all of them can be read; `out` is undefined then. */
typedef bool cairn_arena_read_fn(void *context, uint64_t va, void *out, size_t size);

enum cairn_arena_region_kind {
    CAIRN_ARENA_DATA = 1, /* writable data of the module that has malloc */
    CAIRN_ARENA_BREAK,    /* what brk(2) extends */
    CAIRN_ARENA_ANONYMOUS /* private, writable, without a file */
};

struct cairn_arena_region {
    uint64_t low, high;
    enum cairn_arena_region_kind kind;
};

struct cairn_arena_space {
    cairn_arena_read_fn *read;
    void *context;
    const struct cairn_arena_region *regions; /* ascending, none overlaps another one */
    size_t n;
};

/* What the program has; `bytes` is what the block can hold (malloc_usable_size(3)): what the
 * program asked for is not known. */
struct cairn_arena_block {
    uint64_t va, bytes;
};

struct cairn_arena_walk {
    struct cairn_arena_block *blocks; /* ascending */
    size_t n, cap;
    uint64_t bytes;               /* of all blocks */
    uint64_t main_low, main_high; /* va: the main arena's chunks, if they are one piece; else 0 */
    uint32_t n_arenas;            /* the main one too */
    bool is_ring_cut;  /* a link between arenas was overwritten; others were found by their heaps */
    uint32_t n_caches; /* of threads */
    uint64_t n_cached; /* chunks in them and in fastbins: free */
    uint64_t heap_bytes;   /* of arenas and mapped chunks, as far as they are known */
    uint64_t unread_bytes; /* of these: not listed, because what was read made no sense */
};

/* CAIRN_E_MISSING: there is no arena of a known layout. CAIRN_E_NOMEM. */
int cairn_arena_walk(const struct cairn_arena_space *space, struct cairn_arena_walk *ret_walk,
                     struct cairn_err *err);
void cairn_arena_walk_done(struct cairn_arena_walk *walk); /* all-zero is fine */

#endif /* CAIRN_ARENA_ARENA_H */
