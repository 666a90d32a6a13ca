/* SPDX-License-Identifier: MIT */
/*
 * Heat: what the lines of a function cost. A spot is a line of a look. The page reckons what ended
 * in a spot, and what went through it, each sample once, of those samples that it is asked for:
 *
 *     parse()  line 12   self 0    total 90      the call in it
 *              line 14   self 60   total 60
 */
#ifndef CAIRN_PICTURE_HEAT_H
#define CAIRN_PICTURE_HEAT_H

#include "picture/layout.h"

struct cairn_heat_spot {
    uint32_t look, line;
};

struct cairn_heat {
    struct cairn_heat_spot *spots; /* in the order of looks, then lines */
    size_t n, cap;
    uint32_t *of_frames; /* beside looks->of_frames: its spot; CAIRN_HEAT_NONE */
};

enum { CAIRN_HEAT_NONE = UINT32_MAX };

/* No spots where the profile knows no lines. CAIRN_E_NOMEM. */
int cairn_heat_build(const struct cairn_profile *profile, const struct cairn_looks *looks,
                     struct cairn_heat *ret_heat, struct cairn_err *err);
void cairn_heat_done(struct cairn_heat *heat); /* all-zero is fine */

/* The tree of picture/layout.h again, whose nodes are spots; a look without a line is heat->n + its
 * number. CAIRN_E_NOMEM, CAIRN_E_LIMIT. */
int cairn_heat_build_tree(const struct cairn_profile *profile, const struct cairn_looks *looks,
                          const struct cairn_heat *heat, size_t n_new,
                          struct cairn_layout *ret_layout, struct cairn_err *err);

#endif /* CAIRN_PICTURE_HEAT_H */
