/* SPDX-License-Identifier: MIT */
/* exidx_rows FILE: every entry of .ARM.exidx, for exidx_agree.py: its function, then what it says:
 * "cantunwind", "refuses", "odd", "damaged", or "r13+8 4=-8 14=-4": the CFA, and where registers
 * are saved relative to it. */
#include <inttypes.h>
#include <stdio.h>

#include "base/file.h"
#include "support/cfifile.h"
#include "unwind/exidx.h"

static void print_row(const struct cairn_cfi_row *row)
{
    printf("r%u%+" PRId64, row->cfa.reg, row->cfa.value);
    for (unsigned reg = 0; reg < CAIRN_CFI_REGS; reg++)
        if (row->regs[reg].where == CAIRN_CFI_AT_CFA)
            printf(" %u=%" PRId64, reg, row->regs[reg].value);
}

int main(int argc, char **argv)
{
    static const char *const words[] = {"", "cantunwind", "refuses", "odd", "damaged"};
    struct cairn_file file;
    struct cairn_elf elf;
    struct cairn_err err;
    uint64_t index = 0, extab = 0;
    if (argc != 2 || cairn_file_open(argv[1], &file, &err) < 0 ||
        cairn_elf_open(file.bytes, &elf, &err) < 0) {
        fprintf(stderr, "exidx_rows FILE\n");
        return 2;
    }
    struct cairn_exidx exidx = {.swap = elf.swap};
    exidx.index = test_section(&elf, ".ARM.exidx", &index);
    exidx.extab = test_section(&elf, ".ARM.extab", &extab);
    exidx.index_vaddr = (uint32_t)index;
    exidx.extab_vaddr = (uint32_t)extab;
    for (size_t i = 0, found; i < cairn_exidx_count(&exidx); i++) {
        struct cairn_cfi_row row;
        uint32_t start = cairn_exidx_start(&exidx, i);
        enum cairn_exidx_result result = cairn_exidx_row(&exidx, i, &row);
        if (!cairn_exidx_find(&exidx, start, &found) || found != i)
            printf("not found: ");
        printf("%" PRIx32 " %s", start, words[result]);
        if (result == CAIRN_EXIDX_ROW)
            print_row(&row);
        printf("\n");
    }
    cairn_file_close(&file);
    return 0;
}
