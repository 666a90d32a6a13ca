/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Local fast: the walk that remembers. What it cannot do (signal frames, rules that need more
 * registers than two, gaps) it leaves to local_slow.h, from the frame on where it stopped.
 *
 *  1. Where the last walk has a frame with the same sp, pc and, if it matters, fp, the words that
 * the rest of it read are compared, from the inner frame outwards; all equal: it is the same stack.
 *  2. Where one is another return address, but with the same rule, the frame is laid out as before
 *     and the next word is where it was: all that changes is the address.
 *  3. Else the walk goes on from there, frame by frame, until it meets the last one again. At the
 *     next capture it is compared only from where it met it.
 *  4. Where it can go no farther, the slow walk finds the rest, each time anew.
 */
#ifndef CAIRN_UNWIND_LOCAL_FAST_H
#define CAIRN_UNWIND_LOCAL_FAST_H

#include "unwind/local_state.h"

/* A frame's registers at the return address into it. */
struct cairn_local_regs {
    uintptr_t ret, sp, fp;
};

struct cairn_local_result {
    uint32_t n;         /* frames, as many as there are, or as there is room for */
    uint32_t n_rest;    /* the outermost of them, that the slow walk found: state->rest_how[1]... */
    uint32_t n_guessed; /* of these */
    uint8_t end;        /* enum cairn_unwind_end */
};

enum cairn_local_fast {
    CAIRN_LOCAL_FAST_NOT,  /* not one of the walks that it can do; the state is void */
    CAIRN_LOCAL_FAST_DONE, /* the stack is state->frames from state->hot.top on */
    CAIRN_LOCAL_FAST_REST  /* the slow walk is to go on: see below */
};

/* `ret_result`, which was zero, says how many frames there are; their addresses are in the caller's
 * `ips`, room for `max`; NULL: not. About 2.5 ns a new frame, half a nanosecond an old one. */
enum cairn_local_fast cairn_local_fast_walk(struct cairn_local_state *state,
                                            const struct cairn_local_regs *regs, uintptr_t *ips,
                                            size_t max, struct cairn_local_result *ret_result);

/* Fills state->rest_start and ->rest for the slow walk. False: it must begin where the fast one
 * did; the state is void. */
bool cairn_local_fast_rest(struct cairn_local_state *state);

/* Puts state->rest to it. */
enum cairn_local_fast cairn_local_fast_finish(struct cairn_local_state *state, uintptr_t *ips,
                                              struct cairn_local_result *ret_result);

#endif /* CAIRN_UNWIND_LOCAL_FAST_H */
