/* SPDX-License-Identifier: MIT */
/* Go's table of functions, and the call frame information that is made of it: the input is a file.
 */
#include <stddef.h>
#include <stdint.h>

#include "elf/go_table.h"
#include "unwind/go_runtime.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cairn_elf elf;
    struct cairn_go_table table;
    uint8_t frames[CAIRN_GO_BYTES];
    if (cairn_elf_open((struct cairn_span){data, size}, &elf, NULL) != CAIRN_OK ||
        !cairn_go_table_open(&elf, &table))
        return 0;
    for (uint64_t i = 0; i <= table.n; i++) {
        struct cairn_span name;
        uint64_t start, from, to;
        if (cairn_go_table_start(&table, i, &start) &&
            cairn_go_table_find(&table, start, &from, &to) && !(from <= start && start < to))
            __builtin_trap();
        if (cairn_go_table_name(&table, i, &name) &&
            (!name.size || name.data + name.size > data + size))
            __builtin_trap();
    }
    if (cairn_go_frames(&elf, frames) > sizeof frames)
        __builtin_trap();
    return 0;
}
