/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * What a program says to LeakSanitizer about its own blocks (sanitizer/lsan_interface.h), in
 * libcairn-heap alone. A pointer that is stored here is in a variable: for cairn heap lost it holds
 * its block, and all that hangs on that. Beyond HELD_MAX at a time nothing is stored. Blocks that
 * are born while a thread is between __lsan_disable() and __lsan_enable() have stacks of their own,
 * which say so (CAIRN_HEAP_LOG_IGNORED).
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/api.h>

#include "heap/start.h"

enum { HELD_MAX = 1 << 16 };

CAIRN_API void __lsan_disable(void);
CAIRN_API void __lsan_enable(void);
CAIRN_API void __lsan_ignore_object(const void *object);
CAIRN_API void __lsan_register_root_region(const void *region, size_t size);
CAIRN_API void __lsan_unregister_root_region(const void *region, size_t size);

static _Atomic uintptr_t held[HELD_MAX];
static _Atomic uint32_t n_held; /* never more than HELD_MAX + the number of threads */

static bool take(uint32_t i, uintptr_t va)
{
    uintptr_t none = 0;
    return atomic_compare_exchange_strong(&held[i], &none, va);
}

/* Once all places were given out, those that were given back are taken. */
static void hold(uintptr_t va)
{
    uint32_t i = atomic_load(&n_held);
    if (i < HELD_MAX && (i = atomic_fetch_add(&n_held, 1)) < HELD_MAX && take(i, va))
        return;
    for (i = 0; i < HELD_MAX; i++)
        if (!atomic_load(&held[i]) && take(i, va))
            return;
}

void __lsan_ignore_object(const void *object)
{
    hold((uintptr_t)object);
}

/* Memory of mappings is a root as it is; a region in a block keeps that block. */
void __lsan_register_root_region(const void *region, size_t size)
{
    if (size)
        hold((uintptr_t)region);
}

void __lsan_unregister_root_region(const void *region, size_t size)
{
    uint32_t n = atomic_load(&n_held);
    (void)size;
    for (uint32_t i = n < HELD_MAX ? n : HELD_MAX; region && i > 0; i--) {
        uintptr_t own = (uintptr_t)region;
        if (atomic_load(&held[i - 1]) == own &&
            atomic_compare_exchange_strong(&held[i - 1], &own, 0))
            return;
    }
}

/* Births of this thread go the long way from now on, or the short one again (count.c). */
CAIRN_THREAD_BLOCK_ACCESS static void look_again(void)
{
    struct cairn_tracked_heap *heap;
    struct cairn_heap_own *own = cairn_heap_call_begin(&heap, cairn_heap_sp());
    if (!own)
        return;
    cairn_heap_count_look(heap, own);
    cairn_heap_call_end(own);
}

void __lsan_disable(void)
{
    if (++cairn_heap_disabled == 1)
        look_again();
}

/* One too many is the program's mistake, for which LeakSanitizer ends it; here it has no effect. */
void __lsan_enable(void)
{
    if (cairn_heap_disabled && --cairn_heap_disabled == 0)
        look_again();
}
