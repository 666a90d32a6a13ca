/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Local state: what a thread keeps between its captures, on pages of its own: the last walk.
 *
 *     place      0 ........ top .................. CAIRN_LOCAL_FRAMES
 *                  free     | innermost ... outermost |
 *
 * The outermost frame is always at the last place, so that new frames are put before the old ones,
 * and a frame that stays keeps its place. An unwind is a function of the words of the stack that it
 * reads: while those are the same, so is the rest of the walk. Which words these are:
 *
 *     of each frame but the innermost: the return address, where its callee's frame says
 *     words[]: what else was read on the way from frame to frame: the frame pointer that was saved,
 *              where a frame farther out needs it; the CFA that a realigned frame kept
 */
#ifndef CAIRN_UNWIND_LOCAL_STATE_H
#define CAIRN_UNWIND_LOCAL_STATE_H

#include "rt/thread.h"
#include "unwind/local_stack.h"

enum { CAIRN_LOCAL_FRAMES = 1024, CAIRN_LOCAL_WORDS = 1024 };

struct cairn_local_word {
    uintptr_t slot, value;
    uintptr_t place; /* of the frame whose step to its caller read it */
};

struct cairn_local_frame {
    uintptr_t fp; /* in this frame; only where needs_fp */
    uint32_t rule;
    uint16_t n_words; /* of words[]: those read from this frame on outwards */
    bool needs_fp;    /* the way outwards depends on the frame pointer that this frame has */
};

/* A frame that was walked just now, innermost first. */
struct cairn_local_new {
    uintptr_t ret, sp;
    uintptr_t fp_slot; /* va where its frame pointer is saved; 0: still in the register */
    uint32_t rule;
};

struct cairn_local_state {
    struct cairn_thread_head head;
    uintptr_t busy; /* the stack pointer of the capture that runs; 0: none */
    uint64_t generation;
    struct cairn_local_stack stack;
    uint32_t top, anchor, n_words;
    uintptr_t rets[CAIRN_LOCAL_FRAMES]; /* code that the frames return to */
    uintptr_t sps[CAIRN_LOCAL_FRAMES];  /* the stack pointer there */
    struct cairn_local_frame frames[CAIRN_LOCAL_FRAMES];
    struct cairn_local_word words[CAIRN_LOCAL_WORDS]; /* outermost first */
    struct cairn_local_new news[CAIRN_LOCAL_FRAMES];
};

/* Forgets the last walk. */
static inline void cairn_local_state_void(struct cairn_local_state *state)
{
    state->top = state->anchor = CAIRN_LOCAL_FRAMES;
    state->n_words = 0;
}

/* The calling thread's state, marked as busy since a capture whose caller has the stack pointer
 * `sp`; to be given back by cairn_local_state_leave(). NULL: it is busy already (a signal came
 * within a capture), or there is no memory. */
struct cairn_local_state *cairn_local_state_enter(uintptr_t sp);

static inline void cairn_local_state_leave(struct cairn_local_state *state)
{
    atomic_signal_fence(memory_order_seq_cst);
    state->busy = 0;
}

/* Threads' states that there are, for tests. */
uint32_t cairn_local_state_count(void);

#endif /* CAIRN_UNWIND_LOCAL_STATE_H */
