/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Arm code: the way out of a function of 32-bit arm, read from its instructions. .ARM.exidx holds
 * where code calls, and nowhere else; of much code it says that nothing is known. But what a
 * function will do to return is written in it: from an instruction on its code is followed, with
 * symbols in place of values, up to the next call, where .ARM.exidx holds, or up to the return.
 * Where the stack pointer is then, and where from the registers were loaded, is the frame.
 *
 *     here  push {r4, lr}      sp = sp0 - 8, r4 at sp0 - 8, lr at sp0 - 4
 *           sub sp, sp, #16    sp = sp0 - 24
 *           bl  ...            .ARM.exidx: sp + 16, pop {r4, lr}: CFA = sp0, r4 and lr as they were
 */
#ifndef CAIRN_UNWIND_ARM_CODE_H
#define CAIRN_UNWIND_ARM_CODE_H

#include "base/memory.h"
#include "dwarf/cfi_program.h"

struct cairn_arm_code {
    const struct cairn_memory *memory; /* where the code can be read */
    uint32_t ip;                       /* without Thumb's bit */
    bool is_thumb;
    bool is_leaf; /* else `ip` is behind a call, and the link register holds nothing */
    /* What .ARM.exidx says, for vas in [row->from + bias, row->to + bias); NULL: nothing. */
    const struct cairn_cfi_row *row;
    uint32_t bias;
};

enum cairn_arm_way {
    CAIRN_ARM_WAY_NONE, /* no return was found */
    CAIRN_ARM_WAY_ROW,
    CAIRN_ARM_WAY_EXIT /* none, but exit(2): nobody called this code */
};

/* What it needs meanwhile; what it holds before is anything. */
struct cairn_arm_code_room {
    uint64_t words[192];
};

/* The row for the instruction at code->ip: its CFA counts from sp, r7 or another register, register
 * 14 is where the return address is, and registers that cannot be had are UNDEFINED. Only for
 * CAIRN_ARM_WAY_ROW is it written. Some microseconds: at most some thousand instructions are read.
 */
enum cairn_arm_way cairn_arm_code_row(const struct cairn_arm_code *code,
                                      struct cairn_arm_code_room *room,
                                      struct cairn_cfi_row *ret_row);

#endif /* CAIRN_UNWIND_ARM_CODE_H */
