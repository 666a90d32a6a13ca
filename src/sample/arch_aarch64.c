/* SPDX-License-Identifier: MIT */
/* Calls of aarch64: bl, blr and the blraa family are one word each. */
#include <asm/perf_regs.h>

#include "sample/arch.h"

static uint32_t read_word(const uint8_t *bytes)
{
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

bool cairn_arch_knows_calls(void)
{
    return true;
}

bool cairn_arch_call(struct cairn_span code, uint64_t ret, struct cairn_call *ret_call)
{
    *ret_call = (struct cairn_call){0};
    if (code.size < 4 || ret % 4)
        return false;
    uint32_t word = read_word(code.data + code.size - 4);
    if ((word & 0xfc000000) == 0x94000000) { /* bl: 26 bits of words, signed */
        int64_t words = (int32_t)(word << 6) >> 6;
        ret_call->target = ret - 4 + (uint64_t)(words * 4);
        return true;
    }
    return (word & 0xfefff000) == 0xd63f0000; /* blr, blraa, blrab and their z forms */
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

/* mov x8, #93 (exit), then svc #0, at once. */
bool cairn_arch_exits(struct cairn_span code)
{
    bool number = false;
    for (size_t i = 0; i + 4 <= code.size && i < 16; i += 4) {
        uint32_t word = read_word(code.data + i);
        number |= word == 0xd2800ba8;
        if (number && word == 0xd4000001)
            return true;
    }
    return false;
}

uint64_t cairn_arch_perf_sp(void)
{
    return 1ull << PERF_REG_ARM64_SP;
}
