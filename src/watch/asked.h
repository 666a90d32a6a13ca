/* SPDX-License-Identifier: MIT */
/* Asked: questions of tracked processes for lost blocks (rt/heap_ask.h), one at a time. */
#ifndef CAIRN_WATCH_ASKED_H
#define CAIRN_WATCH_ASKED_H

#include <stdbool.h>

#include "rt/heap_ask.h"

struct cairn_asked {
    int listener; /* -1: nobody is answered */
    int asker;    /* the connection of the question at hand; -1: there is none */
};

/* Makes the socket in a folder. Where it cannot be made, that is logged, and nobody is answered. */
void cairn_asked_open(struct cairn_asked *asked, const char *folder);
/* Removes the socket too. */
void cairn_asked_close(struct cairn_asked *asked, const char *folder);

/* True: a process asks, and waits until cairn_asked_answer(). Waits a moment for a question whose
 * connection is there, and drops one that does not come or makes no sense. After some of these it
 * returns false, and the listener is still readable. */
bool cairn_asked_next(struct cairn_asked *asked, int *ret_pid, enum cairn_heap_ask_kind *ret_kind);
void cairn_asked_answer(struct cairn_asked *asked, const struct cairn_heap_answer *answer);

#endif /* CAIRN_WATCH_ASKED_H */
