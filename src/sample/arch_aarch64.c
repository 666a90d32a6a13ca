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

/* mov x0, x0; bl runtime.goexit1 (asm_arm64.s). The address is that behind the first one. */
bool cairn_arch_go_root(struct cairn_span code)
{
    static const uint8_t nop[] = {0xe0, 0x03, 0x00, 0xaa};
    return code.size >= CAIRN_ARCH_GO_BYTES && memcmp(code.data, nop, sizeof nop) == 0 &&
           (code.data[CAIRN_ARCH_GO_BEFORE + 3] & 0xfc) == 0x94;
}
