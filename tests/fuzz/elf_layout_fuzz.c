/* SPDX-License-Identifier: MIT */
/* Relocatable files: what is laid out can be asked as any other file. */
#include "elf/layout.h"
#include "elf/symtab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sink; /* what is read must be used, or the compiler reads nothing */

static void ask(const struct cairn_elf *elf)
{
    static const char *const names[] = {".debug_info", ".debug_line", ".debug_str", ".text"};
    struct cairn_elf_symtab symtab;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct cairn_elf_data section;
        if (cairn_elf_read_section(elf, names[i], &section, NULL) < 0)
            continue;
        for (size_t at = 0; at < section.bytes.size; at += 64)
            sink += section.bytes.data[at];
        cairn_elf_data_done(&section);
    }
    if (cairn_elf_symtab_read(elf, CAIRN_ELF_SYMTAB, &symtab, NULL) == CAIRN_OK) {
        for (size_t i = 0; i < symtab.n; i++)
            sink += strlen(symtab.symbols[i].name) + symtab.symbols[i].vaddr;
        cairn_elf_symtab_done(&symtab);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cairn_elf elf, laid_out;
    struct cairn_elf_data file;
    if (cairn_elf_open((struct cairn_span){data, size}, &elf, NULL) < 0 ||
        cairn_elf_lay_out(&elf, &file, NULL) < 0)
        return 0;
    if (cairn_elf_open(file.bytes, &laid_out, NULL) == CAIRN_OK)
        ask(&laid_out);
    cairn_elf_data_done(&file);
    return 0;
}
