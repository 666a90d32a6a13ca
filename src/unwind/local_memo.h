/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Local memo: the rest of a walk (local_state.h) as the slow walk found it last time. Where a
 * program's first frames have no CFI (musl's), each capture would follow their code anew, which
 * takes half a millisecond. That walk, too, is a function of the registers that it begins with, of
 * the words of the stack that it read, and of the code of modules: where those are the same, so are
 * its frames. Where it ended because there was no rule, some words beyond its last frame count,
 * too: they may have been looked at for a caller. It is kept if it is short.
 */
#ifndef CAIRN_UNWIND_LOCAL_MEMO_H
#define CAIRN_UNWIND_LOCAL_MEMO_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/local_slow.h"
#include "unwind/local_stack.h"

enum { CAIRN_LOCAL_MEMO_FRAMES = 16, CAIRN_LOCAL_MEMO_BYTES = 1024 };

struct cairn_local_memo {
    uint64_t generation; /* of modules */
    struct cairn_local_start start;
    uintptr_t end;    /* of the words, which begin at start.sp */
    uint32_t n;       /* 0: nothing is kept */
    int why;          /* enum cairn_unwind_end */
    uint32_t guessed; /* of these */
    uintptr_t ips[CAIRN_LOCAL_MEMO_FRAMES];
    uint8_t how[CAIRN_LOCAL_MEMO_FRAMES];
    _Alignas(uintptr_t) uint8_t words[CAIRN_LOCAL_MEMO_BYTES];
};

/* Fills `out` as cairn_local_slow_walk() would. False: it must walk. */
bool cairn_local_memo_has(const struct cairn_local_memo *memo, struct cairn_local_stack *stack,
                          const struct cairn_local_start *start, struct cairn_local_out *out);

/* Behind that: what it found. */
void cairn_local_memo_keep(struct cairn_local_memo *memo, struct cairn_local_stack *stack,
                           const struct cairn_local_start *start,
                           const struct cairn_local_out *out);

#endif /* CAIRN_UNWIND_LOCAL_MEMO_H */
