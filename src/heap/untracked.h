/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Untracked: programs that this process started, or became, and that no tracker is in, noted in its
 * state: by path and kind, with how often. A child of fork(2) that has no state of its own yet
 * notes them in its parent's.
 */
#ifndef CAIRN_HEAP_UNTRACKED_H
#define CAIRN_HEAP_UNTRACKED_H

#include "rt/program.h"

/* The row that now counts it, for cairn_heap_untracked_undo(); NULL: there is no state. No lock:
 * the caller may be a child of vfork(2), which never comes back. */
struct cairn_heap_untracked *cairn_heap_untracked_note(enum cairn_program_kind kind,
                                                       const char *path);
/* It was not started after all. Accepts NULL. */
void cairn_heap_untracked_undo(struct cairn_heap_untracked *row);

#endif /* CAIRN_HEAP_UNTRACKED_H */
