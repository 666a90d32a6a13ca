/* SPDX-License-Identifier: MIT */
/*
 * The dlclose that comes before libc's: see unload.h. In the shared libraries alone, where it can
 * come before; a program with the archive in it calls cairn_unwind_refresh() instead. It has no
 * version (src/cairn-unwind.map), so that it also comes before the libc's of those who do not know
 * this library.
 */
#include <dlfcn.h>
#include <stdatomic.h>

#include <cairn/unwind.h>

#include "unwind/loader.h"
#include "unwind/modules.h"
#include "unwind/unload.h"

typedef int dlclose_fn(void *handle);
static _Atomic(uintptr_t) next;

/* While the loader's lock is held, or nobody else runs. */
__attribute__((constructor)) static void find_next(void)
{
    atomic_store(&next, cairn_loader_next("dlclose"));
}

CAIRN_API int dlclose(void *handle)
{
    if (!atomic_load(&next))
        find_next();
    dlclose_fn *close_next = (dlclose_fn *)atomic_load(&next);
    if (!close_next)
        return -1;
    cairn_unload_begin();
    int result = close_next(handle);
    cairn_modules_refresh();
    cairn_unload_end();
    return result;
}
