/* SPDX-License-Identifier: MIT */
/* Memory tracker: what memory_tracker.c and memory_tracker_lost.c share. */
#ifndef CAIRN_HEAP_MEMORY_TRACKER_H
#define CAIRN_HEAP_MEMORY_TRACKER_H

#include "heap/heap.h"
#include "heap/out.h"

/* NULL: nothing is tracked. A child of fork has a state from its first block or question on. */
struct cairn_tracked_heap *cairn_memory_tracker_heap(void);

/* "`text``what`", to who was given to cairn_log_set(), else on stderr; where memory_tracker_init()
 * asked for it. */
void cairn_memory_tracker_say(const char *text, const char *what);
bool cairn_memory_tracker_is_loud(void); /* on stderr */

/* The text as the caller gets it, in a block of the real malloc, which any free(3) takes and which
 * is none of the program's. NULL with errno: out of memory. `out` is done. */
char *cairn_memory_tracker_hand_over(struct cairn_heap_out *out);

#endif /* CAIRN_HEAP_MEMORY_TRACKER_H */
