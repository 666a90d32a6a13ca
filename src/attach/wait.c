/* SPDX-License-Identifier: MIT */
#include "attach/wait.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"

/* LOST_MS: a signal may be lost, as another thread of the caller's may take it. */
enum { LOST_MS = 2, PRIORITY = 1 };

int cairn_wait_thread(int tid, int timeout_ms, int *ret_status)
{
    uint64_t deadline_ns = cairn_now_ns() + (uint64_t)timeout_ms * CAIRN_NS_PER_MS;
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    for (;;) {
        int got = waitpid(tid, ret_status, __WALL | WNOHANG);
        if (got == tid)
            return 1;
        if (got < 0 && errno != EINTR)
            return -1;
        if (cairn_now_ns() >= deadline_ns)
            return 0;
        const struct timespec nap = {.tv_nsec = LOST_MS * CAIRN_NS_PER_MS};
        sigtimedwait(&child, NULL, &nap);
    }
}

void cairn_hurry_begin(struct cairn_hurry *hurry)
{
    _Static_assert(sizeof(sigset_t) <= sizeof hurry->old_mask, "it holds a mask");
    sigset_t child, old;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &child, &old);
    memcpy(hurry->old_mask, &old, sizeof old);
    struct sched_param now, fast = {.sched_priority = PRIORITY};
    hurry->policy = sched_getscheduler(0);
    hurry->has_priority = hurry->policy >= 0 && sched_getparam(0, &now) == 0 &&
                          sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &fast) == 0;
    hurry->priority = hurry->has_priority ? now.sched_priority : 0;
}

void cairn_hurry_end(const struct cairn_hurry *hurry)
{
    sigset_t old;
    if (hurry->has_priority) {
        const struct sched_param before = {.sched_priority = hurry->priority};
        sched_setscheduler(0, hurry->policy, &before);
    }
    memcpy(&old, hurry->old_mask, sizeof old);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}
