/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Local same: what local_same.c, which has the stack of last time, and local.c, which has all
 * others, say to each other.
 */
#ifndef CAIRN_UNWIND_LOCAL_SAME_H
#define CAIRN_UNWIND_LOCAL_SAME_H

#include "unwind/local.h"

/* As cairn_local_here(), whatever the stack is. */
size_t cairn_local_here_fully(uintptr_t *ret_ips, size_t max, void *ret_info, uintptr_t ret,
                              uintptr_t sp, uintptr_t fp);

/* Says of `n` remembered frames, which are the whole stack, how they were found. Returns `n`. */
size_t cairn_local_tell(uint32_t n, struct cairn_unwind_info *ret_info);

#endif /* CAIRN_UNWIND_LOCAL_SAME_H */
