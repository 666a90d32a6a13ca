/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include <ucontext.h>

#include "unwind/local_cpu.h"

const struct cairn_unwind_arch *const cairn_local_arch = &cairn_unwind_aarch64;

enum { X19 = 19, X30 = 30, SP = 31 };

/* x19 to x29, and sp. */
const uint64_t cairn_local_saved = ((UINT64_C(1) << X30) - (UINT64_C(1) << X19)) | UINT64_C(1)
                                                                                       << SP;

void cairn_local_context_regs(const void *ucontext, struct cairn_unwind_regs *ret_regs)
{
    const ucontext_t *context = ucontext;
    ret_regs->known = 0;
    for (unsigned i = 0; i <= X30; i++)
        cairn_unwind_set(ret_regs, i, context->uc_mcontext.regs[i]);
    cairn_unwind_set(ret_regs, SP, context->uc_mcontext.sp);
    ret_regs->ip = cairn_local_arch->code_address(context->uc_mcontext.pc);
}

bool cairn_local_here_regs(uintptr_t sp, uintptr_t fp, struct cairn_unwind_regs *ret_regs)
{
    cairn_unwind_set(ret_regs, cairn_local_arch->sp, sp);
    cairn_unwind_set(ret_regs, cairn_local_arch->fp, fp);
    return true;
}
