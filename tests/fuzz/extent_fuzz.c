/* SPDX-License-Identifier: MIT */
/* Code, and in the first byte for which CPU: how far the function that begins there reaches. */
#include <elf.h>

#include "code/extent.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t extent, again;
    if (size < 2)
        return 0;
    const uint16_t machine = data[0] & 1 ? EM_AARCH64 : EM_X86_64;
    struct cairn_span code = {data + 1, size - 1};
    if (cairn_code_extent(machine, code, &extent) < 0)
        return 0;
    if (extent == 0 || extent > code.size)
        __builtin_trap();
    /* What does not belong to it changes nothing, unless ways went through there and back. */
    code.size = extent;
    if (cairn_code_extent(machine, code, &again) == 0 && (again == 0 || again > extent))
        __builtin_trap();
    return 0;
}
