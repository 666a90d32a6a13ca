/* SPDX-License-Identifier: MIT */
/* Arm ARM, DDI 0487, C4.1.65: branches, exception generating and system instructions. */
#include "code/flow.h"
#include "code/insn_aarch64.h"

enum { INSN_BYTES = 4 };

/* Counted in instructions: the `n` bits of `insn` from `from` on. */
static uint64_t distance(uint32_t insn, unsigned from, unsigned n)
{
    return (uint64_t)((int64_t)((uint64_t)insn << (64 - from - n)) >> (64 - n)) * INSN_BYTES;
}

/* By a register: BR, BLR, RET and the same with a check of the address; ERET is the kernel's. */
static enum cairn_flow flow_by_register(uint32_t insn)
{
    switch (insn >> 21 & 7) {
    case 0:
        return CAIRN_FLOW_INDIRECT;
    case 1:
        return CAIRN_FLOW_CALL;
    case 2:
        return CAIRN_FLOW_RETURN;
    default:
        return CAIRN_FLOW_BAD;
    }
}

void cairn_code_step_aarch64(struct cairn_span code, uint64_t vaddr,
                             struct cairn_code_step *ret_step)
{
    *ret_step = (struct cairn_code_step){.flow = CAIRN_FLOW_BAD};
    if (code.size < INSN_BYTES)
        return;
    struct cairn_code_step s = {.size = INSN_BYTES};
    const uint32_t insn = cairn_aarch64_word(code.data);
    uint64_t far = 0;
    if ((insn & 0x7c000000) == 0x14000000) { /* B, BL */
        s.flow = insn >> 31 ? CAIRN_FLOW_CALL : CAIRN_FLOW_JUMP;
        far = distance(insn, 0, 26);
    } else if ((insn & 0xff000000) == 0x54000000 || (insn & 0x7e000000) == 0x34000000) {
        s.flow = CAIRN_FLOW_BRANCH; /* B.cond, CBZ, CBNZ */
        far = distance(insn, 5, 19);
    } else if ((insn & 0x7e000000) == 0x36000000) { /* TBZ, TBNZ */
        s.flow = CAIRN_FLOW_BRANCH;
        far = distance(insn, 5, 14);
    } else if ((insn & 0xfe000000) == 0xd6000000) {
        s.flow = flow_by_register(insn);
    } else if (insn >> 16 == 0 || (insn & 0xffa00000) == 0xd4200000 ||
               (insn & 0xffe00000) == 0xd4400000) { /* UDF, BRK, DCPS, HLT */
        s.flow = CAIRN_FLOW_STOP;
    }
    s.knows_to = far != 0 || s.flow == CAIRN_FLOW_JUMP || s.flow == CAIRN_FLOW_BRANCH;
    s.to = vaddr + far;
    s.is_padding = insn == 0xd503201f || insn == 0; /* NOP */
    *ret_step = s;
}
