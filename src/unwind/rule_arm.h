/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * arm's rules (IHI 0038B, 9.3: what .ARM.exidx can say; .debug_frame is brought into the same
 * form). A frame is undone as its epilogue would do it: from sp, r7 or r11, up n bytes, pop
 * registers in ascending order, up again over what the caller's varargs pushed:
 *
 *      28  25 24     16 15             4 3       0
 *     | kind | n: /4 9 | mask: r4..r15 12 | m: /4 4 |    SP, R7, R11
 *
 *      28  25 24             9     8      7        0
 *     | kind |    n: /4 16    | r14 popped | r4..r11 |   SP_FAR: large frames, m = 0
 *
 *     vsp = sp | r7 | r11, + n; then for each bit of the mask from the lowest on: r[i] = *vsp++;
 *     then vsp += m; the caller's sp is vsp (r13 is never in a mask).
 *
 * From r7 and r11, n is 256 words more than what it stands for: GCC points them to the topmost
 * saved register, clang into the midst.
 *
 * The return address is r15 where the mask has it, else r14: popped, or still in the register,
 * which holds for a leaf alone (see rule_aarch64.h). Bit 0 of it says Thumb, and is taken off by
 * cairn_unwind_arch.code_address().
 */
#ifndef CAIRN_UNWIND_RULE_ARM_H
#define CAIRN_UNWIND_RULE_ARM_H

#include "unwind/rule.h"

enum cairn_rule_arm {
    CAIRN_ARM_SP = CAIRN_RULE_OF_CPU,
    CAIRN_ARM_R7,
    CAIRN_ARM_R11,
    CAIRN_ARM_SP_FAR
};

enum {
    CAIRN_ARM_ADD_SHIFT = 16,
    CAIRN_ARM_ADD_MAX = 0x1ff, /* words */
    CAIRN_ARM_FP_BIAS = 0x100, /* words: R7, R11 */
    CAIRN_ARM_FAR_SHIFT = 9,
    CAIRN_ARM_FAR_MAX = 0xffff, /* words */
    CAIRN_ARM_POST_MAX = 0xf    /* words */
};

/* SP, R7, R11: `add` (with the bias of R7 and R11) and `post` in words; `mask` has bit i for r[i],
 * i in 4..12, 14, 15. */
static inline uint32_t cairn_arm_rule(enum cairn_rule_arm kind, uint32_t add, uint32_t mask,
                                      uint32_t post)
{
    return cairn_rule_make(kind, add << CAIRN_ARM_ADD_SHIFT | (mask & 0xfff0) | post);
}

/* SP_FAR: `mask` has bits 4..11 and 14 alone. */
static inline uint32_t cairn_arm_far(uint32_t add, uint32_t mask)
{
    return cairn_rule_make(CAIRN_ARM_SP_FAR,
                           add << CAIRN_ARM_FAR_SHIFT | (mask >> 14 & 1) << 8 | (mask >> 4 & 0xff));
}

static inline int cairn_arm_is_far(uint32_t rule)
{
    return cairn_rule_kind(rule) == CAIRN_ARM_SP_FAR;
}

static inline int cairn_arm_is_fp(uint32_t rule)
{
    unsigned kind = cairn_rule_kind(rule);
    return kind == CAIRN_ARM_R7 || kind == CAIRN_ARM_R11;
}

/* n: bytes, of every kind. */
static inline int32_t cairn_arm_add(uint32_t rule)
{
    uint32_t payload = cairn_rule_payload(rule);
    if (cairn_arm_is_far(rule))
        return (int32_t)(payload >> CAIRN_ARM_FAR_SHIFT) * 4;
    int32_t words = (int32_t)(payload >> CAIRN_ARM_ADD_SHIFT);
    return (cairn_arm_is_fp(rule) ? words - CAIRN_ARM_FP_BIAS : words) * 4;
}

/* Bit i: r[i] is popped. Never has r13: who damages a rule must not get a second stack pointer. */
static inline uint32_t cairn_arm_mask(uint32_t rule)
{
    if (cairn_arm_is_far(rule))
        return (rule & 0xff) << 4 | (rule >> 8 & 1) << 14;
    return rule & 0xdff0;
}

/* m: bytes. */
static inline uint32_t cairn_arm_post(uint32_t rule)
{
    return cairn_arm_is_far(rule) ? 0 : (rule & CAIRN_ARM_POST_MAX) * 4;
}

#endif /* CAIRN_UNWIND_RULE_ARM_H */
