/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Ask exit: the look for lost blocks before a program's destructors take its data apart.
 * exit(3) runs what __cxa_atexit() was given, the last one first, and so do atexit(3) and the
 * destructors of C++ come to it. So behind each of them ours is registered once more:
 *
 *     __cxa_atexit(A)   __cxa_atexit(B)         exit(3)
 *     A, ours           A, ours, B, ours  ──►   ours, B, ours, A, ours: the first one asks
 *
 * interpose_start.c is for programs that register nothing. Only under a cairn heap run --lost.
 * Before it are destructors of thread-local objects of the thread that calls exit(3), and
 * on_exit(3). In libcairn-heap alone.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/api.h>

#include "heap/ask.h"
#include "unwind/loader.h"

typedef int at_exit_fn(void (*destructor)(void *), void *object, void *dso);

extern void *__dso_handle __attribute__((visibility("hidden")));
CAIRN_API int __cxa_atexit(void (*destructor)(void *), void *object, void *dso);

static _Atomic(uintptr_t) next_at_exit;
static atomic_bool is_wanted; /* cairn_heap_ask_at_exit() */

void cairn_heap_ask_before_destructors(void)
{
    static atomic_bool is_done;
    struct cairn_heap_answer answer;
    if (atomic_load(&is_wanted) && !atomic_exchange(&is_done, true))
        (void)cairn_heap_ask(CAIRN_HEAP_ASK_EXIT, &answer);
}

static void before_destructors(void *unused)
{
    (void)unused;
    cairn_heap_ask_before_destructors();
}

/* Other modules' constructors may come before ours. */
static at_exit_fn *next(void)
{
    uintptr_t va = atomic_load(&next_at_exit);
    if (!va)
        atomic_store(&next_at_exit, va = cairn_loader_next("__cxa_atexit"));
    return (at_exit_fn *)va;
}

CAIRN_API int __cxa_atexit(void (*destructor)(void *), void *object, void *dso)
{
    at_exit_fn *real = next();
    int result = real ? real(destructor, object, dso) : -1;
    if (result == 0 && atomic_load(&is_wanted))
        (void)real(before_destructors, NULL, &__dso_handle);
    return result;
}

void cairn_heap_ask_at_exit(void)
{
    if (next() && cairn_heap_ask_may())
        atomic_store(&is_wanted, true);
}
