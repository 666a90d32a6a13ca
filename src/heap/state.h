/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * State: the state file (rt/heap_state.h) as the tracker that writes it has it: one reservation of
 * addresses, and chunks handed out of it. The file has the reservation's size, but no room on the
 * disk beyond its chunks. No descriptor stays open, which the program could see or close. Chunks
 * stay where they are until they are given back: then what lies there is a hole of the file, which
 * takes no room and must not be touched until it is allocated again.
 */
#ifndef CAIRN_HEAP_STATE_H
#define CAIRN_HEAP_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/file.h"
#include "rt/heap_state.h"
#include "rt/lock.h"

/* The kernel allocates no pages of a mapping (older than 5.14), so that a descriptor is kept: set
 * by tests. */
extern bool cairn_heap_state_keeps_fd __attribute__((visibility("hidden")));

enum {
    CAIRN_HEAP_RESERVED_CHUNKS = 128, /* 8 MiB */
    CAIRN_HEAP_SPARE_CHUNKS = 256,
    CAIRN_HEAP_HOLE_WORDS = CAIRN_HEAP_MAX_CHUNKS / 64
};

struct cairn_tracked_state {
    struct cairn_heap_header *header; /* where chunk 0 is mapped */
    size_t reserved_bytes;
    _Atomic(uint32_t) n_chunks; /* the header's, which the program may scribble over */
    /* Who looks at chunks, and is in no call that its thread's own knows of: a hole that one of
     * them touches is a SIGBUS. */
    _Atomic(uint32_t) n_readers;
    struct cairn_heap_file file;
    struct cairn_lock lock;                  /* guards what follows, and the file's size */
    uint32_t spare[CAIRN_HEAP_SPARE_CHUNKS]; /* chunks that were given back, allocated still */
    uint32_t n_spare;
    uint32_t n_holes, first_hole; /* first_hole: in a word of `holes` before that there is none */
    /* Chunks below it are allocated: to use one needs no system call. 0: not more than there are */
    uint32_t n_ready;
    uint32_t n_open; /* chunks below it are accessible; the rest is not (PROT_NONE): mlockall(2)
                        would allocate all of it */
    /* The file has its full size and no descriptor: chunks are allocated by the mapping's pages. */
    bool by_pages;
    bool no_room; /* the last hole could not be allocated, and none was made since */
    uint64_t holes[CAIRN_HEAP_HOLE_WORDS]; /* chunks, by bits. Not in the file: the program may
                                              scribble over that */
};

/* Makes the file in `dir` (heap/file.h) and chunk 0. At most `max_bytes`, fewer where RLIMIT_AS
 * asks for that. False: it cannot be; nothing is left behind. */
bool cairn_heap_state_make(struct cairn_tracked_state *state, const char *dir, uint64_t max_bytes);
/* The same in an empty file that is open; `fd` is the state's from then on, unless that fails. */
bool cairn_heap_state_make_in(struct cairn_tracked_state *state, int fd, uint64_t max_bytes);
/* Unmaps it and closes the descriptor: in a child of fork, whose parent goes on with it. */
void cairn_heap_state_leave(struct cairn_tracked_state *state);

/* A file without a name that holds what the state does now; its descriptor, -1: it cannot be made,
 * for want of room or of such files. The lock is held. */
int cairn_heap_state_copy(struct cairn_tracked_state *state, const char *dir);
/* In a child of fork: `fd`, such a copy of its parent's, is its own from now on, under its name,
 * and mapped where that was. False: it cannot be; all is as before. */
bool cairn_heap_state_become(struct cairn_tracked_state *state, int fd, const char *dir);

/* A process may soon make no system calls any more (rt/seal.h): allocates chunks for then. */
void cairn_heap_state_reserve(struct cairn_tracked_state *state);

/* Takes the file's name away. */
void cairn_heap_state_remove(struct cairn_tracked_state *state);

/* `n` chunks in a row, zero; their row says `kind` when they are returned. NULL: there is no room,
 * and from now on no more is looked for. */
void *cairn_heap_state_take(struct cairn_tracked_state *state, enum cairn_heap_chunk_kind kind,
                            uint32_t n, unsigned granule_bits, uint64_t arg);
/* They become zero, and somebody else's. Nobody may be about to write to them. */
void cairn_heap_state_give(struct cairn_tracked_state *state, void *chunks, uint32_t n);
/* The chunk is zero, and nobody reads. */
bool cairn_heap_state_is_unused(struct cairn_tracked_state *state, uint32_t chunk);
/* The room on the disk of one chunk, which nobody finds any more but by its row. False: it is not
 * unused, or it cannot be; and all is as before. */
bool cairn_heap_state_give_room(struct cairn_tracked_state *state, uint32_t chunk);
/* How many words of 8 bytes there are in a chunk before the first that is not 0, or some less. */
uint32_t cairn_heap_state_zeros(const _Atomic(uint64_t) *chunk);

/* Between the two nothing becomes a hole that is found, by its row or otherwise: for who is in no
 * call that its thread's own knows of (heap/own.h). No lock. */
static inline void cairn_heap_state_read_begin(struct cairn_tracked_state *state)
{
    atomic_fetch_add(&state->n_readers, 1);
}

static inline void cairn_heap_state_read_end(struct cairn_tracked_state *state)
{
    atomic_fetch_sub(&state->n_readers, 1);
}

static inline uint32_t cairn_heap_state_chunk(const struct cairn_tracked_state *state,
                                              const void *pointer)
{
    return (uint32_t)((size_t)((const char *)pointer - (const char *)state->header) >>
                      CAIRN_HEAP_CHUNK_BITS);
}

static inline void *cairn_heap_state_at(const struct cairn_tracked_state *state, uint32_t chunk)
{
    return (char *)state->header + ((size_t)chunk << CAIRN_HEAP_CHUNK_BITS);
}

/* What the table of chunks says of one. */
static inline struct cairn_heap_row *cairn_heap_state_row(const struct cairn_tracked_state *state,
                                                          uint32_t chunk)
{
    if (chunk < CAIRN_HEAP_TABLE_AT)
        return (struct cairn_heap_row *)(void *)((char *)state->header + CAIRN_HEAP_HEADER_BYTES) +
               chunk;
    uint32_t in_table = (chunk - CAIRN_HEAP_TABLE_AT) % CAIRN_HEAP_TABLE_ROWS;
    return (struct cairn_heap_row *)cairn_heap_state_at(state, chunk - in_table) + in_table;
}

static inline bool cairn_heap_state_has(const struct cairn_tracked_state *state, unsigned flag)
{
    return atomic_load_explicit(&state->header->flags, memory_order_relaxed) & flag;
}

/* One block that went wrong in that way. */
static inline void cairn_heap_state_lose(const struct cairn_tracked_state *state,
                                         enum cairn_heap_loss loss, uint64_t bytes)
{
    atomic_fetch_add_explicit(&state->header->loss_blocks[loss], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&state->header->loss_bytes[loss], bytes, memory_order_relaxed);
}

#endif /* CAIRN_HEAP_STATE_H */
