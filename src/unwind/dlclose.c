/* SPDX-License-Identifier: MIT */
/*
 * The dlclose that comes before libc's: see unload.h. In the shared libraries alone, where it can
 * come before; a program with the archive in it calls cairn_unwind_refresh() instead.
 */
#include <dlfcn.h>

#include <cairn/unwind.h>

#include "unwind/unload.h"

CAIRN_API int dlclose(void *handle)
{
    int (*next)(void *) = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
    if (!next)
        return -1;
    cairn_unload_begin();
    int result = next(handle);
    cairn_unload_end();
    return result;
}
