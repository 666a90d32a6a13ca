/* SPDX-License-Identifier: MIT */
/* The input is an ELF file, all of whose code is followed as if nothing described it: what is said
 * of it is sound. */
#include <elf.h>

#include "dwarf/cfi.h"
#include "unwind/derive.h"

enum { GAPS_MAX = 16, BYTES_MAX = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A CFA is counted from one of two registers, and not below what is pushed by a call. */
static bool check(void *ctx, const struct cairn_cfi_row *row)
{
    (void)ctx;
    if (row->cfa.where != CAIRN_CFI_IN_REG || (row->cfa.reg != 6 && row->cfa.reg != 7) ||
        row->cfa.value < 8)
        __builtin_trap();
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cairn_elf elf;
    struct cairn_elf_section section;
    struct cairn_elf_symtab symtab = {0};
    struct cairn_derive_gap gaps[GAPS_MAX];
    struct cairn_buffer frames = {0};
    struct cairn_fde fde;
    uint64_t reached = 0;
    if (cairn_elf_open((struct cairn_span){data, size}, &elf, NULL) < 0)
        return 0;
    (void)cairn_elf_symtab_read(&elf, CAIRN_ELF_SYMTAB, &symtab, NULL);
    const struct cairn_elf_symtab *symtabs[] = {&symtab};
    struct cairn_derive_input input = {&elf, gaps, 0, symtabs, 1};
    for (uint32_t i = 0; cairn_elf_section(&elf, i, &section) && input.n_gaps < GAPS_MAX; i++)
        if (section.flags & SHF_EXECINSTR && section.vaddr >= reached && section.size &&
            section.size <= BYTES_MAX && section.vaddr <= UINT64_MAX - BYTES_MAX) {
            reached = section.vaddr + section.size;
            gaps[input.n_gaps++] = (struct cairn_derive_gap){section.vaddr, reached};
        }
    (void)cairn_derive(&input, &frames);
    const struct cairn_cfi cfi = {.bytes = cairn_buffer_span(&frames),
                                  .machine = EM_X86_64,
                                  .address_size = 8,
                                  .debug_frame = true};
    struct cairn_cfi_iter iter = {.cfi = &cfi};
    while (cairn_cfi_next(&iter, &fde))
        if (!cairn_cfi_run(&cfi, &fde, check, NULL))
            __builtin_trap();
    if (iter.n_damaged)
        __builtin_trap();
    cairn_elf_symtab_done(&symtab);
    cairn_buffer_done(&frames);
    return 0;
}
