/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/* Of CPUs for which there are no plans (<cairn/hook.h>): frees past the slots are not seen. */
#include "heap/late_free.h"

bool cairn_late_free_divert(void)
{
    return false;
}
