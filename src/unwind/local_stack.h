/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Local stack: the part of a stack that is known to be readable, in one piece. Every page was asked
 * for once (rt/self.h) before it was read; a stack that is another one begins a new piece.
 */
#ifndef CAIRN_UNWIND_LOCAL_STACK_H
#define CAIRN_UNWIND_LOCAL_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CAIRN_LOCAL_PAGE = 4096,         /* the smallest there is: what is asked for at once */
    CAIRN_LOCAL_REACH_PAGES = 16384, /* 64 MiB, of all frames: each page costs a system call, and
                                        a stack that lies may lead from one end of memory to the
                                        other */
    CAIRN_LOCAL_GROW_PAGES = 256 /* 1 MiB: that the stack grows between two captures, at most, to
                                    be known for the same one without a new beginning */
};

struct cairn_local_stack {
    uintptr_t low, high; /* vas; equal: nothing is known */
};

/* Makes `sp` the inner end. False: it is another stack than before, or the first one. `sp` itself
 * need not be readable afterwards: reach() tells. */
bool cairn_local_stack_enter(struct cairn_local_stack *stack, uintptr_t sp);

/* Are two vas of one piece of readable memory, as a stack may grow between two captures? Of `from`,
 * the lower one, and `to`. Asks for each page. */
bool cairn_local_stack_spans(uintptr_t from, uintptr_t to);

/* Is all up to `end` readable? */
bool cairn_local_stack_reach(struct cairn_local_stack *stack, uintptr_t end);

#endif /* CAIRN_UNWIND_LOCAL_STACK_H */
