/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/arch.h"

#include <elf.h>

#include "unwind/sigframe.h"

const struct cairn_unwind_arch *cairn_unwind_arch_of(uint16_t machine)
{
    switch (machine) {
    case EM_X86_64:
        return &cairn_unwind_x86_64;
    case EM_AARCH64:
        return &cairn_unwind_aarch64;
    case EM_ARM:
        return &cairn_unwind_arm;
    default:
        return NULL;
    }
}

enum cairn_arch_step cairn_unwind_step(const struct cairn_unwind_arch *arch, uint32_t rule,
                                       bool is_leaf, const struct cairn_memory *memory, bool swap,
                                       struct cairn_unwind_regs *regs)
{
    switch (cairn_rule_kind(rule)) {
    case CAIRN_RULE_NONE:
        return CAIRN_STEP_NO_RULE;
    case CAIRN_RULE_OUTERMOST:
        return cairn_rule_payload(rule) == CAIRN_RULE_SWITCHED ? CAIRN_STEP_SWITCHED
                                                               : CAIRN_STEP_OUTERMOST;
    case CAIRN_RULE_SIDE:
        return CAIRN_STEP_SIDE;
    case CAIRN_RULE_SIGNAL:
        return cairn_sigframe_step(arch, cairn_sigframe_which(arch, memory, swap, regs), memory,
                                   swap, regs);
    default:
        return arch->step(rule, is_leaf, memory, swap, regs);
    }
}
