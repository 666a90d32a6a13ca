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
#include "unwind/local.h"
#include "unwind/local_stack.h"
#include "unwind/unload.h"

enum { CAIRN_LOCAL_FRAMES = 1024, CAIRN_LOCAL_WORDS = 1024 };

struct cairn_local_word {
    uintptr_t slot, value;
    uintptr_t place; /* of the frame whose step to its caller read it */
};

/* What every capture looks at: at the end of the block, so that it shares a page with the outermost
 * frames. In a capture with cold caches it is the pages that cost. */
struct cairn_local_hot {
    uintptr_t busy;      /* the stack pointer of the capture that runs; 0: none */
    uint64_t generation; /* of the last walk; 0 in a block that was wiped by fork(2) */
    struct cairn_local_stack stack;
    uint32_t top, anchor, n_words;
};

enum {
    CAIRN_LOCAL_LARGE = CAIRN_LOCAL_FRAMES * 2 * sizeof(struct cairn_local_frame) +
                        CAIRN_LOCAL_WORDS * sizeof(struct cairn_local_word),
    CAIRN_LOCAL_SMALL = sizeof(struct cairn_thread_head) + sizeof(struct cairn_local_hot)
};

struct cairn_local_state {
    struct cairn_thread_head head;
    uint8_t unused[CAIRN_LOCAL_PAGE - (CAIRN_LOCAL_LARGE + CAIRN_LOCAL_SMALL) % CAIRN_LOCAL_PAGE];
    /* Frames that were walked just now, innermost first; their `fp` is the va where the frame
     * pointer is saved, 0: it is in the register still. */
    struct cairn_local_frame news[CAIRN_LOCAL_FRAMES];
    struct cairn_local_word words[CAIRN_LOCAL_WORDS]; /* outermost first */
    struct cairn_local_frame frames[CAIRN_LOCAL_FRAMES];
    struct cairn_local_hot hot;
};
_Static_assert(sizeof(struct cairn_local_state) % CAIRN_LOCAL_PAGE == 0, "hot is at a page's end");

/* Initial-exec, for the general way calls malloc at a thread's first access; and small, so that a
 * library which is loaded late still finds room in the static block. */
struct cairn_local_mine {
    struct cairn_local_state *state;
    uint64_t owner; /* what its head says while it is ours */
};
extern _Thread_local struct cairn_local_mine cairn_local_mine
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Forgets the last walk. */
CAIRN_THREAD_BLOCK_ACCESS static inline void cairn_local_state_void(struct cairn_local_state *state)
{
    state->hot.top = state->hot.anchor = CAIRN_LOCAL_FRAMES;
    state->hot.n_words = 0;
}

/* As below, where anything is out of the ordinary. */
struct cairn_local_state *cairn_local_state_enter_slowly(uintptr_t sp);

/* The calling thread's state, marked as busy since a capture whose caller has the stack pointer
 * `sp`; to be given back by cairn_local_state_leave(). NULL: it is busy already (a signal came
 * within a capture), or there is no memory. */
CAIRN_THREAD_BLOCK_ACCESS static inline struct cairn_local_state *
cairn_local_state_enter(uintptr_t sp)
{
    struct cairn_local_state *state = cairn_local_mine.state;
    if (__builtin_expect(!state || state->hot.busy ||
                             state->hot.generation != atomic_load_explicit(&cairn_unload_generation,
                                                                           memory_order_relaxed),
                         0))
        return cairn_local_state_enter_slowly(sp);
    state->hot.busy = sp;
    atomic_signal_fence(memory_order_seq_cst);
    return state;
}

CAIRN_THREAD_BLOCK_ACCESS static inline void
cairn_local_state_leave(struct cairn_local_state *state)
{
    atomic_signal_fence(memory_order_seq_cst);
    state->hot.busy = 0;
}

/* Threads' states that there are, for tests. */
uint32_t cairn_local_state_count(void);

#endif /* CAIRN_UNWIND_LOCAL_STATE_H */
