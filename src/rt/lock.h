/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Lock: mutual exclusion where the C library's may not be used. Whoever has to wait sleeps in
 * futex(2), so that threads of any priority get on. Not recursive: who may be interrupted by a
 * signal handler that wants the same lock must know that it holds it. All zero: free.
 *
 * A thread that has a number leaves it in the locks that it holds, so that it can free those which
 * it left behind: by longjmp(3) out of a signal handler.
 */
#ifndef CAIRN_RT_LOCK_H
#define CAIRN_RT_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "rt/mine.h"

struct cairn_lock {
    _Atomic(uint32_t) word; /* 0: free; else the holder's number << 1 | somebody waits */
};

/* The calling thread's number, which no other one that uses the same locks has (gettid(2)); 0: it
 * has none. */
#ifdef CAIRN_NO_TLS
#define cairn_lock_number (cairn_mine()->lock_number)
#else
extern _Thread_local uint32_t cairn_lock_number
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
#endif

enum { CAIRN_LOCK_NOBODY = 1 << 30 /* what holds a lock without a number */ };

static inline uint32_t cairn_lock_held(void)
{
    return (cairn_lock_number ? cairn_lock_number : (uint32_t)CAIRN_LOCK_NOBODY) << 1;
}

void cairn_lock_wait(struct cairn_lock *lock);
void cairn_lock_wake(struct cairn_lock *lock);

static inline void cairn_lock_take(struct cairn_lock *lock)
{
    uint32_t expected = 0;
    if (!atomic_compare_exchange_strong_explicit(&lock->word, &expected, cairn_lock_held(),
                                                 memory_order_acquire, memory_order_relaxed))
        cairn_lock_wait(lock);
}

/* False: somebody holds it. */
static inline bool cairn_lock_try(struct cairn_lock *lock)
{
    uint32_t expected = 0;
    return atomic_compare_exchange_strong_explicit(&lock->word, &expected, cairn_lock_held(),
                                                   memory_order_acquire, memory_order_relaxed);
}

static inline void cairn_lock_give(struct cairn_lock *lock)
{
    if (atomic_exchange_explicit(&lock->word, 0, memory_order_release) & 1)
        cairn_lock_wake(lock);
}

/* Gives it, if the calling thread has a number and holds it: what it guards may be half done. */
static inline void cairn_lock_break(struct cairn_lock *lock)
{
    uint32_t word = atomic_load_explicit(&lock->word, memory_order_relaxed);
    if (cairn_lock_number && word >> 1 == cairn_lock_number)
        cairn_lock_give(lock);
}

#endif /* CAIRN_RT_LOCK_H */
