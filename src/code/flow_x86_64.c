/* SPDX-License-Identifier: MIT */
/* Intel SDM 2, appendix A. */
#include "code/flow.h"

/* What no program of 64 bits has, or what this file does not know. */
static bool is_bad(const struct cairn_x86_64_insn *i)
{
    unsigned op = i->op;
    if (i->is_vector) /* blsr and its like: what they write is in the prefix */
        return i->map == CAIRN_MAP_0F38 && op == 0xf3;
    if (i->map == CAIRN_MAP_0F)
        return op == 0x04 || (op >= 0x06 && op <= 0x0a) || op == 0x0c || op == 0x0e || op == 0x0f ||
               (op >= 0x20 && op <= 0x27) || (op >= 0x30 && op <= 0x37 && op != 0x31) ||
               (op >= 0x78 && op <= 0x7b) || op == 0xa6 || op == 0xa7 || op == 0xaa || op == 0xff;
    if (i->map != CAIRN_MAP_ONE)
        return false;
    if (op < 0x40)
        return (op & 7) >= 6;
    return (op >= 0x60 && op <= 0x62) || (op >= 0x6c && op <= 0x6f) || op == 0x82 || op == 0x8e ||
           op == 0x9a || op == 0xc4 || op == 0xc5 || op == 0xc8 || op == 0xca || op == 0xcb ||
           op == 0xce || op == 0xcf || (op >= 0xd4 && op <= 0xd7) || (op >= 0xe4 && op <= 0xe7) ||
           op == 0xea || (op >= 0xec && op <= 0xef) || op == 0xf1 || (op >= 0xfa && op <= 0xfb) ||
           (op == 0xfe && i->digit > 1) ||
           (op == 0xff && (i->digit == 3 || i->digit == 5 || i->digit == 7)) ||
           ((op >> 3 == 0x50 >> 3 || op >> 3 == 0x58 >> 3) && i->is_narrow);
}

static enum cairn_flow flow_of(const struct cairn_x86_64_insn *i)
{
    unsigned op = i->op;
    if (is_bad(i))
        return CAIRN_FLOW_BAD;
    if (i->is_vector)
        return CAIRN_FLOW_NEXT;
    if (cairn_x86_64_insn_is_conditional(i))
        return CAIRN_FLOW_BRANCH;
    if (i->map == CAIRN_MAP_0F)
        return op == 0x0b ? CAIRN_FLOW_STOP : CAIRN_FLOW_NEXT; /* ud2 */
    if (i->map != CAIRN_MAP_ONE)
        return CAIRN_FLOW_NEXT;
    if (op == 0xe8 || (op == 0xff && i->digit == 2))
        return CAIRN_FLOW_CALL;
    if (op == 0xe9 || op == 0xeb)
        return CAIRN_FLOW_JUMP;
    if (op == 0xff && i->digit == 4)
        return CAIRN_FLOW_INDIRECT;
    if (op == 0xc3 || op == 0xc2)
        return CAIRN_FLOW_RETURN;
    return op == 0xcc || op == 0xf4 ? CAIRN_FLOW_STOP : CAIRN_FLOW_NEXT; /* int3, hlt */
}

/* No operation, however long, and int3; but f3 90 is pause, 41 90 an exchange. */
static bool is_padding(const struct cairn_x86_64_insn *i)
{
    if (i->is_vector || i->is_repeated)
        return false;
    return i->map == CAIRN_MAP_ONE ? (i->op == 0x90 && !(i->rex & CAIRN_REX_B)) || i->op == 0xcc
                                   : i->map == CAIRN_MAP_0F && i->op == 0x1f;
}

void cairn_x86_64_insn_step(const struct cairn_x86_64_insn *i, size_t size, uint64_t vaddr,
                            struct cairn_code_step *ret_step)
{
    struct cairn_code_step s = {.flow = flow_of(i), .size = size, .is_padding = is_padding(i)};
    s.knows_to = s.flow == CAIRN_FLOW_BRANCH || s.flow == CAIRN_FLOW_JUMP ||
                 (s.flow == CAIRN_FLOW_CALL && i->op == 0xe8);
    s.to = vaddr + size + (uint64_t)i->imm;
    *ret_step = s;
}

void cairn_code_step_x86_64(struct cairn_span code, uint64_t vaddr,
                            struct cairn_code_step *ret_step)
{
    struct cairn_x86_64_insn i;
    size_t size = cairn_x86_64_insn_take(&i, code);
    *ret_step = (struct cairn_code_step){.flow = CAIRN_FLOW_BAD};
    if (size)
        cairn_x86_64_insn_step(&i, size, vaddr, ret_step);
}
