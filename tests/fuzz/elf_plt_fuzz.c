/* SPDX-License-Identifier: MIT */
/* What an ELF file says without its section headers, and the stubs of its PLT. */
#include "elf/plt.h"
#include "elf/symtab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sink; /* what is read must be used, or the compiler reads nothing */

static void look(struct cairn_elf_plt *plt, const struct cairn_elf_stub *stub)
{
    struct cairn_elf_stub found;
    bool is_found;
    if (!stub->size || (stub->name && stub->resolver))
        __builtin_trap();
    if (cairn_elf_plt_find(plt, stub->vaddr, &found, &is_found, NULL) == CAIRN_OK && !is_found)
        __builtin_trap(); /* whoever is listed is found */
    sink += stub->name ? strlen(stub->name) : stub->resolver;
}

static void walk(const struct cairn_elf *elf)
{
    struct cairn_elf_plt plt;
    struct cairn_elf_plt_walk at = {0};
    struct cairn_elf_stub stub;
    struct cairn_elf_symtab symtab;
    int code;
    cairn_elf_plt_open(elf, &plt);
    for (int n = 0; n < 1000 && cairn_elf_plt_next(&plt, &at, &stub, &code, NULL); n++)
        look(&plt, &stub);
    cairn_elf_plt_close(&plt);
    if (cairn_elf_symtab_read(elf, CAIRN_ELF_DYNSYM, &symtab, NULL) == CAIRN_OK) {
        for (size_t i = 0; i < symtab.n; i++)
            sink += strlen(symtab.symbols[i].name) + symtab.symbols[i].vaddr;
        cairn_elf_symtab_done(&symtab);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cairn_elf elf;
    if (cairn_elf_open((struct cairn_span){data, size}, &elf, NULL) < 0)
        return 0;
    walk(&elf);
    elf.n_sections = 0;
    walk(&elf);
    return 0;
}
