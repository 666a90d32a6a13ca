/* SPDX-License-Identifier: MIT */
/* Guest rows: frames of interpreters among a thread's rows, each where it ran. */
#ifndef CAIRN_SNAPSHOT_GUEST_ROWS_H
#define CAIRN_SNAPSHOT_GUEST_ROWS_H

#include "snapshot/stacks.h"
#include "target/guests.h"

/* The native rows from `first` on, which are the last, are those that stacks->guests walked. Puts
 * what it read between them, and the states in stacks->guest_rows. CAIRN_E_NOMEM. */
int cairn_guest_rows_weave(struct cairn_stacks *stacks, size_t first);

/* Of a thread in an interpreter whose frames were not read: a state that says why, a static text.
 * CAIRN_E_NOMEM. */
int cairn_guest_rows_unread(struct cairn_stacks *stacks, const char *why);

#endif /* CAIRN_SNAPSHOT_GUEST_ROWS_H */
