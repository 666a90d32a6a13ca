/* SPDX-License-Identifier: MIT */
/* Opens the state file of a process, which chooses what it maps under which name. */
#ifndef CAIRN_WATCH_OPEN_STATE_H
#define CAIRN_WATCH_OPEN_STATE_H

#include <cairn/error.h>

#include "base/buffer.h"

/*
 * The file that a process has mapped, shared and writable, as its heap state. `flags` is O_RDONLY
 * or O_RDWR; `ret_who` is a name for messages. Root opens the mapping itself. Else the path is
 * opened below the process's root, without links, and must be the mapping's inode and the process's
 * own or ours: root may write there, and must not be led to another file. CAIRN_E_MISSING: the
 * process is not tracked.
 */
int cairn_heap_open_state(int pid, int flags, struct cairn_buffer *ret_who, int *ret_fd,
                          struct cairn_err *err);

/* Has the tracker look at its header again: what others wrote there is seen with the next turn. */
bool cairn_heap_turn_state(int fd);

#endif /* CAIRN_WATCH_OPEN_STATE_H */
