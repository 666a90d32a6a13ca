/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * What a program says to LeakSanitizer about its own blocks (sanitizer/lsan_interface.h), in
 * libcairn-heap alone. A pointer that is stored here is in a variable: for cairn heap lost it holds
 * its block, and all that hangs on that. Beyond HELD_MAX nothing is stored.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/api.h>

enum { HELD_MAX = 1 << 16 };

CAIRN_API void __lsan_ignore_object(const void *object);
CAIRN_API void __lsan_register_root_region(const void *region, size_t size);
CAIRN_API void __lsan_unregister_root_region(const void *region, size_t size);

static _Atomic uintptr_t held[HELD_MAX];
static _Atomic uint32_t n_held; /* never more than HELD_MAX + the number of threads */

static void hold(uintptr_t va)
{
    uint32_t i = atomic_load(&n_held);
    if (i < HELD_MAX && (i = atomic_fetch_add(&n_held, 1)) < HELD_MAX)
        atomic_store(&held[i], va);
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
    for (uint32_t i = 0; i < n && i < HELD_MAX; i++) {
        uintptr_t own = (uintptr_t)region;
        if (atomic_compare_exchange_strong(&held[i], &own, 0))
            return;
    }
}
