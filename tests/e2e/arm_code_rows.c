/* SPDX-License-Identifier: MIT */
/* arm_code_rows FILE: of each line "ADDRESS a|t" of the input, an instruction and its set, holds
 * the row that the code gives against that of .debug_frame. Prints those that differ, and how many
 * there are of each kind; for arm_code_agree.py. */
#include <inttypes.h>
#include <stdio.h>

#include "base/file.h"
#include "support/cfifile.h"
#include "unwind/arm_code.h"
#include "unwind/sections.h"

static struct cairn_elf elf;

static bool read_file(void *ctx, uint64_t va, void *to, size_t size)
{
    struct cairn_elf_segment segment;
    (void)ctx;
    for (uint32_t i = 0; i < elf.n_segments && cairn_elf_segment(&elf, i, &segment); i++)
        if (segment.type == PT_LOAD && va >= segment.vaddr &&
            va - segment.vaddr < segment.file_size &&
            size <= segment.file_size - (va - segment.vaddr)) {
            memcpy(to, elf.bytes.data + segment.off + (va - segment.vaddr), size);
            return true;
        }
    return false;
}

static void print_row(const struct cairn_cfi_row *row)
{
    printf(" r%u%+" PRId64, row->cfa.reg, row->cfa.value);
    for (unsigned reg = 4; reg < 15; reg++)
        if (row->regs[reg].where == CAIRN_CFI_AT_CFA)
            printf(" %u=%" PRId64, reg, row->regs[reg].value);
        else if (row->regs[reg].where != CAIRN_CFI_SAME)
            printf(" %u?", reg);
}

/* The CFA may be counted from another register: only where both count from one can it differ. */
static bool is_equal(const struct cairn_cfi_row *a, const struct cairn_cfi_row *b)
{
    if (a->cfa.where != CAIRN_CFI_IN_REG ||
        (a->cfa.reg == b->cfa.reg && a->cfa.value != b->cfa.value))
        return false;
    for (unsigned reg = 4; reg < 15; reg++)
        if (reg != 12 && reg != 13 &&
            (a->regs[reg].where != b->regs[reg].where || a->regs[reg].value != b->regs[reg].value))
            return false;
    return true;
}

int main(int argc, char **argv)
{
    struct cairn_file file;
    struct cairn_err err;
    struct cairn_unwind_sections sections;
    unsigned address, n = 0, n_silent = 0, n_other = 0, n_uncovered = 0, n_exits = 0;
    char set;
    const struct cairn_memory memory = {read_file, NULL};
    if (argc < 2 || cairn_file_open(argv[1], &file, &err) < 0 ||
        cairn_elf_open(file.bytes, &elf, &err) < 0 ||
        !cairn_unwind_sections_of_file(&elf, &sections)) {
        fprintf(stderr, "arm_code_rows FILE\n");
        return 2;
    }
    while (scanf("%x %c", &address, &set) == 2) {
        struct cairn_cfi_row index, expected, row;
        struct cairn_fde fde;
        struct cairn_arm_code_room room;
        size_t i;
        bool has_index = cairn_exidx_find(&sections.exidx, address, &i) &&
                         cairn_exidx_row(&sections.exidx, i, &index) == CAIRN_EXIDX_ROW;
        const struct cairn_arm_code code = {.memory = &memory,
                                            .ip = address,
                                            .is_thumb = set == 't',
                                            .is_leaf = true,
                                            .row = has_index ? &index : NULL};
        n++;
        enum cairn_arm_way way = cairn_arm_code_row(&code, &room, &row);
        bool has_rows = cairn_cfi_find(&sections.debug_frame, address, &fde) &&
                        cairn_cfi_row_at(&sections.debug_frame, &fde, address, &expected);
        n_uncovered += !has_rows;
        n_exits += way == CAIRN_ARM_WAY_EXIT;
        if (way != CAIRN_ARM_WAY_ROW) {
            n_silent++;
            if (has_rows)
                printf("%x: silent\n", address);
        } else if (has_rows && !is_equal(&row, &expected)) {
            n_other++;
            printf("%x:", address);
            print_row(&row);
            printf(", .debug_frame has");
            print_row(&expected);
            printf("\n");
        }
    }
    printf("%u instructions, %u without rows, %u silent, %u exit, %u differ\n", n, n_uncovered,
           n_silent, n_exits, n_other);
    cairn_file_close(&file);
    return 0;
}
