/* SPDX-License-Identifier: MIT */
/* Walk: from the registers and the copied stack of a thread to its frames. */
#ifndef CAIRN_SNAPSHOT_WALK_H
#define CAIRN_SNAPSHOT_WALK_H

#include "snapshot/stacks.h"
#include "snapshot/way.h"

/* Adds rows for the thread's frames, in the kernel and outside, and says where they are. `live`:
 * the thread stands still, and the memory is read as it is. `*ret_missed`: the walk asked for
 * memory that is not in the copy. CAIRN_E_NOMEM. */
int cairn_walk_user(struct cairn_stacks *stacks, struct cairn_unwind_space *space,
                    struct cairn_caught *thread, bool live, bool *ret_missed);

/* Puts the frames of interpreters, which the walk that was made last has read, among the thread's
 * rows, which are the last. The memory may change again. `unread` says why there are none where
 * the thread did not stand still; static. CAIRN_E_NOMEM. */
int cairn_walk_guests(struct cairn_stacks *stacks, struct cairn_caught *thread, const char *unread);

/* The same of a thread without registers: its stack in the kernel alone. */
int cairn_walk_kernel(struct cairn_stacks *stacks, struct cairn_caught *thread);

#endif /* CAIRN_SNAPSHOT_WALK_H */
