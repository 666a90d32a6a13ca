/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Heap: all that the tracker has of this process, and where it is found: by a pointer that reads
 * NULL in a child of fork, however that was made, so that the child makes a state of its own
 * instead of writing into its parent's.
 */
#ifndef CAIRN_HEAP_HEAP_H
#define CAIRN_HEAP_HEAP_H

#include "heap/empty.h"
#include "heap/large.h"
#include "heap/maps.h"
#include "heap/own.h"
#include "heap/shadow.h"
#include "heap/stacks.h"

enum {
    CAIRN_HEAP_STRIPES = 64,
    CAIRN_HEAP_LARGEST_PAGE = 1 << 16,
    CAIRN_HEAP_EPOCHS_A_CHUNK = CAIRN_HEAP_CHUNK / (int)sizeof(struct cairn_heap_epoch),
    CAIRN_HEAP_EPOCH_CHUNKS = CAIRN_HEAP_MAX_EPOCHS / CAIRN_HEAP_EPOCHS_A_CHUNK
};

/* What was asked for. */
struct cairn_heap_settings {
    char dir[CAIRN_HEAP_PATH];
    uint64_t max_bytes, sample_bytes;
    _Atomic(uint32_t) depth; /* may be changed while it records: track.h */
    unsigned granule_bits;
    bool no_stacks, mappings, fork_copy;
    bool own_dir;    /* nobody said where: then nobody else clears up (tidy.h) */
    uint32_t parent; /* whose child this is, by fork; 0 */
    int fd_plus_1;   /* the state's file is there already: its descriptor + 1; 0: it is not */
};

struct cairn_tracked_heap {
    struct cairn_heap_settings settings;
    struct cairn_tracked_state state;
    struct cairn_heap_stacks stacks;
    struct cairn_heap_modules modules;
    struct cairn_heap_large_table large;
    struct cairn_heap_maps maps;
    struct cairn_lock stripes[CAIRN_HEAP_STRIPES]; /* of stacks' counts, by their numbers */
    _Atomic(struct cairn_heap_epoch *) epochs[CAIRN_HEAP_EPOCH_CHUNKS];
    struct cairn_lock epoch_lock; /* of who makes chunks of epochs */
    _Atomic(int64_t) mark_bytes;  /* the header's live_bytes at the last high-water mark */
    struct cairn_heap_shadow shadow;
    struct cairn_heap_empty empty;
    _Atomic(uint32_t) older; /* the stack of blocks from before (heap/late_older.h); 0: none yet */
};

/* Makes a state as `settings` ask, on pages of its own. NULL: it cannot be. */
struct cairn_tracked_heap *cairn_heap_new(const struct cairn_heap_settings *settings);
/* Forgets one, in a child of fork, and gives its pages back. The file stays. */
void cairn_heap_leave(struct cairn_tracked_heap *heap);

/* For each lock of it, that of its state last: who holds one of the others may wait for that. */
void cairn_heap_each_lock(struct cairn_tracked_heap *heap, void (*what)(struct cairn_lock *lock));

/* Where it is found; a page of its own. */
struct cairn_heap_root {
    _Atomic(struct cairn_tracked_heap *) heap;
    uint8_t unused[CAIRN_HEAP_LARGEST_PAGE - sizeof(void *)];
};
extern struct cairn_heap_root cairn_heap_root __attribute__((visibility("hidden")));

/* The turn in the header of the state: to be held against what a thread has of it. Never NULL, and
 * no page that is wiped: what it is compared with is. */
extern _Atomic(_Atomic(uint32_t) *) cairn_heap_turn __attribute__((visibility("hidden")));
/* NULL: that of no state. */
void cairn_heap_set_turn(struct cairn_tracked_heap *heap);

/* Another one for all threads, since what they have of the header is void. */
static inline void cairn_heap_next_turn(struct cairn_heap_header *header)
{
    atomic_fetch_add(&header->turn, CAIRN_HEAP_NEXT_TURN);
}

/* The program may have scribbled over it: so it is never what idle is in a block that is not set
 * up. */
static inline uint32_t cairn_heap_turn_of(_Atomic(uint32_t) *turn)
{
    return atomic_load_explicit(turn, memory_order_relaxed) | 1;
}

#endif /* CAIRN_HEAP_HEAP_H */
