/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Start: how a process and each of its threads get what they need, at their first block: no
 * constructor is early enough. And how a child of fork notices that it is one.
 */
#ifndef CAIRN_HEAP_START_H
#define CAIRN_HEAP_START_H

#include "heap/count.h"

/* The calling thread's own, not idle: to be made idle when the call is done. NULL: it is within a
 * call (then *ret_heap is what may be written to without a lock), or nothing is recorded
 * (*ret_heap is NULL). `sp`: of the interposed function's frame, or its caller's. */
struct cairn_heap_own *cairn_heap_start_thread(struct cairn_tracked_heap **ret_heap, uintptr_t sp);

/* The same of a thread that most likely has it. */
CAIRN_THREAD_BLOCK_ACCESS static inline struct cairn_heap_own *
cairn_heap_call_begin(struct cairn_tracked_heap **ret_heap, uintptr_t sp)
{
    struct cairn_heap_own *own = cairn_heap_mine;
    if (!own || !cairn_heap_is_idle(own))
        return cairn_heap_start_thread(ret_heap, sp);
    own->idle = sp;
    atomic_signal_fence(memory_order_seq_cst);
    *ret_heap = own->heap;
    if (own->turn != cairn_heap_turn_of(&own->heap->state.header->turn))
        cairn_heap_count_look(own->heap, own);
    return own;
}

CAIRN_THREAD_BLOCK_ACCESS static inline void cairn_heap_call_end(struct cairn_heap_own *own)
{
    cairn_heap_leave_call(own, own->ready);
}

/* Nothing is recorded, now and later: of this process and its children. */
extern atomic_bool cairn_heap_off __attribute__((visibility("hidden")));

/* mmap(2) and its kin are recorded: as soon as settings were read, in children of fork too. */
extern bool cairn_heap_wants_mappings __attribute__((visibility("hidden")));

/* What the real malloc needs (shadow.h), before the first block; else 3. */
extern unsigned cairn_heap_granule_bits __attribute__((visibility("hidden")));

/* Nothing is recorded yet: what stands before libc's functions, TSan, cannot be called yet. */
extern bool cairn_heap_starts_later __attribute__((visibility("hidden")));

/* Records from now on, in the calling thread and in those that come, into a state as `settings`
 * ask; for tests. False: it cannot be. */
bool cairn_heap_start(const struct cairn_heap_settings *settings);

/* In a child of fork: forgets the parent's state, where the kernel has not wiped the way to it. A
 * new one is made with the next block. */
void cairn_heap_start_anew(void);
/* In a child of fork: `heap`, its parent's, is of a state of its own now. */
void cairn_heap_start_adopt(struct cairn_tracked_heap *heap);
/* The same as the first of them, where this is a child that nobody told so, on a kernel that wipes
 * nothing. Now and then: it asks the kernel. */
void cairn_heap_start_look(void);

/* The last state that there was: in a child of fork that has none yet its parent's. NULL: none. */
struct cairn_tracked_heap *cairn_heap_start_last(void);

/* Is this a child of vfork(2)? It has its parent's memory, and the state in it. False also where
 * there is no state. */
bool cairn_heap_start_is_lent(void);

/* The state of this process, NULL: none. */
struct cairn_tracked_heap *cairn_heap_present(void);

#endif /* CAIRN_HEAP_START_H */
