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

void cairn_lock_wait(struct cairn_lock *lock)
{
    int saved = errno;
    while (atomic_exchange_explicit(&lock->word, 2, memory_order_acquire) != 0)
        syscall(FUTEX_CALL, &lock->word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
    errno = saved;
}

void cairn_lock_wake(struct cairn_lock *lock)
{
    int saved = errno;
    syscall(FUTEX_CALL, &lock->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    errno = saved;
}
