/* SPDX-License-Identifier: MIT */
/*
 * Which of two return addresses a thread comes back to first: the program's own answer to who
 * called whom, which no unwinder has a part in. The first one that is reached with no less stack
 * than its caller has was right: that is where the word right above its return address lies. Where
 * the other one had been reached further inside, nothing is said: it may be a recursion, or code
 * that builds its caller's frame and returns to it with less room, as V8's has.
 *
 * Asked of a breakpoint of the CPU at each address, one question at a time: needs
 * perf_event_open(2) with breakpoints and `sigtrap` (Linux 5.13). Or of a program that steps itself
 * (stepped_ask), many at once.
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

/* An address, 0: none; and the least stack pointer that its caller has behind the return. */
struct claim {
    uint64_t address, sp;
};

/* Of an address that was stored on the own stack, at `from` or not far above. Signal-safe. */
struct claim returned_claim(uint64_t address, uint64_t from);

/* Asks the calling thread. Signal-safe. False: it cannot be asked. */
bool returned_ask(const struct claim claims[2]);

/* What is known by now, from any thread; RETURNED_OPEN: nothing yet. */
enum returned returned_get(void);

/* Before the next question. */
void returned_end(void);

/* The same of the calling thread's steps: `counters`, by enum returned, get the answer; OPEN where
 * too many others are asked meanwhile, or at the end. Not thread-safe. */
void stepped_ask(unsigned *counters, const struct claim claims[2]);
void stepped_at(uint64_t pc, uint64_t sp);
void stepped_end(void);

#endif /* CAIRN_TESTS_RETURNED_H */
