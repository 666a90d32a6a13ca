/* SPDX-License-Identifier: MIT */
/*
 * Ended: threads that have ended, for as long as something of them may still come: stacks of their
 * last moment, and how often those were met. A turn is a second or more.
 *
 *     ends ──► [this turn] ──► [the turn behind it: over] ──► gone, and what is known of it too
 */
#ifndef CAIRN_STREAM_ENDED_H
#define CAIRN_STREAM_ENDED_H

#include "base/table.h"

struct cairn_ended_thread;

struct cairn_ended {
    struct cairn_table by_tid;          /* -> the turn in which it ended */
    struct cairn_ended_thread *threads; /* in that order; some were born again */
    size_t n, cap;
    uint32_t turn;
};

void cairn_ended_done(struct cairn_ended *ended); /* all-zero is fine */

/* CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_ended_add(struct cairn_ended *ended, uint32_t tid);

/* Another thread has that number from now on. True: the one before had ended. */
bool cairn_ended_born(struct cairn_ended *ended, uint32_t tid);

/* Nothing of it comes any more. */
bool cairn_ended_is_over(const struct cairn_ended *ended, uint32_t tid);

/* Calls `fn` for each that is over, which is gone then, and begins the next turn. */
typedef void (*cairn_ended_fn)(void *ctx, uint32_t tid);
void cairn_ended_turn(struct cairn_ended *ended, cairn_ended_fn fn, void *ctx);

#endif /* CAIRN_STREAM_ENDED_H */
