/* SPDX-License-Identifier: MIT */
/* Walks of the own thread from the registers of a signal: cairn's, and libgcc's beside it. */
#ifndef CAIRN_TESTS_WALKS_H
#define CAIRN_TESTS_WALKS_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

enum { WALK_FRAMES = 1024 }; /* a walk of cairn's never has more */

struct walk {
    uint64_t pc[WALK_FRAMES];
    uint8_t how[WALK_FRAMES]; /* enum cairn_frame_how; of ours alone */
    unsigned n, n_guessed;
    bool whole;      /* it came to where the thread begins; of ours alone, as the next */
    bool at_limit;   /* it ended at the most frames that a walk has */
    const char *why; /* it ended */
};

/* Loads what loads at its first use: to be called before the first signal. */
void walk_init(void);

void walk_ours(const ucontext_t *from, struct walk *ret);

/* Only in the handler that got `from`; x86-64 alone: on arm libgcc cannot walk through a signal, on
 * aarch64 it reads the code at whatever it takes for a return address. */
void walk_libgcc(const ucontext_t *from, struct walk *ret);

/* Whether the first frames of `walk` are all those of `with`. */
bool walk_begins(const struct walk *walk, const struct walk *with);
void walk_print(const struct walk *walk, unsigned n);

/* Whether this CPU has a single-step flag that a program may set; sets or clears it for when the
 * handler returns. */
bool walk_can_step(void);
void walk_single_step(ucontext_t *at, bool on);

#endif /* CAIRN_TESTS_WALKS_H */
