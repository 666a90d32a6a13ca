/* SPDX-License-Identifier: MIT */
/*
 * Descent: which stacks lie below a stack, and what all of them come to. Only stacks that samples
 * reach are in it.
 */
#ifndef CAIRN_PROFILE_DESCENT_H
#define CAIRN_PROFILE_DESCENT_H

#include "profile/rows.h"

struct cairn_profile_descent {
    uint32_t *first_child, *next_sibling; /* by stack; 0: none, for the empty one is no child */
    int64_t *totals;                      /* by stack: what ended in it and below it */
};

/* False where memory is gone. */
bool cairn_profile_descent_make(const struct cairn_profile *p,
                                const struct cairn_profile_sums *sums,
                                struct cairn_profile_descent *ret_descent);
void cairn_profile_descent_done(struct cairn_profile_descent *descent); /* all-zero is fine */

#endif /* CAIRN_PROFILE_DESCENT_H */
