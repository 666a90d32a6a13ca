/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * What the functions of one of this process's modules are like, as their rules say: some are looked
 * at once, and the answer is remembered. Where they keep no frame pointers the register holds
 * something else, and no guess is made from a gap of the module (fp_step.h). Where most of them
 * have rules, the module was compiled with tables.
 */
#ifndef CAIRN_UNWIND_LOCAL_KEPT_H
#define CAIRN_UNWIND_LOCAL_KEPT_H

#include "unwind/modules.h"

enum { CAIRN_LOCAL_KEEPS_FP = 1, CAIRN_LOCAL_HAS_RULES = 2 };

/* The bits that hold; of a module without any tables CAIRN_LOCAL_KEEPS_FP. Some ten microseconds
 * the first time. */
unsigned cairn_local_kept(const struct cairn_local_module *module);

/* Another module may come to lie where one was. */
void cairn_local_kept_clear(void);

#endif /* CAIRN_UNWIND_LOCAL_KEPT_H */
