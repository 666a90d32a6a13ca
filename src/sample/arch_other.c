/* SPDX-License-Identifier: MIT */
/* A CPU whose calls we cannot read yet: the walk takes the kernel's word for every frame, and only
 * the entry code counts as the start of a program. */
#include "sample/arch.h"

bool cairn_arch_knows_calls(void)
{
    return false;
}

bool cairn_arch_call(struct cairn_span code, uint64_t ret, struct cairn_call *ret_call)
{
    (void)code;
    (void)ret;
    *ret_call = (struct cairn_call){0};
    return false;
}

bool cairn_arch_jump(struct cairn_span code, uint64_t va, uint64_t *ret_pointer)
{
    (void)code;
    (void)va;
    (void)ret_pointer;
    return false;
}

bool cairn_arch_exits(struct cairn_span code)
{
    (void)code;
    return false;
}

bool cairn_arch_go_root(struct cairn_span code)
{
    (void)code;
    return false;
}
