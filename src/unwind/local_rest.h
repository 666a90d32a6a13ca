/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Local rest: what is to be done behind a remembered walk: the frames that only the slow walk gets
 * to are added, the new ones are remembered, and the caller is told.
 *
 *     state->frames:   top ... place ... rest ... N
 *                      | news |  old  | slow  |
 */
#ifndef CAIRN_UNWIND_LOCAL_REST_H
#define CAIRN_UNWIND_LOCAL_REST_H

#include "unwind/local_walk.h"

/* Lets the slow walk begin at the outermost frame that is remembered. False: where that is cannot
 * be said, or to walk anew is better. */
bool cairn_local_rest_from(const struct cairn_local_walk *w);

/* Remembers the walk, and behind its outermost frame the state's `rest`, of which it is the first
 * one, too. On NOT, because it cannot be remembered or the slow walk must begin anew, the state is
 * void. */
enum cairn_local_fast cairn_local_settle(struct cairn_local_walk *w, uintptr_t *ips,
                                         struct cairn_local_result *ret_result);

/* Words of the caller's hold from `place` on outwards, if they did. */
CAIRN_THREAD_BLOCK_ACCESS static inline void cairn_local_keep_from(struct cairn_local_state *s,
                                                                   uint32_t place)
{
    s->hot.kept_from = place > s->hot.kept_from ? place : s->hot.kept_from;
}

/* Says what was found, and copies what is not at `ips` yet; NULL: nothing. */
CAIRN_READS_FRAMES void cairn_local_give(const struct cairn_local_walk *w, uintptr_t *ips,
                                         struct cairn_local_result *ret_result)
{
    const struct cairn_local_hot *hot = &w->state->hot;
    const struct cairn_local_frame *frames = w->state->frames + hot->top;
    uint32_t n = CAIRN_LOCAL_FRAMES - hot->top, room = ips ? w->max : CAIRN_MAX_FRAMES;
    if (__builtin_expect(n > room, 0)) {
        n = room;
        ret_result->end = CAIRN_END_MAX_FRAMES;
    }
    for (uint32_t i = w->ips ? hot->rest - hot->top : 0; ips && i < n; i++)
        ips[i] = cairn_fast_address(frames[i].ret);
    ret_result->n = n;
}

#endif /* CAIRN_UNWIND_LOCAL_REST_H */
