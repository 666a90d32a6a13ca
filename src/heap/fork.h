/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Fork: what fork(3) itself has to do for the tracker, as handlers of pthread_atfork(3):
 *
 *     prepare    with --fork-copy: the state as it is, into a file without a name
 *     child      with that: names the file after itself, and maps it where its parent's was, so
 *                that all that points there holds; else forgets its parent's state, where the
 *                kernel has not wiped the way to it
 *     parent     closes the file
 *
 * A child that was made without fork(3) has neither: it starts its own state (start.h).
 */
#ifndef CAIRN_HEAP_FORK_H
#define CAIRN_HEAP_FORK_H

void cairn_heap_fork_prepare(void);
void cairn_heap_fork_parent(void);
void cairn_heap_fork_child(void);

#endif /* CAIRN_HEAP_FORK_H */
