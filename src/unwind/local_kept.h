/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Do the functions of one of this process's modules keep frame pointers? Their rules say: some of
 * its functions are looked at once, and the answer is remembered. Where they do not, the register
 * holds something else, and no guess is made from a gap of the module (fp_step.h).
 */
#ifndef CAIRN_UNWIND_LOCAL_KEPT_H
#define CAIRN_UNWIND_LOCAL_KEPT_H

#include "unwind/modules.h"

/* True as well of a module without any tables. Some ten microseconds the first time. */
bool cairn_local_fp_kept(const struct cairn_local_module *module);

#endif /* CAIRN_UNWIND_LOCAL_KEPT_H */
