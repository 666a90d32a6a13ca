/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Instructions at a function's entry that can run twice, with another function called in between:
 * test, cmp, mov, lea and xor between registers that leave everything as it is but rax, r10, r11
 * and the flags, which no caller expects to survive and no callee reads.
 */
#ifndef CAIRN_CODE_REPEAT_X86_64_H
#define CAIRN_CODE_REPEAT_X86_64_H

#include "code/insn_x86_64.h"

/* A run of them; begins all-zero. Bit n: DWARF's register n. */
struct cairn_x86_64_repeat {
    uint32_t reads; /* values from before the run */
    uint32_t writes;
};

/* Adds the next one. False: with it the run is no longer the same when run again. */
bool cairn_x86_64_repeat_add(struct cairn_x86_64_repeat *run, const struct cairn_x86_64_insn *insn);

#endif /* CAIRN_CODE_REPEAT_X86_64_H */
