/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE, but for dlclose */
/*
 * Late modules: how libcairn-track hears of modules that go away, as unwind/dlclose.c does where it
 * comes before libc: by dlclose(3), and by the __cxa_finalize that each module's last destructor
 * calls.
 */
#include "heap/late_originals.h"
#include "heap/late_rows.h"
#include "unwind/modules.h"
#include "unwind/unload.h"

int cairn_late_dlclose(void *handle)
{
    cairn_unload_begin();
    int code = cairn_late_more.dlclose(handle);
    cairn_modules_refresh();
    cairn_unload_end();
    return code;
}

void cairn_late_cxa_finalize(void *dso)
{
    cairn_late_more.cxa_finalize(dso);
    if (dso)
        cairn_unload_of((uintptr_t)dso);
}
