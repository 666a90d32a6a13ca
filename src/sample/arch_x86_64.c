/* SPDX-License-Identifier: MIT */
/*
 * Calls of x86-64, read backwards from a return address:
 *
 *     e8 rel32                        call target
 *     ff 15 rel32                     call *pointer(%rip)
 *     [40-4f] ff /2 [sib] [disp]      call *register, call *memory: 2 to 8 bytes
 *
 * and the jump of a PLT entry: [f3 0f 1e fa] [f2] ff 25 rel32.
 */
#include <asm/perf_regs.h>

#include "sample/arch.h"

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

/* Length of ff /2 with this ModRM (and SIB), without a prefix; 0: it is no such call. */
static size_t indirect_call_size(const uint8_t *modrm, size_t left)
{
    if ((*modrm & 0x38) != 0x10)
        return 0;
    unsigned mod = *modrm >> 6, rm = *modrm & 7;
    if (mod == 3)
        return 2;
    if (rm != 4)
        return mod == 1 ? 3 : mod == 2 || rm == 5 ? 6 : 2;
    if (left < 2)
        return 0;
    return mod == 1 ? 4 : mod == 2 || (modrm[1] & 7) == 5 ? 7 : 3;
}

bool cairn_arch_call(struct cairn_span code, uint64_t ret, struct cairn_call *ret_call)
{
    const uint8_t *end = code.data + code.size;
    *ret_call = (struct cairn_call){0};
    if (code.size >= 5 && end[-5] == 0xe8) {
        ret_call->target = ret + (uint64_t)(int64_t)read_i32(end - 4);
        return true;
    }
    if (code.size >= 6 && end[-6] == 0xff && end[-5] == 0x15) {
        ret_call->pointer = ret + (uint64_t)(int64_t)read_i32(end - 4);
        return true;
    }
    for (size_t size = 2; size <= 7 && size <= code.size; size++)
        if (end[-(ptrdiff_t)size] == 0xff && indirect_call_size(end - size + 1, size - 1) == size)
            return true;
    return false;
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

/* mov $60 (exit) into eax or al, then syscall, at once (glibc, musl). */
bool cairn_arch_exits(struct cairn_span code)
{
    bool number = false;
    for (size_t i = 0; i + 1 < code.size && i < 16; i++) {
        if ((code.data[i] == 0xb8 || code.data[i] == 0xb0) && code.data[i + 1] == 60)
            number = true;
        if (number && code.data[i] == 0x0f && code.data[i + 1] == 0x05)
            return true;
    }
    return false;
}

uint64_t cairn_arch_perf_sp(void)
{
    return 1ull << PERF_REG_X86_SP;
}
