/* SPDX-License-Identifier: MIT */
/* libunwind 1.x, x86-64, bound at run time: no header of it is needed. */
#ifndef CAIRN_TESTS_LIBUNWIND_H
#define CAIRN_TESTS_LIBUNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/unwind.h>

struct libunwind_stack {
    uint64_t pc[CAIRN_MAX_FRAMES], sp[CAIRN_MAX_FRAMES], fp[CAIRN_MAX_FRAMES];
    size_t n;
    int status; /* of the last step: 0 the end, negative an error */
};

/* False: it is not on this machine. */
bool libunwind_find(void);

/* For walks that begin at calls alone: five times as fast. */
void libunwind_use_cache(void);

/* By unw_step, from what a signal handler got. */
void libunwind_walk(void *context, struct libunwind_stack *ret);

/* From the caller on: that one's own frame is the second. */
void libunwind_walk_here(struct libunwind_stack *ret);

/* The stack pointer in a frame: right above its return address. 0: not known. */
uint64_t libunwind_sp(const struct libunwind_stack *stack, size_t i);

#endif /* CAIRN_TESTS_LIBUNWIND_H */
