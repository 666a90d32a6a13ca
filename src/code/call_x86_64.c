/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Calls of x86-64, read backwards from a return address:
 *
 *     e8 rel32                        call target
 *     ff 15 rel32                     call *pointer(%rip)
 *     [40-4f] ff /2 [sib] [disp]      call *register, call *memory: 2 to 8 bytes
 */
#include "code/call.h"

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

bool cairn_call_x86_64(struct cairn_span code, uint64_t ret, struct cairn_call *ret_call)
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
