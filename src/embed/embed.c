/* SPDX-License-Identifier: MIT */
#include "embed/embed.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/error.h"
#include "rt/lock.h"
#include "rt/mine.h"
#include "rt/pages.h"

enum { POOL_BYTES = 1 << 16, ALIGNMENT = 16 };

static struct cairn_lock lock;
static _Atomic(uintptr_t) holder; /* thread pointer of the thread in the room; 0: there is none */
static unsigned forks_inside;     /* of the holder */

static bool is_inside(void)
{
    return atomic_load_explicit(&holder, memory_order_relaxed) == cairn_mine_thread();
}

static void take(void)
{
    cairn_lock_take(&lock);
    atomic_store_explicit(&holder, cairn_mine_thread(), memory_order_relaxed);
}

static void give(void)
{
    atomic_store_explicit(&holder, 0, memory_order_relaxed);
    cairn_lock_give(&lock);
}

/* The child of a fork has the forking thread alone, which then holds the lock itself. */
static void lock_for_fork(void)
{
    if (is_inside())
        forks_inside++;
    else
        take();
}

static void unlock_after_fork(void)
{
    if (forks_inside)
        forks_inside--;
    else
        give();
}

/* pthread_once(3) would ask for glibc 2.34. */
bool cairn_embed_enter(void)
{
    static bool watches_forks;
    if (is_inside())
        return false;
    take();
    if (!watches_forks)
        watches_forks = pthread_atfork(lock_for_fork, unlock_after_fork, unlock_after_fork) == 0;
    return true;
}

void cairn_embed_leave(void)
{
    give();
}

int cairn_embed_enter_or_fail(struct cairn_err *err)
{
    if (cairn_embed_enter())
        return CAIRN_OK;
    cairn_fail(
        err, CAIRN_E_ARG,
        "hook: this thread is hooking or removing already: a replacement or a signal handler "
        "called");
    cairn_hint(err, "hook from outside of replacements and signal handlers");
    return CAIRN_E_ARG;
}

enum { GENERATION_LOW_BITS = 4, HIGH_SHIFT = 48 };

struct cairn_hook *cairn_embed_handle(const struct cairn_hook *hook)
{
    const uint64_t low = hook->generation & ((1 << GENERATION_LOW_BITS) - 1);
    const uint64_t high = hook->generation >> GENERATION_LOW_BITS;
    return (struct cairn_hook *)(uintptr_t)((uintptr_t)hook | low | high << HIGH_SHIFT);
}

struct cairn_hook *cairn_embed_hook_of(struct cairn_hook *handle)
{
    const uint64_t low = (1 << GENERATION_LOW_BITS) - 1, high = (uint64_t)0xffff << HIGH_SHIFT;
    const uintptr_t va = (uintptr_t)((uintptr_t)handle & ~low & ~high);
    struct cairn_hook *hook = (struct cairn_hook *)va;
    return hook->is_live && cairn_embed_handle(hook) == handle ? hook : NULL;
}

void *cairn_embed_alloc(size_t bytes)
{
    static uint8_t *pool;
    static size_t left;
    bytes = (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (bytes > POOL_BYTES)
        return cairn_pages_map(bytes);
    if (bytes > left) {
        uint8_t *more = cairn_pages_map(POOL_BYTES);
        if (!more)
            return NULL;
        pool = more;
        left = POOL_BYTES;
    }
    left -= bytes;
    pool += bytes;
    return pool - bytes;
}
