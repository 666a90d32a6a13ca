/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Late free: slots alone miss frees: by a copy of `&free` that a container keeps, by a library that
 * was linked statically. So free and realloc are diverted at the functions themselves, by one
 * instruction each (<cairn/hook.h>), for deaths alone: births stay with the slots.
 */
#ifndef CAIRN_HEAP_LATE_FREE_H
#define CAIRN_HEAP_LATE_FREE_H

#include <stdbool.h>

/* Once, before anything leads to the replacements. False: at least one of them could not be
 * diverted, and frees past the slots are not seen. */
bool cairn_late_free_divert(void);

#endif /* CAIRN_HEAP_LATE_FREE_H */
