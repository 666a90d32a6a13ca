/* SPDX-License-Identifier: MIT */
/*
 * Resting: the coroutines of a space that no thread runs. They are in no list that can be followed
 * while the process goes on, so its heap is searched for what each state holds: a type, and
 * pointers that lead to its globals and back. Nobody is stopped.
 */
#ifndef CAIRN_TARGET_RESTING_H
#define CAIRN_TARGET_RESTING_H

#include "target/guests.h"

/* Frames that one search reads, so that memory which looks like endless states ends it. */
enum { CAIRN_RESTING_FRAMES_MAX = 64 << 20 };

struct cairn_target_resting {
    uint64_t n_bytes;  /* that were searched */
    uint64_t n_unread; /* bytes of the heap that could not be read */
    uint64_t n_moving; /* states that changed each time they were read */
    bool is_cut;       /* the search ended early: CAIRN_RESTING_FRAMES_MAX */
};

/* Of the state and its frames in guests->result, without names; `key` is that of all coroutines
 * with equal frames. A negative code ends the search. */
typedef int (*cairn_target_resting_fn)(void *ctx, struct cairn_target_guests *guests, uint64_t key);

/* Calls `fn` for each coroutine. Process and core file; for another kind of space it finds none.
 * CAIRN_E_NOMEM. */
int cairn_target_guests_find_resting(struct cairn_target_guests *guests, cairn_target_resting_fn fn,
                                     void *ctx, struct cairn_target_resting *ret_resting);

#endif /* CAIRN_TARGET_RESTING_H */
