/* SPDX-License-Identifier: MIT */
/* What the walk must know of x86-64's code. The jump of a PLT entry: [f3 0f 1e fa] [f2] ff 25
 * rel32. */
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

/* nop; call runtime.goexit1; nop (asm_amd64.s). The address is that behind the first one. */
bool cairn_arch_go_root(struct cairn_span code)
{
    const uint8_t *at = code.data + CAIRN_ARCH_GO_BEFORE;
    return code.size >= CAIRN_ARCH_GO_BYTES && at[-1] == 0x90 && at[0] == 0xe8 && at[5] == 0x90;
}
