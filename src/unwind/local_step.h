/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Local step: from one frame of the own thread's stack to its caller's, by whatever way there is: a
 * rule, a row of CFI, the kernel's signal frame, the code itself, a frame pointer. What it gets of
 * the stack it reads with care, for the way may have been wrong.
 */
#ifndef CAIRN_UNWIND_LOCAL_STEP_H
#define CAIRN_UNWIND_LOCAL_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/arch.h"
#include "unwind/local_stack.h"

/* A walk, at one of its frames. */
struct cairn_local_slow_walk {
    struct cairn_unwind_regs regs;
    bool is_exact; /* ip is not a return address */
    bool is_whole; /* all registers are followed, by rows instead of rules */
    uint8_t n_descents;
    uint8_t n_by_code;
    uint8_t how;       /* the frame at `regs` was found */
    uint16_t n_exact;  /* the last exact frame, counted from 1; 0: none */
    uint16_t followed; /* the one whose rule is not asked */
    struct cairn_local_stack stack;
};

/* To the caller of frame `n`, counted from 1. */
enum cairn_arch_step cairn_local_step(struct cairn_local_slow_walk *w, size_t n);

/* By the frame's rule, or by all that CFI says of it; never to a stack that lies below. */
enum cairn_arch_step cairn_local_step_by_rule(struct cairn_local_slow_walk *w);
enum cairn_arch_step cairn_local_step_by_row(struct cairn_local_slow_walk *w);

/* Why a walk ends where `step` is what its last frame gave: enum cairn_unwind_end. */
int cairn_local_end_of(const struct cairn_local_slow_walk *w, enum cairn_arch_step step);

/* How a frame was found by a rule of this kind: enum cairn_frame_how. */
uint8_t cairn_local_how_by(unsigned kind);

#endif /* CAIRN_UNWIND_LOCAL_STEP_H */
