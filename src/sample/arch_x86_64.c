/* SPDX-License-Identifier: MIT */
/* What the walk must know of x86-64's code. The jump of a PLT entry: [f3 0f 1e fa] [f2] ff 25
 * rel32. */
#include <asm/perf_regs.h>
#include <elf.h>

#include "sample/arch.h"
#include "unwind/arch.h"

bool cairn_arch_knows_calls(void)
{
    return true;
}

static int32_t read_i32(const uint8_t *bytes)
{
    int32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

bool cairn_arch_call(struct cairn_span code, uint64_t ret, struct cairn_call *ret_call)
{
    return cairn_call_x86_64(code, ret, ret_call);
}

bool cairn_arch_jump(struct cairn_span code, uint64_t va, uint64_t *ret_pointer)
{
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    size_t at = 0;
    if (code.size >= sizeof endbr64 && memcmp(code.data, endbr64, sizeof endbr64) == 0)
        at += sizeof endbr64;
    if (at < code.size && code.data[at] == 0xf2) /* bnd */
        at++;
    if (code.size < at + 6 || code.data[at] != 0xff || code.data[at + 1] != 0x25)
        return false;
    *ret_pointer = va + at + 6 + (uint64_t)(int64_t)read_i32(code.data + at + 2);
    return true;
}

bool cairn_arch_exits(struct cairn_span code)
{
    return cairn_unwind_x86_64.ends_thread(code);
}

/* The segment registers between flags and r8 are not for 64-bit programs. */
const struct cairn_arch_perf cairn_arch_perf = {
    .mask = ((1ull << (PERF_REG_X86_IP + 1)) - 1) | 0xffull << PERF_REG_X86_R8,
    .n = 17,
    .sp = PERF_REG_X86_SP,
    .ip = PERF_REG_X86_IP,
    .elf = EM_X86_64,
    .dwarf = {0, 3, 2, 1, 4, 5, 6, 7, 16, 8, 9, 10, 11, 12, 13, 14, 15},
};
