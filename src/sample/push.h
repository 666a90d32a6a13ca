/* SPDX-License-Identifier: MIT */
/* Push: the frames of a caught stack become a stack of the profile, from the root on:
 *
 *     user frames, with frames of interpreters between them ─► kernel frames
 */
#ifndef CAIRN_SAMPLE_PUSH_H
#define CAIRN_SAMPLE_PUSH_H

#include "sample/collect.h"

/* Only so much of a stack is in the profile already, and it takes no more. */
enum { CAIRN_COLLECT_FULL = 1 };

/* Why the profile took no more: CAIRN_COLLECT_FULL or CAIRN_E_NOMEM. */
static inline int cairn_collect_no_room(const struct cairn_collect *collect)
{
    return collect->profile->closed ? CAIRN_COLLECT_FULL : CAIRN_E_NOMEM;
}

/* The frames of collect->walk, of what `caught->guests` read between them, and of the kernel.
 * `*stack` is the stack as far as it was pushed. CAIRN_OK, CAIRN_COLLECT_FULL, CAIRN_E_NOMEM. */
int cairn_collect_push(struct cairn_collect *collect, struct cairn_space *space,
                       const struct cairn_sampled *caught, uint32_t *stack);

#endif /* CAIRN_SAMPLE_PUSH_H */
