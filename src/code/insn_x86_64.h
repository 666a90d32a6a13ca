/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Instructions of x86-64, taken apart (Intel SDM 2, appendix A): how long each is, and what its
 * bytes name. What they do is for those who ask.
 *
 *     [prefixes] [REX] opcode [ModRM [SIB] [displacement]] [immediate]
 */
#ifndef CAIRN_CODE_INSN_X86_64_H
#define CAIRN_CODE_INSN_X86_64_H

#include "base/span.h"

enum cairn_x86_64_reg { /* DWARF's numbers */
                        CAIRN_RAX,
                        CAIRN_RDX,
                        CAIRN_RCX,
                        CAIRN_RBX,
                        CAIRN_RSI,
                        CAIRN_RDI,
                        CAIRN_RBP,
                        CAIRN_RSP,
                        CAIRN_NO_REG = 0xff
};
enum cairn_x86_64_map {
    CAIRN_MAP_ONE,
    CAIRN_MAP_0F,
    CAIRN_MAP_0F38,
    CAIRN_MAP_0F3A /* VEX and EVEX have more: 4 (APX), 5, 6 (half precision) */
};                 /* of opcodes */
enum { CAIRN_REX_B = 1, CAIRN_REX_X = 2, CAIRN_REX_R = 4, CAIRN_REX_W = 8 };

struct cairn_x86_64_insn {
    const uint8_t *at, *end, *start;
    unsigned map, op, rex;
    bool has_modrm, is_narrow, is_repeated, is_vector; /* prefixes 66, f3 */
    bool is_repne, is_locked, is_short_address;        /* f2, f0, 67 */
    bool is_misprefixed;   /* a prefix behind REX, or before VEX or EVEX, that may not be there */
    unsigned mod, reg, rm; /* DWARF's numbers, but `digit`, what a ModRM.reg without REX says */
    unsigned digit;
    bool knows_place; /* `rm` is memory, at base + index << scale + disp: base NO_REG is rip, or
                         none where there is a SIB byte, which `is_absolute` says */
    bool is_absolute;
    unsigned base, index, scale; /* index RSP: none */
    int64_t disp, imm;
    uint8_t modrm_at, disp_at, disp_size, imm_at, imm_size; /* from `start` on; sizes 0: none */
};

enum { CAIRN_X86_64_INSN_MAX = 15 };

/* The first instruction of `code`; its length, or 0 where the code ends before. */
size_t cairn_x86_64_insn_take(struct cairn_x86_64_insn *ret_insn, struct cairn_span code);

/* DWARF's number of a register of 0..15, as instructions have them. */
unsigned cairn_x86_64_reg_of(unsigned number);

/* The register that an opcode names by its last three bits. */
unsigned cairn_x86_64_insn_last(const struct cairn_x86_64_insn *insn);

/* Is `rm` memory at a distance from the instruction's end? Its address. */
bool cairn_x86_64_insn_is_rip(const struct cairn_x86_64_insn *insn);
static inline uint64_t cairn_x86_64_insn_rip_va(const struct cairn_x86_64_insn *insn, size_t size,
                                                uint64_t va)
{
    return va + size + (uint64_t)insn->disp;
}

/* Does no program of 64 bits have it, or is it unknown here? */
bool cairn_x86_64_insn_is_bad(const struct cairn_x86_64_insn *insn);

/* A jump with a condition? */
bool cairn_x86_64_insn_is_conditional(const struct cairn_x86_64_insn *insn);

/* Does ModRM.reg say which instruction this is, in place of a register? (SDM 2, table A-6) */
bool cairn_x86_64_insn_is_group(const struct cairn_x86_64_insn *insn);

#endif /* CAIRN_CODE_INSN_X86_64_H */
