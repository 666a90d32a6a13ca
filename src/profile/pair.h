/* SPDX-License-Identifier: MIT */
/* Pair: which functions of two profiles are the same, in the words of
 * <cairn/diff.h>. */
#ifndef CAIRN_PROFILE_PAIR_H
#define CAIRN_PROFILE_PAIR_H

#include "profile/rows.h"

enum { CAIRN_PAIR_NONE = UINT32_MAX };

struct cairn_profile_pair {
    uint32_t rows[2]; /* of the old side and the new one; CAIRN_PAIR_NONE: it is
                         not there */
};

struct cairn_profile_pairs {
    struct cairn_profile_pair *items;
    size_t n;
    uint32_t *of_rows[2]; /* by row of a side: its pair; CAIRN_PAIR_NONE where it
                             is not used */
};

/* `sides`: counted. False where memory is gone. */
bool cairn_profile_pairs_make(const struct cairn_profile_rows sides[2],
                              struct cairn_profile_pairs *ret_pairs);
void cairn_profile_pairs_done(struct cairn_profile_pairs *pairs); /* all-zero is fine */

#endif /* CAIRN_PROFILE_PAIR_H */
