/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Local slow: the walk that can do everything and remembers nothing: signal frames, alternate
 * stacks, rules that need all registers, code without rules. It needs no state, so that it also
 * serves in a signal handler that interrupted a capture.
 */
#ifndef CAIRN_UNWIND_LOCAL_SLOW_H
#define CAIRN_UNWIND_LOCAL_SLOW_H

#include <stddef.h>

#include "unwind/arch.h"

/* Where it begins: with all registers of a signal's context, or, where that is NULL, with a frame
 * that called this library. What other registers it had is found by walking through our own frames.
 */
struct cairn_local_start {
    const void *ucontext;
    uintptr_t ret, sp, fp; /* as cairn_local_here() has them */
};

struct cairn_local_out {
    uintptr_t *ips;
    uint8_t *how; /* or NULL */
    size_t max;
    size_t n;
    int end; /* enum cairn_unwind_end */
    uint32_t n_guessed;
    uintptr_t end_sp, end_fp; /* of the last frame; 0: unknown */
};

/* The caller of the frame that a context is of, for who goes on by another walk: `ret_caller`, and
 * the address of that frame itself. False: it was not found by a rule alone. */
bool cairn_local_slow_leaf(const void *ucontext, uintptr_t *ret_ip,
                           struct cairn_local_start *ret_caller);

void cairn_local_slow_walk(const struct cairn_local_start *start, struct cairn_local_out *out);

#endif /* CAIRN_UNWIND_LOCAL_SLOW_H */
