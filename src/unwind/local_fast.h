/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Local fast: the walk that remembers. What it cannot do (signal frames, rules that need more
 * registers than two, gaps) it leaves to local_slow.h, and forgets.
 *
 *  1. Where the last walk has a frame with the same sp, pc and, if it matters, fp, the words that
 * the rest of it read are compared, from the inner frame outwards; all equal: it is the same stack.
 *  2. Where one is another return address, but with the same rule, the frame is laid out as before
 *     and the next word is where it was: all that changes is the address.
 *  3. Else the walk goes on from there, frame by frame, until it meets the last one again. At the
 *     next capture it is compared only from where it met it.
 */
#ifndef CAIRN_UNWIND_LOCAL_FAST_H
#define CAIRN_UNWIND_LOCAL_FAST_H

#include "unwind/local_state.h"

/* A frame's registers at the return address into it. */
struct cairn_local_regs {
    uintptr_t ret, sp, fp;
};

struct cairn_local_result {
    uint32_t n_copied; /* of the outer frames' addresses: they are in the caller's room already */
    uint32_t n_shared; /* outer frames that are those of the capture before */
    uint8_t end;       /* enum cairn_unwind_end */
};

/* False: not one of the walks that it can do; the state is void then. Else the stack is
 * state->frames from state->hot.top on. Addresses that are compared are copied on the way, into the
 * caller's `ips`, room for `max`, where they will be; NULL: not. About 2.5 ns a new frame, half a
 * nanosecond an old one. */
bool cairn_local_fast_walk(struct cairn_local_state *state, const struct cairn_local_regs *regs,
                           uintptr_t *ips, size_t max, struct cairn_local_result *ret_result);

#endif /* CAIRN_UNWIND_LOCAL_FAST_H */
