/* SPDX-License-Identifier: MIT */
/*
 * Choice: which of the program's calls reach the tracker: all (hook_all.c, in libcairn-heap), or
 * those of chosen libraries (late_hook.c, in libcairn-track).
 */
#ifndef CAIRN_HEAP_CHOICE_H
#define CAIRN_HEAP_CHOICE_H

#include <memory_tracker.h>
#include <stdbool.h>
#include <stddef.h>

/* By memory_tracker_init(): makes the state where that does not come with the first block. Why not:
 * cairn_heap_is_asked() says so afterwards, or there is no state. */
void cairn_heap_make_ready(void);

/* Do the program's calls reach the tracker, or can they be made to? */
bool cairn_heap_is_asked(void);

/* memory_tracker_hook() and memory_tracker_unhook(). `ret_said`: what was done, static until the
 * next call; left alone on failure. */
int cairn_heap_choose(const char *const *libraries, size_t n, const char **ret_said);
int cairn_heap_unchoose(const char *const *libraries, size_t n);

#endif /* CAIRN_HEAP_CHOICE_H */
