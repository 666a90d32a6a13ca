/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include <ucontext.h>

#include "unwind/local_cpu.h"

const struct cairn_unwind_arch *const cairn_local_arch = &cairn_unwind_arm;

enum { R4 = 4, R12 = 12, SP = 13, PC = 15, N_REGS = 16, CPSR_THUMB = 5 };

/* r4 to r11, and sp. */
const uint64_t cairn_local_saved = ((1u << R12) - (1u << R4)) | 1u << SP;

void cairn_local_context_regs(const void *ucontext, struct cairn_unwind_regs *ret_regs)
{
    const ucontext_t *context = ucontext;
    const unsigned long *r0 = &context->uc_mcontext.arm_r0;
    ret_regs->known = 0;
    for (unsigned i = 0; i < N_REGS; i++)
        cairn_unwind_set(ret_regs, i, (uint32_t)r0[i]);
    ret_regs->ip = cairn_local_arch->code_address(ret_regs->regs[PC]);
    cairn_unwind_set(ret_regs, PC,
                     ret_regs->ip | (context->uc_mcontext.arm_cpsr >> CPSR_THUMB & 1));
}

bool cairn_local_here_regs(uintptr_t sp, uintptr_t fp, struct cairn_unwind_regs *ret_regs)
{
    const uint32_t *r4 = (const uint32_t *)fp;
    if (!r4)
        return false;
    for (unsigned i = R4; i < R12; i++)
        cairn_unwind_set(ret_regs, i, r4[i - R4]);
    cairn_unwind_set(ret_regs, SP, sp);
    return true;
}
