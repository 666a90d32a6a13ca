/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE, but for what says otherwise */
#include "unwind/unload.h"

#include <time.h>

#include "rt/executable.h"
#include "unwind/local_cache.h"
#include "unwind/local_kept.h"
#include "unwind/modules.h"

enum { WAIT_ROUNDS = 100, WAIT_NS = 100 * 1000 };

_Atomic(uint64_t) cairn_unload_generation = 1;
static atomic_uint n_unloading, n_reading;

bool cairn_unload_enter(void)
{
    atomic_fetch_add(&n_reading, 1);
    return atomic_load(&n_unloading) == 0;
}

void cairn_unload_leave(void)
{
    atomic_fetch_sub(&n_reading, 1);
}

/* The generation changes at both ends: nothing of what was remembered before is used while a module
 * goes, and nothing of what was remembered then is used behind. */
static void forget(void)
{
    atomic_fetch_add(&cairn_unload_generation, 1);
    cairn_local_cache_clear();
    cairn_executable_forget();
    cairn_local_kept_clear();
}

void cairn_unload_of(uintptr_t va)
{
    cairn_modules_drop(va);
    forget();
}

void cairn_unload_begin(void)
{
    atomic_fetch_add(&n_unloading, 1);
    forget();
    for (int i = 0; i < WAIT_ROUNDS && atomic_load(&n_reading) != 0; i++)
        nanosleep(&(struct timespec){0, WAIT_NS}, NULL);
}

void cairn_unload_end(void)
{
    forget();
    atomic_fetch_sub(&n_unloading, 1);
}
