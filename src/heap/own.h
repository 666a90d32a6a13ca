/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Own: what a thread keeps for itself between two calls of malloc: its deltas, and what it knows of
 * the frames of its last capture (unwind/local.h), by their place counted from the outermost.
 */
#ifndef CAIRN_HEAP_OWN_H
#define CAIRN_HEAP_OWN_H

#include "heap/sample.h"
#include "rt/heap_state.h"
#include "rt/mine.h"
#include "rt/thread.h"

enum {
    CAIRN_HEAP_FRAMES = 1024,
    CAIRN_HEAP_RECENT = 1 << 12, /* 32 KiB */
    CAIRN_HEAP_CALLERS = 1 << 10 /* 16 KiB */
};

/* A caller of an allocation function, and the number that its blocks get where no stack is taken.
 */
struct cairn_heap_caller_seen {
    uint64_t key; /* of the return address and cairn_unload_generation; 0: unused */
    uint32_t number;
};

struct cairn_tracked_heap;

enum {
    CAIRN_HEAP_IDLE_SAMPLES = 2, /* only some blocks are recorded: track.c sees to that */
    CAIRN_HEAP_IDLE_MASK = 3     /* of no stack pointer any is set */
};

struct cairn_heap_own {
    struct cairn_thread_head head;
    /* What the next thread takes over with the block. */
    struct cairn_tracked_heap *heap; /* whose `shared` is */
    struct cairn_heap_thread *shared;
    uint32_t mask;        /* of deltas */
    uint32_t n_conflicts; /* since they last grew */

    /* Nothing is under way in this thread: the header's turn that what follows is of, odd, or
     * CAIRN_HEAP_IDLE_SAMPLES. Else the stack pointer of what is, and this is a signal handler, or
     * that was left by longjmp(3) out of one. 0: the block is not set up, or a fork wiped it. */
    uintptr_t idle;
    uint32_t ready;      /* what idle is between two calls */
    uint32_t until_tick; /* allocations until the next look at the clock */
    /* ~va of the last block that was born here, until the next one is; 0: gone. Not the address
     * itself: whoever looks for lost blocks would take it for a pointer. */
    uint64_t last_va;
    int64_t live_step;  /* shared->live_bytes is handed in beyond this, */
    int64_t live_least; /* or below (rt/heap_state.h: cairn_heap_held_up()) */
    uint64_t one;       /* cairn_heap_counted(1, 0): where it is a number, it takes a register */
    /* Of the header, as of its turn. */
    uint32_t turn;
    uint64_t key;                         /* of a delta, without the stack */
    uint64_t bases[CAIRN_HEAP_KIND_MMAP]; /* of entries, by kind */
    bool stacks_on;

    uintptr_t ret, fp;   /* of the caller whose stack is asked for; its sp is `idle` */
    uint64_t generation; /* cairn_unload_generation that modules were looked at for */
    uint32_t outside;    /* the last look of heap/empty at which no call was under way in it */
    struct cairn_heap_sampler sampler;
    /* Of the last capture's stack: its frames if it is the same again, as struct cairn_local_again
     * has them, 0: it has no number; and that. */
    uint64_t same;
    uint32_t last;
    /* Of the stack up to each of its frames the hash; and to each of the outermost `n_bases` a
     * stack that is the same up to there, in whose own record the frame lies. */
    uint32_t n_bases;
    uint64_t hashes[CAIRN_HEAP_FRAMES];
    uint32_t base_of[CAIRN_HEAP_FRAMES];
    /* Words of the table of stacks (heap/stacks.h) that were found last, by the hash's lowest bits:
     * of a large program's stacks few are asked for most of the time, but in the table each of them
     * has a cache line of its own. */
    uint64_t recent[CAIRN_HEAP_RECENT];
    struct cairn_heap_caller_seen callers[CAIRN_HEAP_CALLERS]; /* by the return address */
};

enum {
    CAIRN_HEAP_OWN_KEPT = offsetof(struct cairn_heap_own, idle) - sizeof(struct cairn_thread_head)
};

CAIRN_THREAD_BLOCK_ACCESS static inline bool cairn_heap_is_idle(const struct cairn_heap_own *own)
{
    return own->idle & CAIRN_HEAP_IDLE_MASK;
}

/* About where the calling function's frame is; none is below it. */
__attribute__((always_inline)) static inline uintptr_t cairn_heap_sp(void)
{
    uintptr_t sp;
#if defined(__x86_64__)
    __asm__ volatile("mov %%rsp, %0" : "=r"(sp));
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ volatile("mov %0, sp" : "=r"(sp));
#else
    sp = (uintptr_t)__builtin_frame_address(0);
#endif
    return sp;
}

/* From now on this thread is within a call, whose frame is about here. */
CAIRN_THREAD_BLOCK_ACCESS __attribute__((always_inline)) static inline void
cairn_heap_enter(struct cairn_heap_own *own)
{
#ifdef __x86_64__
    __asm__ volatile("mov %%rsp, %0" : "=m"(own->idle));
#else
    own->idle = cairn_heap_sp();
#endif
    atomic_signal_fence(memory_order_seq_cst);
}

/* And not any more. `ready`: own->ready, for who has it at hand. */
CAIRN_THREAD_BLOCK_ACCESS __attribute__((always_inline)) static inline void
cairn_heap_leave_call(struct cairn_heap_own *own, uintptr_t ready)
{
    atomic_signal_fence(memory_order_seq_cst);
    own->idle = ready;
}

/* All threads' own. */
extern struct cairn_thread_blocks cairn_heap_threads __attribute__((visibility("hidden")));

/* Of a thread that has none: it is never idle. */
extern struct cairn_heap_own cairn_heap_nobody __attribute__((visibility("hidden")));

/* The calling thread's; NULL: it has none yet. And the same for who does not ask for that: where it
 * has none, one that is never idle. And the stack pointer of the call that has this thread make the
 * state, or wait for it; 0: none. */
#ifdef CAIRN_NO_TLS
static inline struct cairn_heap_own *cairn_heap_own_or_nobody(struct cairn_heap_own *own)
{
    return __builtin_expect(own != NULL, 1) ? own : &cairn_heap_nobody;
}

static inline void cairn_heap_set_own(struct cairn_heap_own *own)
{
    cairn_mine()->heap_own = own;
}
#define cairn_heap_mine        (cairn_mine()->heap_own)
#define cairn_heap_hot         cairn_heap_own_or_nobody(cairn_mine()->heap_own)
#define cairn_heap_starting_at (cairn_mine()->starting_at)
#define cairn_heap_disabled    0u
#else
extern _Thread_local struct cairn_heap_own *cairn_heap_mine
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
extern _Thread_local struct cairn_heap_own *cairn_heap_hot
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
extern _Thread_local uintptr_t cairn_heap_starting_at
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
/* How many scopes of __lsan_disable() the calling thread is in: lsan.c. Not among what a fork
 * wipes. */
extern _Thread_local uint32_t cairn_heap_disabled
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
void cairn_heap_set_own(struct cairn_heap_own *own);
#endif

#endif /* CAIRN_HEAP_OWN_H */
