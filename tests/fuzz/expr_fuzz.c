/* SPDX-License-Identifier: MIT */
/*
 * DWARF expressions.
 *
 *     | flags: 1 = the other byte order, 2 = 32 bit, 4 = with a CFA, 8 = without memory
 *     | which registers are known, 1 byte for 0..7; 16 is | the expression |
 */
#include "dwarf/expr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_memory(void *ctx, uint64_t va, void *to, size_t size)
{
    uint64_t *n_reads = ctx;
    uint64_t value = va * 0x9e3779b97f4a7c15;
    ++*n_reads;
    if (size > sizeof value)
        __builtin_trap();
    memcpy(to, &value, size);
    return va % 16 != 9;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint64_t regs[64] = {1,      0x7fffffffffffffff, 1ull << 63, 16, 0xffffffff, 0,
                                      0x7000, 0x7ffc0000,         0};
    uint64_t n_reads = 0, value = 0, again = 0;
    struct cairn_memory memory = {read_memory, &n_reads};
    if (size < 2)
        return 0;
    struct cairn_expr_input input = {.regs = regs,
                                     .known = data[1] | 1ull << 16,
                                     .memory = data[0] & 8 ? NULL : &memory,
                                     .cfa = 0x7ffc1230,
                                     .has_cfa = data[0] & 4,
                                     .swap = data[0] & 1,
                                     .address_size = data[0] & 2 ? 4 : 8};
    struct cairn_span expr = {data + 2, size - 2};
    bool sound = cairn_expr_eval(expr, &input, &value);
    if (n_reads > CAIRN_EXPR_STEPS || (data[0] & 2 && value > UINT32_MAX) || (!sound && value))
        __builtin_trap();
    if (cairn_expr_eval(expr, &input, &again) != sound || value != again)
        __builtin_trap();
    return 0;
}
