/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Local root: recognizes the stack root of the calling thread, which no function called and which
 * often has no call frame information: the entry code of the program, the entry code of its dynamic
 * loader, below which constructors of libraries run, and the first function of a thread.
 */
#ifndef CAIRN_UNWIND_LOCAL_ROOT_H
#define CAIRN_UNWIND_LOCAL_ROOT_H

#include <stdbool.h>

#include "unwind/local_step.h"
#include "unwind/modules.h"

/* Is this frame a stack root? `module` holds its address; NULL: no module is known to. */
bool cairn_local_is_root(const struct cairn_local_slow_walk *w,
                         const struct cairn_local_module *module);

#endif /* CAIRN_UNWIND_LOCAL_ROOT_H */
