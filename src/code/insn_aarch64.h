/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Instructions of aarch64 that know where they stand, or that cannot be moved (Arm ARM, DDI 0487,
 * C4.1). What all others do is not taken apart.
 */
#ifndef CAIRN_CODE_INSN_AARCH64_H
#define CAIRN_CODE_INSN_AARCH64_H

#include "base/span.h"

enum cairn_aarch64_kind {
    CAIRN_A64_PLAIN,
    CAIRN_A64_JUMP,      /* b */
    CAIRN_A64_CALL,      /* bl */
    CAIRN_A64_CONDITION, /* b.cond, bc.cond */
    CAIRN_A64_ZERO,      /* cbz, cbnz */
    CAIRN_A64_BIT,       /* tbz, tbnz */
    CAIRN_A64_ADR,
    CAIRN_A64_ADRP,
    CAIRN_A64_LITERAL,   /* ldr, ldrsw, prfm of a literal */
    CAIRN_A64_JUMP_BY,   /* br, ret, with authentication or not */
    CAIRN_A64_CALL_BY,   /* blr */
    CAIRN_A64_CALL_AUTH, /* blraa and its like */
    CAIRN_A64_EXCLUSIVE, /* ldxr, stxr and their like */
    CAIRN_A64_READS_PC,  /* signs or checks x30 with its own address (FEAT_PAuth_LR) */
    CAIRN_A64_TRAP,      /* udf, brk, hlt, dcps */
    CAIRN_A64_BAD        /* unallocated, or the kernel's */
};

enum { CAIRN_A64_BYTES = 4 };

struct cairn_aarch64_insn {
    uint32_t word;
    enum cairn_aarch64_kind kind;
    uint64_t to; /* of JUMP to LITERAL: the address that its distance gives */
};

/* Instructions are little-endian, whatever the data is. */
uint32_t cairn_aarch64_word(const uint8_t *at);

void cairn_aarch64_insn_take(uint32_t word, uint64_t va, struct cairn_aarch64_insn *ret_insn);

/* May the instruction use the register? True also for some that have an immediate in its place. */
bool cairn_aarch64_insn_names(uint32_t word, unsigned reg);

/* The same instruction at `va`, leading to `to` (of adrp, whose page counts, too). False: it is out
 * of reach, or `to` is no address that the instruction can name. */
bool cairn_aarch64_insn_aim(uint32_t word, enum cairn_aarch64_kind kind, uint64_t va, uint64_t to,
                            uint32_t *ret_word);

#endif /* CAIRN_CODE_INSN_AARCH64_H */
