/* SPDX-License-Identifier: MIT */
/* How two walks of one stack part, by kinds: counted in a handler, printed at the end. Not
 * thread-safe. */
#ifndef CAIRN_TESTS_KINDS_H
#define CAIRN_TESTS_KINDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "place.h"
#include "returned.h"

enum { NOT_ASKED = RETURNED_N, N_ANSWERS };

enum class { EXACT, GUESS, END };

/* How two walks of one stack part. */
struct kind {
    uint64_t at; /* the last common frame; guesses: the first bare frame's module, or 0 */
    enum class class;
    int guess;             /* how the first frame that is a guess was found */
    bool covered, is_code; /* libunwind's next frame is */
    enum place place;      /* not covered: what the first such frame is in, and which file */
    uint64_t bare;
    int how;          /* of our next frame, or -1: none */
    int end;          /* where we have none */
    int status;       /* where libunwind has none */
    bool theirs_more; /* libunwind has a next frame */
    int own[2];       /* frames of us alone, of libunwind alone */
    unsigned n;
    unsigned back[N_ANSWERS];            /* enum returned; NOT_ASKED */
    uint64_t our_next, their_next, from; /* of the first of them; the leaf */
};

/* The kind that `found` is of, with one more; NULL: there are too many others. */
struct kind *kinds_count(const struct kind *found);
unsigned kinds_lost(void);
void kinds_print(FILE *out);

/* "back 1 2 3 4" */
void kinds_print_back(FILE *out, const unsigned *back);

#endif /* CAIRN_TESTS_KINDS_H */
