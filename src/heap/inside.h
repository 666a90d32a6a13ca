/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Inside: the state (rt/heap_state.h) as the process that writes it reads it, while its threads go
 * on: without a lock, and on pages of its own, so that it may be asked from anywhere and leaves no
 * trace in what it counts. Who reads from outside, formats/heap_view, copies it first; both believe
 * nothing of it, for the program may have scribbled over it.
 */
#ifndef CAIRN_HEAP_INSIDE_H
#define CAIRN_HEAP_INSIDE_H

#include "heap/heap.h"
#include "rt/array.h"

struct cairn_heap_counts {
    uint64_t n_allocs, alloc_bytes, n_frees, free_bytes;
};

/* All that ever happened, what threads have not handed in included. While others allocate, what is
 * just being handed in may be counted twice or not. */
void cairn_heap_inside_count(const struct cairn_tracked_heap *heap,
                             struct cairn_heap_counts *ret_counts);

struct cairn_heap_live_block {
    uint64_t va, size;
    uint32_t stack, epoch;
};

/* A mapping that stacks go through. */
struct cairn_heap_seen {
    uint64_t from, to, off, inode;
    const char *path; /* n_path bytes, without a NUL; "" of memory without a file */
    const uint8_t *build_id;
    uint32_t n_path, n_build_id;
};

struct cairn_heap_inside {
    const struct cairn_tracked_heap *heap;
    uint32_t n_chunks, n_stacks;
    uint64_t bytes;             /* of all blocks */
    struct cairn_array blocks;  /* cairn_heap_live_block, by address */
    struct cairn_array modules; /* cairn_heap_seen, as they were met */
};

/* The blocks that live, and the mappings. False: no memory; nothing is to be closed. */
bool cairn_heap_inside_open(struct cairn_heap_inside *ret_inside, struct cairn_tracked_heap *heap);
void cairn_heap_inside_close(struct cairn_heap_inside *inside);

/* A stack's return addresses, outermost first: how many, at most CAIRN_HEAP_FRAMES. Which of the
 * mappings count for it: those before *ret_n_modules. 0: it has none, or makes no sense. */
uint32_t cairn_heap_inside_stack(const struct cairn_heap_inside *inside, uint32_t stack,
                                 uint64_t *ret_rets, uint32_t *ret_n_modules);

/* No stack was taken: what it has is the caller of the allocation function. */
bool cairn_heap_inside_is_caller(const struct cairn_heap_inside *inside, uint32_t stack);

/* The last mapping among the first `n` that has `va`; n: none has. */
uint32_t cairn_heap_inside_module(const struct cairn_heap_inside *inside, uint32_t n, uint64_t va);

/* How long ago an epoch began, ns. */
uint64_t cairn_heap_inside_age_ns(const struct cairn_heap_inside *inside, uint32_t epoch);

#endif /* CAIRN_HEAP_INSIDE_H */
