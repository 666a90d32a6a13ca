/* SPDX-License-Identifier: MIT */
/* Bytes as arm's code: three of them say where it is entered and how, the others are the code. What
 * comes of it counts from a register, and from each place it ends. */
#include "unwind/arm_code.h"

enum { BASE = 0x10000, HEAD = 3 };

static bool read_code(void *ctx, uint64_t va, void *to, size_t size)
{
    const struct cairn_span *code = ctx;
    struct cairn_span part;
    if (!cairn_span_slice(*code, va - BASE, size, &part))
        return false;
    memcpy(to, part.data, size);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEAD)
        return 0;
    struct cairn_span code = {data + HEAD, size - HEAD};
    const struct cairn_memory memory = {read_code, &code};
    struct cairn_cfi_row index = {.from = BASE, .to = BASE + data[1]}, row;
    struct cairn_arm_code_room room;
    index.cfa = (struct cairn_cfi_rule){
        .where = CAIRN_CFI_IN_REG, .reg = data[2] & 15, .value = data[2] >> 4 << 3};
    index.regs[14] = (struct cairn_cfi_rule){.where = CAIRN_CFI_AT_CFA, .value = -4};
    const struct cairn_arm_code input = {.memory = &memory,
                                         .ip = BASE + (data[0] & 0x7cu),
                                         .is_thumb = data[0] & 1,
                                         .is_leaf = data[0] & 2,
                                         .row = data[1] ? &index : NULL};
    if (cairn_arm_code_row(&input, &room, &row) == CAIRN_ARM_WAY_ROW &&
        (row.cfa.where != CAIRN_CFI_IN_REG || row.cfa.reg > 15 ||
         row.regs[14].where == CAIRN_CFI_UNDEFINED))
        __builtin_trap();
    return 0;
}
