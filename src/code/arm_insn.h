/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Arm insn: what an instruction of 32-bit arm does to the stack pointer, to the link register and
 * to what was saved; of the rest only which registers it writes. DDI 0406C (ARMv7-A and -R): A32
 * in A5 and A8, T32 in A6 and A8.
 */
#ifndef CAIRN_CODE_ARM_INSN_H
#define CAIRN_CODE_ARM_INSN_H

#include <stdbool.h>
#include <stdint.h>

enum cairn_arm_op {
    CAIRN_ARM_OTHER, /* registers of `mask` are written */
    CAIRN_ARM_ADD,   /* d = base + off */
    CAIRN_ARM_CONST, /* d = off */
    CAIRN_ARM_STORE, /* registers of `mask`, ascending from base + off on; then base += back */
    CAIRN_ARM_LOAD,  /* the same way; r15 in `mask`: a jump */
    CAIRN_ARM_BRANCH,
    CAIRN_ARM_BRANCH_REG, /* to register `base`, */
    CAIRN_ARM_BRANCH_SUM, /* and `off` more */
    CAIRN_ARM_TABLE,      /* to one of several places, the first of which is `target` */
    CAIRN_ARM_CALL,
    CAIRN_ARM_SYSCALL,
    CAIRN_ARM_IF_THEN, /* the next `off` instructions are conditional */
    CAIRN_ARM_STOP     /* none that is known, or it goes where nobody knows */
};

struct cairn_arm_insn {
    uint8_t op, size; /* enum cairn_arm_op; bytes */
    bool is_conditional;
    bool changes_set; /* of a branch: to the other set of instructions */
    uint8_t d, base;
    uint16_t mask;
    int32_t off, back;
    uint32_t target;
};

enum { CAIRN_ARM_INSN_BYTES = 4 };

/* The instruction in `bytes` at `ip`. Of a T32 one that is two bytes the last two count for
 * nothing. */
struct cairn_arm_insn cairn_arm_decode_a32(const uint8_t bytes[CAIRN_ARM_INSN_BYTES], uint32_t ip);
struct cairn_arm_insn cairn_arm_decode_t32(const uint8_t bytes[CAIRN_ARM_INSN_BYTES], uint32_t ip);

/* What both sets encode in the same bits: loads and stores of floating point registers, and moves
 * between coprocessors' and these. */
struct cairn_arm_insn cairn_arm_decode_coprocessor(uint32_t word);

/* For both decoders: some bits of a word, and what the commonest instructions do. */
static inline unsigned cairn_arm_bits(uint32_t word, unsigned low, unsigned n)
{
    return word >> low & ((1u << n) - 1);
}

static inline struct cairn_arm_insn cairn_arm_other(uint32_t mask)
{
    return (struct cairn_arm_insn){.op = CAIRN_ARM_OTHER, .mask = (uint16_t)mask};
}

static inline struct cairn_arm_insn cairn_arm_add(unsigned d, unsigned base, int32_t off)
{
    return (struct cairn_arm_insn){
        .op = CAIRN_ARM_ADD, .d = (uint8_t)d, .base = (uint8_t)base, .off = off};
}

static inline struct cairn_arm_insn cairn_arm_constant(unsigned d, uint32_t value)
{
    return (struct cairn_arm_insn){.op = CAIRN_ARM_CONST, .d = (uint8_t)d, .off = (int32_t)value};
}

static inline struct cairn_arm_insn cairn_arm_to_register(unsigned reg)
{
    return (struct cairn_arm_insn){.op = CAIRN_ARM_BRANCH_REG, .base = (uint8_t)reg};
}

#endif /* CAIRN_CODE_ARM_INSN_H */
