/* SPDX-License-Identifier: MIT */
/*
 * Starts: where on the stacks the trees of callees and callers begin. A function that is several
 * times on a stack has one start there: the outermost for callees, the innermost for callers.
 *
 *     main ─ f ─ g ─ f        callees of f ─► from the first f on; callers of f: from the last
 */
#ifndef CAIRN_PROFILE_STARTS_H
#define CAIRN_PROFILE_STARTS_H

#include "profile/descent.h"

struct cairn_profile_start {
    uint32_t stack;
    uint32_t inner; /* which of the frame's rows, the innermost is 0 */
};

struct cairn_profile_starts {
    struct cairn_profile_start *items; /* those of one row side by side */
    size_t *first;                     /* by row, one more than there are: its items */
    int64_t *caused; /* by item, of innermost ones: what ends in stacks that it is a start of */
};

/* Starts of the rows that are `wanted` (by row). False where memory is gone. */
bool cairn_profile_starts_outermost(const struct cairn_profile *p,
                                    const struct cairn_profile_rows *rows,
                                    const struct cairn_profile_descent *descent, const bool *wanted,
                                    struct cairn_profile_starts *ret_starts);
bool cairn_profile_starts_innermost(const struct cairn_profile *p,
                                    const struct cairn_profile_rows *rows,
                                    const struct cairn_profile_sums *sums, const bool *wanted,
                                    struct cairn_profile_starts *ret_starts);
void cairn_profile_starts_done(struct cairn_profile_starts *starts); /* all-zero is fine */

#endif /* CAIRN_PROFILE_STARTS_H */
