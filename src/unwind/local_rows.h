/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Local rows: room for a row of CFI while it is made, which is too large for the stack of a signal
 * handler. There are some for all threads, taken and given back without a lock; where all are taken
 * one gets pages of its own. Who leaves a look-up by longjmp(3) out of a signal handler, or forks
 * while another thread is in one, loses one of them for good.
 */
#ifndef CAIRN_UNWIND_LOCAL_ROWS_H
#define CAIRN_UNWIND_LOCAL_ROWS_H

#include "unwind/local_rule.h"

enum { CAIRN_LOCAL_ROW_BYTES = 4096 };

/* CAIRN_LOCAL_ROW_BYTES; what they hold is anything. NULL: there is no memory. */
struct cairn_local_row *cairn_local_rows_take(void);
void cairn_local_rows_give(struct cairn_local_row *row);

#endif /* CAIRN_UNWIND_LOCAL_ROWS_H */
