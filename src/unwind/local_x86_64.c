/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include <ucontext.h>

#include "unwind/local_cpu.h"

const struct cairn_unwind_arch *const cairn_local_arch = &cairn_unwind_x86_64;

enum { RBX = 3, RBP = 6, RSP = 7, R12 = 12, RIP = 16 };

const uint64_t cairn_local_saved = 1u << RBX | 1u << RBP | 1u << RSP | 0xfu << R12;

void cairn_local_context_regs(const void *ucontext, struct cairn_unwind_regs *ret_regs)
{
    /* System V psABI 1.0, figure 3.36: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15, rip. */
    static const uint8_t order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                    REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                    REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    const ucontext_t *context = ucontext;
    ret_regs->known = 0;
    for (unsigned i = 0; i < sizeof(order); i++)
        cairn_unwind_set(ret_regs, i, (uint64_t)context->uc_mcontext.gregs[order[i]]);
    ret_regs->ip = ret_regs->regs[RIP];
}

bool cairn_local_here_regs(uintptr_t sp, uintptr_t fp, struct cairn_unwind_regs *ret_regs)
{
    cairn_unwind_set(ret_regs, cairn_local_arch->sp, sp);
    cairn_unwind_set(ret_regs, cairn_local_arch->fp, fp);
    return true;
}
