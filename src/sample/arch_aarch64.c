/* SPDX-License-Identifier: MIT */
/* What the walk must know of aarch64's code. */
#include "sample/arch.h"
#include "unwind/arch.h"

bool cairn_arch_knows_calls(void)
{
    return true;
}

bool cairn_arch_call(struct cairn_span code, uint64_t ret, struct cairn_call *ret_call)
{
    return cairn_call_aarch64(code, ret, ret_call);
}

/* A PLT entry is adrp, ldr, add, br: nothing needs it, for here libc keeps frame pointers and the
 * walk reaches the entry code itself. */
bool cairn_arch_jump(struct cairn_span code, uint64_t va, uint64_t *ret_pointer)
{
    (void)code;
    (void)va;
    (void)ret_pointer;
    return false;
}

bool cairn_arch_exits(struct cairn_span code)
{
    return cairn_unwind_aarch64.ends_thread(code);
}
