/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Calls of 32-bit arm (DDI 0406C, A8.8.25 and A8.8.26), read backwards from a return address, whose
 * bit 0 says which of the two sets of instructions it is in:
 *
 *     A32   bl, blx immediate, blx register; mov lr, pc with a jump behind it (before ARMv5)
 *     T32   bl and blx immediate are two halfwords, blx register is one
 */
#include "code/call.h"

/* Code is little-endian, but on machines that are long gone. */
static uint32_t half(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8;
}

static bool thumb_call(struct cairn_span code, uint32_t ret, struct cairn_call *ret_call)
{
    const uint8_t *end = code.data + code.size;
    if (code.size >= 4) {
        uint32_t first = half(end - 4), second = half(end - 2);
        bool bl = (second & 0xd000) == 0xd000, blx = (second & 0xd001) == 0xc000;
        if ((first & 0xf800) == 0xf000 && (bl || blx)) {
            uint32_t sign = first >> 10 & 1, j1 = second >> 13 & 1, j2 = second >> 11 & 1;
            uint32_t far = sign << 24 | (uint32_t)(j1 == sign) << 23 | (uint32_t)(j2 == sign) << 22;
            uint32_t off = far | (first & 0x3ff) << 12 | (second & 0x7ff) << 1;
            off |= sign ? 0xfe000000 : 0;
            ret_call->target = bl ? ret + off : (ret & ~3u) + (off & ~3u);
            return true;
        }
    }
    return code.size >= 2 && (half(end - 2) & 0xff87) == 0x4780;
}

/* A jump by writing pc: mov pc, register; ldr pc, ...; bx register. */
static bool jumps(uint32_t word)
{
    return (word & 0x0fffffff) >> 4 == 0x12fff1 || (word & 0x0ffffff0) == 0x01a0f000 ||
           (word & 0x0c10f000) == 0x0410f000;
}

bool cairn_call_arm(struct cairn_span code, uint64_t ret, struct cairn_call *ret_call)
{
    *ret_call = (struct cairn_call){0};
    if (ret & 1)
        return thumb_call(code, (uint32_t)ret & ~1u, ret_call);
    if (code.size < 4 || ret % 4)
        return false;
    const uint8_t *end = code.data + code.size;
    uint32_t word = half(end - 4) | half(end - 2) << 16;
    if ((word & 0x0f000000) == 0x0b000000 || word >> 25 == 0x7d) { /* bl; blx to Thumb */
        uint32_t off = (uint32_t)((int32_t)(word << 8) >> 6);
        ret_call->target = (uint32_t)ret + 4 + off;
        if (word >> 28 == 0xf)
            ret_call->target += word >> 23 & 2;
        return true;
    }
    if ((word & 0x0ffffff0) == 0x012fff30) /* blx register */
        return true;
    return jumps(word) && code.size >= 8 && (half(end - 8) | half(end - 6) << 16) == 0xe1a0e00f;
}
