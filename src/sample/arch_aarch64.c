/* SPDX-License-Identifier: MIT */
/* What the walk must know of aarch64's code. */
#include <asm/perf_regs.h>
#include <elf.h>

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

/* x0 to x30, sp, pc: the same order as DWARF's. */
const struct cairn_arch_perf cairn_arch_perf = {
    .mask = (1ull << (PERF_REG_ARM64_PC + 1)) - 1,
    .n = 33,
    .sp = PERF_REG_ARM64_SP,
    .ip = PERF_REG_ARM64_PC,
    .elf = EM_AARCH64,
    .dwarf = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
              17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32},
};
