/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Settings: what the environment asks for; `cairn heap run` sets it, or who preloads the library by
 * hand.
 *
 *     CAIRN_HEAP_DIR          folder of state files, of our user alone (0700). Without it one is
 *                             made: $XDG_RUNTIME_DIR/cairn-heap, /dev/shm/cairn-heap-UID,
 *                             $TMPDIR/cairn-heap-UID, or that in /tmp; and of what processes that
 *                             ended left in it, so much is kept (tidy.h)
 *     CAIRN_HEAP_DEPTH        frames to keep of a stack, from the innermost on
 *     CAIRN_HEAP_STACKS=0     no stacks
 *     CAIRN_HEAP_SAMPLE       bytes: one block in so many is recorded
 *     CAIRN_HEAP_MAX_MEMORY   bytes: bound of the state file; else a tenth of the memory there is
 *     CAIRN_HEAP_MMAP=1       mmap(2) and its kin too
 *     CAIRN_HEAP_FORK_COPY=1  children of fork(2) begin with their parent's blocks
 *     CAIRN_HEAP_FOLLOW=0     not into programs that this one starts; 2: also into those that it
 *                             starts with an environment of their own (exec.h)
 *
 * A setuid program (AT_SECURE, getauxval(3)) asks for nothing.
 */
#ifndef CAIRN_HEAP_SETTINGS_H
#define CAIRN_HEAP_SETTINGS_H

#include "heap/heap.h"

/* False: nothing is to be recorded. */
bool cairn_heap_settings_read(struct cairn_heap_settings *ret);

/* The same of a list of NAME=VALUE texts, NULL at its end, whoever the process belongs to. */
bool cairn_heap_settings_of(struct cairn_heap_settings *ret, const char *const *list);

/* Decimal digits to the end, no more than fit. */
bool cairn_heap_settings_number(const char *text, uint64_t *ret);

/* The value of NAME in a list of NAME=VALUE texts, NULL at its end; NULL: none, or an empty one. */
const char *cairn_heap_settings_find(const char *const *list, const char *name);

#endif /* CAIRN_HEAP_SETTINGS_H */
