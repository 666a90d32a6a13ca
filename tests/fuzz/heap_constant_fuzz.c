/* SPDX-License-Identifier: MIT */
/* One byte for the machine, then the code of a function that may return a constant. */
#include <elf.h>

#include "watch/constant.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint16_t machines[] = {EM_X86_64, EM_AARCH64, EM_ARM};
    if (!size)
        return 0;
    const struct cairn_span code = {data + 1, size - 1};
    uint16_t machine = machines[data[0] % 3];
    uint64_t number, address;
    bool is_number =
        cairn_heap_constant_of_code(machine, code, 0x1000, CAIRN_HEAP_CONSTANT_NUMBER, &number);
    bool is_address =
        cairn_heap_constant_of_code(machine, code, 0x1000, CAIRN_HEAP_CONSTANT_ADDRESS, &address);
    if ((machine == EM_X86_64 && is_number != is_address) ||
        (machine == EM_AARCH64 && is_number && (is_address || number > UINT16_MAX)) ||
        (machine == EM_ARM && (is_number || is_address)))
        __builtin_trap();
    return 0;
}
