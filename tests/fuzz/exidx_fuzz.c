/* SPDX-License-Identifier: MIT */
/* .ARM.exidx and .ARM.extab: two bytes say how much of the input is the index and, in the top bit,
 * in which byte order; the rest is .ARM.extab right behind it. */
#include "unwind/exidx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint64_t sink; /* what is read must be used, or the compiler reads nothing */
    if (size < 2)
        return 0;
    size_t index = (size_t)(data[0] | (data[1] & 0x7f) << 8);
    data += 2;
    size -= 2;
    index = index < size ? index : size;
    struct cairn_exidx exidx = {{data, index},
                                0x10000,
                                {data + index, size - index},
                                0x10000 + (uint32_t)index,
                                data[-1] >> 7};
    size_t found;
    for (size_t i = 0; i < cairn_exidx_count(&exidx) && i < 256; i++) {
        struct cairn_cfi_row row;
        uint32_t start = cairn_exidx_start(&exidx, i);
        if (cairn_exidx_find(&exidx, start, &found) && found >= cairn_exidx_count(&exidx))
            __builtin_trap();
        if (cairn_exidx_row(&exidx, i, &row) != CAIRN_EXIDX_ROW)
            continue;
        if (row.from > row.to || row.cfa.where != CAIRN_CFI_IN_REG || row.cfa.reg > 14)
            __builtin_trap();
        sink += (uint64_t)row.regs[14].value;
    }
    return sink == 1;
}
