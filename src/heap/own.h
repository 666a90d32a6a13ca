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
#include "rt/thread.h"

enum { CAIRN_HEAP_FRAMES = 1024 };

struct cairn_heap;

enum cairn_heap_idle {
    CAIRN_HEAP_IDLE = 1,
    CAIRN_HEAP_IDLE_SAMPLES = 2 /* and only some blocks are recorded: track.c sees to that */
};

/* What is known of the stack up to a frame of the last capture. */
struct cairn_heap_frame {
    uint64_t hash;
    uint32_t number; /* 0: not known, or none */
    uint32_t base;   /* of a stack that is the same up to this frame, in whose own record the frame
                        lies; 0: not known */
};

struct cairn_heap_own {
    struct cairn_thread_head head;
    /* What the next thread takes over with the block. */
    struct cairn_heap *heap; /* whose `shared` is */
    struct cairn_heap_thread *shared;
    struct cairn_heap_header *header; /* the heap's */
    uint32_t mask;                    /* of deltas */
    uint32_t n_conflicts;             /* since they last grew */

    /* Of enum cairn_heap_idle: nothing is under way in this thread. Greater: the stack pointer of
     * what is, and this is a signal handler, or that was left by longjmp(3) out of one. 0: the
     * block is not set up, or a fork wiped it. */
    uintptr_t idle;
    uint32_t ready;      /* what idle is between two calls */
    uint32_t until_tick; /* allocations until the next look at the clock */
    uint64_t last_va;    /* the last block that was born here, until the next one is; 0: gone */
    int64_t live_step;   /* shared->live_bytes is handed in beyond this, either way */
    uint64_t generation; /* cairn_unload_generation that modules were looked at for */
    struct cairn_heap_sampler sampler;
    struct cairn_heap_frame frames[CAIRN_HEAP_FRAMES];
};

enum {
    CAIRN_HEAP_OWN_KEPT = offsetof(struct cairn_heap_own, idle) - sizeof(struct cairn_thread_head)
};

CAIRN_THREAD_BLOCK_ACCESS static inline bool cairn_heap_is_idle(const struct cairn_heap_own *own)
{
    return own->idle == CAIRN_HEAP_IDLE || own->idle == CAIRN_HEAP_IDLE_SAMPLES;
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

extern _Thread_local struct cairn_heap_own *cairn_heap_own
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

#endif /* CAIRN_HEAP_OWN_H */
