/* SPDX-License-Identifier: MIT */
/*
 * Chosen: only what some modules ask for is recorded. Their slots (<cairn/slots.h>) of functions
 * that make blocks lead to the tracker; functions that free blocks are diverted for every caller
 * (divert.h). What was changed is kept in the process (slot_list.h).
 */
#ifndef CAIRN_ATTACH_CHOSEN_H
#define CAIRN_ATTACH_CHOSEN_H

#include "attach/job.h"

/* Before anything is touched: reports how many modules are meant. CAIRN_E_MISSING: a pattern that
 * no module has. */
int cairn_chosen_check(struct cairn_attach_job *job, struct cairn_err *err);

/* Makes the slots of the modules in the job's options, of none where there are none, lead to the
 * tracker, and all others as before. Reports their number. The tracker's table was read. */
int cairn_chosen_set(struct cairn_attach_job *job, struct cairn_err *err);
/* Slots of no module lead to it. */
int cairn_chosen_restore(struct cairn_attach_job *job, struct cairn_err *err);

#endif /* CAIRN_ATTACH_CHOSEN_H */
