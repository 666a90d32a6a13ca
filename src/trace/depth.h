/* SPDX-License-Identifier: MIT */
/* Depth: cuts stacks to their innermost frames. Stacks that have these in common become one. */
#ifndef CAIRN_TRACE_DEPTH_H
#define CAIRN_TRACE_DEPTH_H

#include "base/table.h"
#include "profile/profile.h"
#include "sample/collect.h"

struct cairn_depth {
    uint32_t max;             /* frames; 0: all */
    uint32_t cut;             /* a text of the profile: why they end; 0: not made yet */
    struct cairn_table known; /* stack -> stack of its innermost frames */
};

void cairn_depth_done(struct cairn_depth *depth); /* all-zero is fine */

/* A stack that ends early by itself keeps its own reason. CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_depth_cut(struct cairn_depth *depth, struct cairn_profile *profile,
                    const struct cairn_collected *stack, struct cairn_collected *ret_stack);

#endif /* CAIRN_TRACE_DEPTH_H */
