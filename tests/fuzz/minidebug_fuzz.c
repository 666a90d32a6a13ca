/* SPDX-License-Identifier: MIT */
/* The contents of .gnu_debugdata: an ELF file with symbols, packed by xz. */
#include "base/xz.h"
#include "elf/symtab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LIMIT = 1 << 20 };

static uint64_t sink; /* what is read must be used, or the compiler reads nothing */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cairn_buffer file = {0};
    struct cairn_elf elf;
    struct cairn_elf_symtab symtab;
    int code = cairn_xz_unpack((struct cairn_span){data, size}, LIMIT, &file, NULL);
    if (file.size > (code == CAIRN_OK ? LIMIT : 0))
        __builtin_trap();
    if (code == CAIRN_OK && cairn_elf_open(cairn_buffer_span(&file), &elf, NULL) == CAIRN_OK &&
        cairn_elf_symtab_read(&elf, CAIRN_ELF_SYMTAB, &symtab, NULL) == CAIRN_OK) {
        for (size_t i = 0; i < symtab.n; i++)
            sink += strlen(symtab.symbols[i].name) + symtab.symbols[i].vaddr;
        cairn_elf_symtab_done(&symtab);
    }
    cairn_buffer_done(&file);
    return 0;
}
