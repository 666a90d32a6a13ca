/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "rt/lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
#ifdef SYS_futex
    FUTEX_CALL = SYS_futex
#else
    FUTEX_CALL = SYS_futex_time64
#endif
};

#ifndef CAIRN_NO_TLS
_Thread_local uint32_t cairn_lock_number
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
#endif

/* Who waited takes it as one for which others wait: there may be. */
void cairn_lock_wait(struct cairn_lock *lock)
{
    int saved = errno;
    for (;;) {
        uint32_t word = atomic_load_explicit(&lock->word, memory_order_relaxed);
        if (word == 0) {
            if (atomic_compare_exchange_weak_explicit(&lock->word, &word, cairn_lock_held() | 1,
                                                      memory_order_acquire, memory_order_relaxed))
                break;
        } else if (word & 1 || atomic_compare_exchange_weak_explicit(&lock->word, &word, word | 1,
                                                                     memory_order_relaxed,
                                                                     memory_order_relaxed)) {
            syscall(FUTEX_CALL, &lock->word, FUTEX_WAIT_PRIVATE, word | 1, NULL, NULL, 0);
        }
    }
    errno = saved;
}

void cairn_lock_wake(struct cairn_lock *lock)
{
    int saved = errno;
    syscall(FUTEX_CALL, &lock->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    errno = saved;
}
