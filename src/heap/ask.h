/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Ask: has the cairn heap run --lost that this process runs under look for lost blocks, and waits
 * for what it finds (rt/heap_ask.h). In libcairn-heap alone.
 */
#ifndef CAIRN_HEAP_ASK_H
#define CAIRN_HEAP_ASK_H

#include <stdbool.h>

#include "rt/heap_ask.h"

/* Is there one, as far as the folder of states says? One system call. */
bool cairn_heap_ask_may(void);

/* Asks CAIRN_HEAP_ASK_EXIT before the program's own destructors run, if there is who answers. From
 * a constructor, once there is a state. */
void cairn_heap_ask_at_exit(void);
/* Does so now, if that is wanted and was not done yet. */
void cairn_heap_ask_before_destructors(void);

/* False: there is none, or it has gone; `ret_answer` stays as it was. CAIRN_HEAP_ASK_EXIT is asked
 * of this process's parent alone: it looks at what it has started itself. */
bool cairn_heap_ask(enum cairn_heap_ask_kind kind, struct cairn_heap_answer *ret_answer);

#endif /* CAIRN_HEAP_ASK_H */
