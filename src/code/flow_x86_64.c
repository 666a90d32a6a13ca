/* SPDX-License-Identifier: MIT */
/* Intel SDM 2, appendix A. */
#include "code/flow.h"

/* blsr and its like: what they write is in the prefix, where flow does not look. */
static bool writes_by_prefix(const struct cairn_x86_64_insn *i)
{
    return i->is_vector && i->map == CAIRN_MAP_0F38 && i->op == 0xf3;
}

static enum cairn_flow flow_of(const struct cairn_x86_64_insn *i)
{
    unsigned op = i->op;
    if (cairn_x86_64_insn_is_bad(i) || writes_by_prefix(i))
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
