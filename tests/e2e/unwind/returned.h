/* SPDX-License-Identifier: MIT */
/*
 * Which of two return addresses a thread comes back to first: the program's own answer to who
 * called whom, which no unwinder has a part in. A breakpoint of the CPU lies at each; the first one
 * that is reached with the stack pointer above `sp` was the caller of the frame whose stack pointer
 * that is. Where the other one had been reached further inside, nothing is said: it may be a
 * recursion, or code that builds its caller's frame and returns to it with less room, as V8's has.
 *
 * One question at a time. Needs perf_event_open(2) with breakpoints and `sigtrap` (Linux 5.13).
 */
#ifndef CAIRN_TESTS_RETURNED_H
#define CAIRN_TESTS_RETURNED_H

#include <stdbool.h>
#include <stdint.h>

enum returned {
    RETURNED_OPEN,   /* to neither in time: it is still inside, or left another way */
    RETURNED_FIRST,  /* the first address was right */
    RETURNED_SECOND, /* the second one */
    RETURNED_N,
};

/* Takes SIGTRAP. */
void returned_init(void);

/* Asks the calling thread; 0: no such address. Signal-safe. False: it cannot be asked. */
bool returned_ask(uint64_t first, uint64_t second, uint64_t sp);

/* What is known by now, from any thread; RETURNED_OPEN: nothing yet. */
enum returned returned_get(void);

/* Before the next question. */
void returned_end(void);

#endif /* CAIRN_TESTS_RETURNED_H */
