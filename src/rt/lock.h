/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Lock: mutual exclusion where the C library's may not be used. Whoever has to wait sleeps in
 * futex(2), so that threads of any priority get on. Not recursive: who may be interrupted by a
 * signal handler that wants the same lock must know that it holds it. All zero: free.
 */
#ifndef CAIRN_RT_LOCK_H
#define CAIRN_RT_LOCK_H

#include <stdatomic.h>
#include <stdint.h>

struct cairn_lock {
    _Atomic(uint32_t) word; /* 0: free, 1: held, 2: held, and somebody waits */
};

void cairn_lock_wait(struct cairn_lock *lock);
void cairn_lock_wake(struct cairn_lock *lock);

static inline void cairn_lock_take(struct cairn_lock *lock)
{
    uint32_t expected = 0;
    if (!atomic_compare_exchange_strong_explicit(&lock->word, &expected, 1, memory_order_acquire,
                                                 memory_order_relaxed))
        cairn_lock_wait(lock);
}

static inline void cairn_lock_give(struct cairn_lock *lock)
{
    if (atomic_exchange_explicit(&lock->word, 0, memory_order_release) == 2)
        cairn_lock_wake(lock);
}

#endif /* CAIRN_RT_LOCK_H */
