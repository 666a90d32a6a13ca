/* SPDX-License-Identifier: MIT */
#include "embed/embed.h"

#include <pthread.h>

#include "rt/pages.h"

enum { POOL_BYTES = 1 << 16, ALIGNMENT = 16 };

struct cairn_lock cairn_embed_lock;

/* The child of a fork has the forking thread alone, which then holds the lock itself. */
static void lock_for_fork(void)
{
    cairn_lock_take(&cairn_embed_lock);
}

static void unlock_after_fork(void)
{
    cairn_lock_give(&cairn_embed_lock);
}

/* pthread_once(3) would ask for glibc 2.34. */
void cairn_embed_enter(void)
{
    static bool watches_forks;
    cairn_lock_take(&cairn_embed_lock);
    if (!watches_forks)
        watches_forks = pthread_atfork(lock_for_fork, unlock_after_fork, unlock_after_fork) == 0;
}

void cairn_embed_leave(void)
{
    cairn_lock_give(&cairn_embed_lock);
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
