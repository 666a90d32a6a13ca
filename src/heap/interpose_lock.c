/* SPDX-License-Identifier: MIT */
/*
 * Interpose lock: prctl(2) and libseccomp's seccomp_load(3), by which a program locks itself in.
 * From then on any system call of the tracker may be the program's end: so what is needed is made
 * before, and none is made any more (rt/seal.h). Who calls seccomp(2) by syscall(2) is seen as far
 * as it calls prctl(PR_SET_NO_NEW_PRIVS) before, as all must who are not root. In libcairn-heap
 * alone.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cairn/api.h>

#include "heap/lost_child.h"
#include "heap/start.h"
#include "rt/seal.h"
#include "unwind/loader.h"

enum { MODE_STRICT = 1 /* SECCOMP_MODE_STRICT */ };

/* Not in a handler that interrupted a call, which may hold the state's lock. */
CAIRN_THREAD_BLOCK_ACCESS static void make_ready(void)
{
    int saved = errno;
    struct cairn_tracked_heap *heap;
    struct cairn_heap_own *own =
        cairn_seal_forbids_files() ? NULL : cairn_heap_call_begin(&heap, cairn_heap_sp());
    if (own) {
        cairn_heap_state_reserve(&heap->state);
        cairn_heap_call_end(own);
    }
    errno = saved;
}

struct attempt {
    unsigned before, mine;
    bool is_childs;
};

/* In strict mode not even the reader of errno may make a call: the seal comes before the kernel's
 * answer. A child of vfork(2) seals itself, but its parent's memory is not sealed. */
static struct attempt seal(unsigned kind)
{
    struct attempt attempt = {.before = atomic_load(&cairn_seal)};
    if (cairn_seal_kind() == CAIRN_SEAL_NONE && cairn_heap_start_is_lent()) {
        cairn_seal_of_child = (uint32_t)getpid();
        attempt.is_childs = true;
        return attempt;
    }
    do {
        unsigned had = attempt.before & CAIRN_SEAL_KIND;
        attempt.mine = (attempt.before - had + CAIRN_SEAL_ATTEMPT) | (kind > had ? kind : had);
    } while (!atomic_compare_exchange_weak(&cairn_seal, &attempt.before, attempt.mine));
    return attempt;
}

/* The kernel refused. Where another thread has sealed the process since, that stays. */
static void unseal(struct attempt attempt)
{
    if (attempt.is_childs)
        cairn_seal_of_child = 0;
    else
        atomic_compare_exchange_strong(&cairn_seal, &attempt.mine, attempt.before);
}

CAIRN_API int prctl(int option, ...)
{
    va_list args;
    unsigned long a[4];
    va_start(args, option);
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(args, unsigned long);
    va_end(args);
    if (option == PR_SET_NO_NEW_PRIVS || option == PR_SET_SECCOMP)
        make_ready();
    struct attempt attempt = {0};
    if (option == PR_SET_SECCOMP)
        attempt = seal(a[0] == MODE_STRICT ? CAIRN_SEAL_STRICT : CAIRN_SEAL_FILTER);
    long got = syscall(SYS_prctl, option, a[0], a[1], a[2], a[3]);
    if (got < 0 && option == PR_SET_SECCOMP)
        unseal(attempt);
    if (got == 0 && option == CAIRN_HEAP_SET_PTRACER)
        cairn_heap_lost_note_ptracer(a[0]);
    return (int)got;
}

/* By libseccomp; 0: done. */
CAIRN_API int seccomp_load(void *filter);
CAIRN_API int seccomp_load(void *filter)
{
    uintptr_t next = cairn_loader_next("seccomp_load");
    if (!next)
        return -ENOSYS;
    make_ready();
    struct attempt attempt = seal(CAIRN_SEAL_FILTER);
    int got = ((int (*)(void *))next)(filter);
    if (got < 0)
        unseal(attempt);
    return got;
}
