/* SPDX-License-Identifier: MIT */
/* Places of a module by their names: sections and symbols. */
#include <elf.h>

#include <cairn/symbolizer.h>

#include "base/error.h"
#include "elf/symbol_names.h"
#include "symbol/demangle.h"
#include "symbol/module.h"

int cairn_module_find_section(const struct cairn_module *module, const char *name,
                              uint64_t *ret_vaddr, uint64_t *ret_size)
{
    struct cairn_elf_section section;
    if (!cairn_elf_find_section(&module->image, name, &section) &&
        !cairn_elf_find_section(&module->debug, name, &section))
        return 0;
    *ret_vaddr = section.vaddr;
    *ret_size = section.size;
    return 1;
}

int cairn_module_next_section(const struct cairn_module *module, uint32_t *number,
                              uint64_t *ret_vaddr, uint64_t *ret_size)
{
    struct cairn_elf_section section;
    while (cairn_elf_section(&module->image, *number, &section)) {
        ++*number;
        if (!(section.flags & SHF_ALLOC) || section.type == SHT_NULL)
            continue;
        *ret_vaddr = section.vaddr;
        *ret_size = section.size;
        return 1;
    }
    return 0;
}

/* One search. What is looked for is a linkage name, or with a demangler a demangled one. */
struct search {
    const char *name;
    struct cairn_demangler *demangler; /* NULL: as the table has it */
    uint64_t vaddr;
};

enum { FOUND = 1 };

static int compare(void *ctx, const char *name, uint64_t vaddr)
{
    struct search *search = ctx;
    if (search->demangler)
        name = cairn_demangle(search->demangler, name, strlen(name));
    if (strcmp(name, search->name) != 0)
        return 0;
    search->vaddr = vaddr;
    return FOUND;
}

/* FOUND, or CAIRN_OK, or an error. The dynamic table serves where there is no other. */
static int search_tables(const struct cairn_module *m, struct search *search, struct cairn_err *err)
{
    int code = cairn_elf_symbols_each(&m->debug, CAIRN_ELF_SYMTAB, compare, search, err);
    if (code == CAIRN_OK && m->debug.bytes.data != m->image.bytes.data)
        code = cairn_elf_symbols_each(&m->image, CAIRN_ELF_SYMTAB, compare, search, err);
    if (code == CAIRN_OK)
        code = cairn_elf_symbols_each(&m->image, CAIRN_ELF_DYNSYM, compare, search, err);
    return code;
}

int cairn_module_find_name(const struct cairn_module *module, const char *name, uint64_t *ret_vaddr,
                           struct cairn_err *err)
{
    struct search search = {.name = name};
    struct cairn_demangler demangler = {.names = CAIRN_NAMES_FULL};
    int code = search_tables(module, &search, err);
    if (code == CAIRN_OK && strpbrk(name, ":(<")) { /* else nothing demangles to it */
        search.demangler = &demangler;
        code = search_tables(module, &search, err);
        cairn_demangler_done(&demangler);
    }
    if (code == CAIRN_OK)
        return cairn_fail(err, CAIRN_E_MISSING, "%s: no symbol is named \"%s\"", module->path,
                          name);
    if (code != FOUND)
        return code;
    *ret_vaddr = search.vaddr;
    return CAIRN_OK;
}
