/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/* Calls of aarch64: bl, blr and the blraa family are one word each, in little-endian order. */
#include "code/call.h"

bool cairn_call_aarch64(struct cairn_span code, uint64_t ret, struct cairn_call *ret_call)
{
    *ret_call = (struct cairn_call){0};
    if (code.size < 4 || ret % 4)
        return false;
    const uint8_t *last = code.data + code.size - 4;
    uint32_t word = last[0] | last[1] << 8 | last[2] << 16 | (uint32_t)last[3] << 24;
    if ((word & 0xfc000000) == 0x94000000) { /* bl: 26 bits of words, signed */
        int64_t words = (int32_t)(word << 6) >> 6;
        ret_call->target = ret - 4 + (uint64_t)(words * 4);
        return true;
    }
    return (word & 0xfefff000) == 0xd63f0000; /* blr, blraa, blrab and their z forms */
}
