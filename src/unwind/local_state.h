/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Local state: what a thread keeps between its captures, on pages of its own: the last walk.
 *
 *     place      0 ........ top .......................... rest ......... CAIRN_LOCAL_FRAMES
 *                  free     | innermost: can be proven again | walked anew |
 *
 * The outermost frame is always at the last place, so that new frames are put before the old ones,
 * and a frame that stays keeps its place. An unwind is a function of the words of the stack that it
 * reads: while those are the same, so is the rest of the walk. Which words these are:
 *
 *     of each frame but the innermost: the return address, at the frame's slot
 *     where the frame is CHAINED: the frame pointer that lies below it
 *     words[]: what else was read on the way from frame to frame: frame pointers that were saved
 *              elsewhere and that a frame farther out needs; the CFA that a realigned frame kept
 *
 * The rest begins behind a frame that only the walk of local_slow.h gets beyond: a signal frame, a
 * row of CFI, a gap, another stack. It begins nowhere (rest: CAIRN_LOCAL_FRAMES) if there is none.
 */
#ifndef CAIRN_UNWIND_LOCAL_STATE_H
#define CAIRN_UNWIND_LOCAL_STATE_H

#include <cairn/unwind.h>

#include "rt/mine.h"
#include "rt/thread.h"
#include "unwind/local.h"
#include "unwind/local_memo.h"
#include "unwind/local_slow.h"
#include "unwind/local_stack.h"
#include "unwind/rule.h"
#include "unwind/unload.h"

enum {
    CAIRN_LOCAL_SPARE = 128, /* so that a stack that grows beyond does not move at each capture */
    CAIRN_LOCAL_FRAMES = CAIRN_MAX_FRAMES + CAIRN_LOCAL_SPARE,
    CAIRN_LOCAL_WORDS = 1024
};

/* What else the way outwards hangs on. In the low bits of a frame's slot: */
enum cairn_local_asks {
    CAIRN_LOCAL_CHAINED = 1,   /* its frame pointer is saved in the word right below its return
                                  address, and points right below that of the next frame */
    CAIRN_LOCAL_HAS_WORDS = 2, /* the step from it to its caller read what is in words[] */
    CAIRN_LOCAL_ASKS = 3
};
/* Above a frame's rule: its frame pointer. */
enum { CAIRN_LOCAL_NEEDS_FP = 1 << CAIRN_RULE_BITS };

/* Is anything to be walked behind the frame before `rest`? */
enum cairn_local_open {
    CAIRN_LOCAL_CLOSED,  /* no: it is the outermost one */
    CAIRN_LOCAL_STOPPED, /* yes, by the slow walk */
    CAIRN_LOCAL_CUT      /* yes, if it were not too far out */
};

/* What is seldom asked of a frame. */
struct cairn_local_aside {
    uintptr_t
        fp; /* its frame pointer, where it is NEEDS_FP; of a new one, where the rule is rare */
    uintptr_t sp; /* its stack pointer, on CPUs where the slot does not tell it */
};

struct cairn_local_word {
    uintptr_t slot, value;
    uintptr_t place; /* of the frame whose step to its caller read it */
};

/* A walk on its way; see local_walk.h. */
struct cairn_local_walk {
    struct cairn_local_state *state;
    uintptr_t ret, sp; /* where it stands */
    uintptr_t slot;    /* where `ret` lies, on CPUs where `sp` does not tell it */
    uintptr_t fp_slot; /* va where the frame pointer is saved; 0: it is `fp` */
    uintptr_t fp;
    uint32_t n;       /* news */
    uint32_t has_odd; /* one of them needs more than its return address */
    uint32_t ends;    /* with a return address of 0, which its last frame read */
    uint32_t place;   /* of the last walk: the innermost frame that may still be met */
    uint32_t rest;    /* of the last walk: as in the state */
    uint32_t limit;   /* of news: then `ips` is full, or they are as many as a walk may have */
    uint32_t max;     /* addresses that there is room for at `ips` */
    uintptr_t *ips;   /* the caller's room, with all addresses up to where it stands; or NULL */
    uint32_t joins;   /* it met the last walk, at `place` */
    enum cairn_local_open open; /* behind its last frame, or the last walk's */
};

/* What every capture looks at. In a capture with cold caches it is the pages that cost. */
struct cairn_local_hot {
    uintptr_t busy;      /* the stack pointer of the capture that runs; 0: none */
    uint64_t generation; /* of the last walk; 0 in a block that was wiped by fork(2) */
    uintptr_t base;      /* what slots are counted from, a page; all that is known of the stack lies
                            behind it, less than 4 GiB */
    uint32_t top, rest, n_words;
    uint32_t is_open;   /* enum cairn_local_open */
    uint32_t kept_from; /* from here on outwards the caller's words hold */
    /* Of the last capture, if it was the same as some before: its stack pointer; the place from
     * where on its slots are on another page; and what is given of it. Else 0. */
    uint32_t same_page;
    uintptr_t same_sp;
    uint64_t same;
    uint32_t n_same;   /* captures in a row */
    uint32_t kept_end; /* the place behind the outermost frame that the caller was given */
    struct cairn_local_stack stack;
    uint32_t anchor;
    uintptr_t ret;     /* where the capture that runs goes on; its stack pointer is `busy` */
    uint32_t moved_to; /* from here on outwards all was at the same calls, last time */
    uint32_t odd; /* the innermost frame that ASKS for more than its return address; N: none does */
};
_Static_assert(offsetof(struct cairn_local_hot, n_same) <= 64, "one line is all that is asked for");

struct cairn_local_state {
    struct cairn_thread_head head;
    /* Frames that were walked just now, innermost first; and of the rest, which begins with the
     * frame before it. */
    struct cairn_local_frame news[CAIRN_MAX_FRAMES];
    struct cairn_local_aside new_asides[CAIRN_MAX_FRAMES];
    uintptr_t rest_ips[CAIRN_MAX_FRAMES];
    uint8_t rest_how[CAIRN_MAX_FRAMES];
    /* To be finished, here because a signal handler's stack is small. */
    struct cairn_local_walk walk;
    struct cairn_local_start rest_start;
    struct cairn_local_out rest;
    struct cairn_local_memo memo; /* of the rest */
    /* One more than there are, for who looks before it asks; and on one page the outermost 128
     * frames, what is hot, and the first words. */
    struct cairn_local_aside asides[CAIRN_LOCAL_FRAMES + 1];
    _Alignas(CAIRN_LOCAL_PAGE) struct cairn_local_frame frames[CAIRN_LOCAL_FRAMES + 4];
    _Alignas(64) struct cairn_local_hot hot;
    struct cairn_local_word words[CAIRN_LOCAL_WORDS]; /* outermost first */
};

/* Initial-exec, for the general way calls malloc at a thread's first access; and small, so that a
 * library which is loaded late still finds room in the static block. */
struct cairn_local_claim {
    struct cairn_local_state *state;
    uint64_t owner; /* what its head says while it is ours */
};
#ifdef CAIRN_NO_TLS
#define cairn_local_mine (cairn_mine()->walk)
#else
extern _Thread_local struct cairn_local_claim cairn_local_mine
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
#endif

/* Forgets the last walk. The next one is near `sp`. */
CAIRN_THREAD_BLOCK_ACCESS static inline void cairn_local_state_void(struct cairn_local_state *state,
                                                                    uintptr_t sp)
{
    struct cairn_local_hot *hot = &state->hot;
    hot->top = hot->anchor = hot->rest = hot->kept_from = hot->kept_end = CAIRN_LOCAL_FRAMES;
    hot->odd = CAIRN_LOCAL_FRAMES;
    hot->n_words = hot->is_open = hot->n_same = hot->moved_to = 0;
    hot->same_sp = 0;
    hot->base = (sp - ((uintptr_t)1 << 31)) & ~(uintptr_t)(CAIRN_LOCAL_PAGE - 1);
}

/* Is there nothing out of the ordinary? */
CAIRN_THREAD_BLOCK_ACCESS static inline bool
cairn_local_state_is_ready(const struct cairn_local_state *state)
{
    return state && !state->hot.busy &&
           state->hot.generation ==
               atomic_load_explicit(&cairn_unload_generation, memory_order_relaxed);
}

CAIRN_THREAD_BLOCK_ACCESS static inline void cairn_local_state_take(struct cairn_local_state *state,
                                                                    uintptr_t sp)
{
    state->hot.busy = sp;
    atomic_signal_fence(memory_order_seq_cst);
    state->hot.same_sp = 0; /* until it is known of this one */
}

/* As below, where anything is. */
struct cairn_local_state *cairn_local_state_enter_slowly(uintptr_t sp);

/* The calling thread's state, marked as busy since a capture whose caller has the stack pointer
 * `sp`; to be given back by cairn_local_state_leave(). NULL: it is busy already (a signal came
 * within a capture), or there is no memory. */
CAIRN_THREAD_BLOCK_ACCESS static inline struct cairn_local_state *
cairn_local_state_enter(uintptr_t sp)
{
    struct cairn_local_state *state = cairn_local_mine.state;
    if (__builtin_expect(!cairn_local_state_is_ready(state), 0))
        return cairn_local_state_enter_slowly(sp);
    cairn_local_state_take(state, sp);
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
