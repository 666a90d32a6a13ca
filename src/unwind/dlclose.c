/* SPDX-License-Identifier: MIT */
/*
 * The dlclose that comes before libc's, and what hears of modules that libc unloads by itself
 * (converters of iconv, name services): see unload.h. In the shared libraries alone, where they can
 * come before; a program with the archive in it calls cairn_unwind_refresh() instead. They have no
 * version (src/cairn-unwind.map), so that they also come before the libc's of those who do not know
 * this library.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <cairn/unwind.h>

#include "unwind/loader.h"
#include "unwind/modules.h"
#include "unwind/unload.h"

typedef int dlclose_fn(void *handle);
typedef void finalize_fn(void *dso);

static _Atomic(uintptr_t) next_dlclose, next_finalize;
static atomic_bool exiting;

CAIRN_API void __cxa_finalize(void *dso);

static void at_exit(void)
{
    atomic_store(&exiting, true);
}

static void find_next(void)
{
    atomic_store(&next_dlclose, cairn_loader_next("dlclose"));
    atomic_store(&next_finalize, cairn_loader_next("__cxa_finalize"));
}

/* While the loader's lock is held, or nobody else runs. */
__attribute__((constructor)) static void prepare(void)
{
    find_next();
    atexit(at_exit); /* before the loader's own, which finalizes all modules and unloads none */
}

/* Other modules' constructors may come before ours. */
static uintptr_t known(_Atomic(uintptr_t) *function)
{
    if (!atomic_load(function))
        find_next();
    return atomic_load(function);
}

CAIRN_API int dlclose(void *handle)
{
    dlclose_fn *next = (dlclose_fn *)known(&next_dlclose);
    if (!next)
        return -1;
    cairn_unload_begin();
    int result = next(handle);
    cairn_modules_refresh();
    cairn_unload_end();
    return result;
}

/* A module's last destructor calls this, with an address within it (Itanium C++ ABI, 3.3.6.4): the
 * last that runs of it before it is unmapped. Whoever unloads it. */
CAIRN_API void __cxa_finalize(void *dso)
{
    finalize_fn *next = (finalize_fn *)known(&next_finalize);
    if (next)
        next(dso);
    if (dso && !atomic_load(&exiting))
        cairn_unload_of((uintptr_t)dso);
}
