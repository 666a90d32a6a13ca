/* SPDX-License-Identifier: MIT */
/* Walk end: what a cursor of unwind/ says of a stack, as bpf/walk.h has it: for who walks in place
 * of the program in the kernel. */
#ifndef CAIRN_BPF_WALK_END_H
#define CAIRN_BPF_WALK_END_H

#include <cairn/unwind.h>

#include "bpf/walk.h"

static inline enum cairn_bpf_end cairn_bpf_end_of(enum cairn_unwind_end end)
{
    switch (end) {
    case CAIRN_END_OUTERMOST:
        return CAIRN_BPF_END_OUTERMOST;
    case CAIRN_END_SWITCHED:
        return CAIRN_BPF_END_SWITCHED;
    case CAIRN_END_MAX_FRAMES:
        return CAIRN_BPF_END_DEEP;
    case CAIRN_END_NO_MODULE:
        return CAIRN_BPF_END_NOT_CODE;
    case CAIRN_END_UNREADABLE:
        return CAIRN_BPF_END_UNREADABLE;
    case CAIRN_END_BAD_CFA:
    case CAIRN_END_LOOP:
        return CAIRN_BPF_END_BAD_CFA;
    case CAIRN_END_NO_REGISTER:
        return CAIRN_BPF_END_SIDE;
    default:
        return CAIRN_BPF_END_NO_RULE;
    }
}

#endif /* CAIRN_BPF_WALK_END_H */
