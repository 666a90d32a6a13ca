/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * The very stack of last time, the usual case: one piece of code, which keeps all that it has in
 * registers. In a program that has better things in its caches than this, a capture costs what it
 * waits for memory: each line of code or data that is only asked for when another one has come, and
 * each page likewise. So what is sure to be needed is asked for at once.
 */
#include "unwind/local_same.h"

#include "unwind/local_compare.h"

enum { LINE = 64, FETCHED = 12 /* lines of frames, of four each */ };

/* Asks for what is sure to be needed of a state and of the stack before the first of it has come.
 * Neither need be there. */
CAIRN_READS_FRAMES void fetch(const struct cairn_local_state *s, uintptr_t sp)
{
    uintptr_t hot = (uintptr_t)s + offsetof(struct cairn_local_state, hot);
#pragma GCC unroll 16
    for (unsigned i = 0; i < FETCHED; i++)
        __builtin_prefetch((const void *)(hot - i * LINE));
    __builtin_prefetch((const void *)((uintptr_t)s + offsetof(struct cairn_local_state, words)));
    __builtin_prefetch((const void *)(sp + CAIRN_LOCAL_PAGE));
}

/* The stack's frames, all of them as they were, or 0: it is another one, or must be walked to be
 * told. Their addresses go to `ips`, which has room for `max`. */
CAIRN_READS_FRAMES uint32_t same_frames(struct cairn_local_state *s, uintptr_t ret, uintptr_t sp,
                                        uintptr_t fp, uintptr_t *ips, size_t max)
{
    const struct cairn_local_hot *hot = &s->hot;
    uint32_t top = hot->top, n = hot->rest - top;
    const struct cairn_local_frame *frame = &s->frames[top];
    /* All at once, for a branch that is guessed wrong waits for memory. `frame` is one that there
     * is, also where there are none. */
    uintptr_t slot = CAIRN_FAST_RA ? sp : cairn_local_slot_va(s, frame);
    uintptr_t moved = (frame->ret ^ ret) | (cairn_local_sp_at(s, top) ^ sp) | (slot ^ sp);
    bool is_odd = (n - 1 >= CAIRN_MAX_FRAMES) | (n > max) | (hot->is_open != 0);
    if (__builtin_expect(is_odd | (moved != 0), 0))
        return 0;
    if (__builtin_expect(frame->rule & CAIRN_LOCAL_NEEDS_FP && s->asides[top].fp != fp, 0))
        return 0;
    ips[0] = cairn_fast_address(ret);
    return cairn_local_find_changed(s, top, ips + 1, true) == hot->rest ? n : 0;
}

__attribute__((hot)) CAIRN_WALKS_FRAMES size_t cairn_local_here(uintptr_t *ret_ips, size_t max,
                                                                void *ret_info, uintptr_t ret,
                                                                uintptr_t sp, uintptr_t fp)
{
    struct cairn_local_state *state = cairn_local_mine.state;
    fetch(state, sp);
    if (__builtin_expect(cairn_local_state_is_ready(state), 1)) {
        cairn_local_state_take(state, sp);
        uint32_t n = same_frames(state, ret, sp, fp, ret_ips, max);
        cairn_local_state_leave(state);
        if (__builtin_expect(n > 0, 1))
            return __builtin_expect(!ret_info, 1) ? n : cairn_local_tell(n, ret_info);
    }
    return cairn_local_here_fully(ret_ips, max, ret_info, ret, sp, fp);
}
