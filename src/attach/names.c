/* SPDX-License-Identifier: MIT */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "attach/modules.h"
#include "base/error.h"
#include "elf/dynamic.h"
#include "elf/symbol_table.h"

struct finding {
    const struct cairn_loaded_modules *modules;
    struct cairn_wanted_function *functions;
    size_t n;
};

static int compare(const void *name, const void *function)
{
    return strcmp(name, ((const struct cairn_wanted_function *)function)->name);
}

static int compare_functions(const void *x, const void *y)
{
    return compare(((const struct cairn_wanted_function *)x)->name, y);
}

/* The first module that has it gave it its place. */
static void found(const struct finding *finding, size_t module, const char *name, uint64_t vaddr,
                  uint64_t bytes)
{
    struct cairn_wanted_function *function =
        bsearch(name, finding->functions, finding->n, sizeof *finding->functions, compare);
    if (!function || function->module <= module)
        return;
    function->module = module;
    function->va = finding->modules->items[module].bias + vaddr;
    function->bytes = bytes;
}

static bool read_symbol(const struct cairn_elf_dynamic *dynamic, size_t number, Elf64_Sym *ret)
{
    struct cairn_span bytes;
    if (!cairn_span_slice(dynamic->symbols, (uint64_t)number * sizeof *ret, sizeof *ret, &bytes))
        return false;
    memcpy(ret, bytes.data, sizeof *ret);
    return ret->st_shndx != SHN_UNDEF && ELF64_ST_BIND(ret->st_info) != STB_LOCAL;
}

/* IFUNCs are not what is called. */
static void find_exported(const struct finding *finding, size_t module)
{
    const struct cairn_elf *elf = &finding->modules->items[module].elf;
    struct cairn_elf_dynamic dynamic;
    Elf64_Sym symbol;
    cairn_elf_read_dynamic(elf, &dynamic);
    for (size_t i = 1; i < dynamic.n_symbols; i++) {
        const char *name;
        if (read_symbol(&dynamic, i, &symbol) && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
            (name = cairn_elf_dynamic_name(elf, &dynamic, (uint32_t)i)))
            found(finding, module, name, symbol.st_value, symbol.st_size);
    }
}

static int find_in_program(const struct finding *finding, struct cairn_err *err)
{
    struct cairn_elf_symbol_table table;
    struct cairn_elf_symbol symbol;
    const struct cairn_elf *elf = &finding->modules->items[0].elf;
    int result = cairn_elf_symbol_table_open(elf, CAIRN_ELF_SYMTAB, elf, &table, err);
    if (result < 0)
        return result;
    for (uint32_t i = 1; i < table.n; i++)
        if (cairn_elf_symbol_table_get(&table, i, &symbol) && symbol.bind != STB_LOCAL &&
            symbol.type == STT_FUNC)
            found(finding, 0, symbol.name, symbol.vaddr, symbol.size);
    cairn_elf_symbol_table_done(&table);
    return CAIRN_OK;
}

int cairn_loaded_find(const struct cairn_loaded_modules *modules,
                      struct cairn_wanted_function *functions, size_t n, struct cairn_err *err)
{
    const struct finding finding = {modules, functions, n};
    qsort(functions, n, sizeof *functions, compare_functions);
    for (size_t i = 0; i < n; i++)
        functions[i].module = SIZE_MAX;
    for (size_t i = 0; i < modules->n; i++)
        if (modules->items[i].has_file)
            find_exported(&finding, i);
    return modules->n == 1 ? find_in_program(&finding, err) : CAIRN_OK;
}

const struct cairn_wanted_function *
cairn_loaded_found(const struct cairn_wanted_function *functions, size_t n, const char *name)
{
    const struct cairn_wanted_function *function =
        bsearch(name, functions, n, sizeof *functions, compare);
    return function && function->module != SIZE_MAX ? function : NULL;
}

static uint64_t object_of(const struct cairn_loaded_module *module, const char *wanted)
{
    struct cairn_elf_dynamic dynamic;
    Elf64_Sym symbol;
    cairn_elf_read_dynamic(&module->elf, &dynamic);
    for (size_t i = 1; i < dynamic.n_symbols; i++) {
        const char *name = cairn_elf_dynamic_name(&module->elf, &dynamic, (uint32_t)i);
        if (name && strcmp(name, wanted) == 0 && read_symbol(&dynamic, i, &symbol) &&
            ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT)
            return module->bias + symbol.st_value;
    }
    return 0;
}

uint64_t cairn_loaded_object(const struct cairn_loaded_modules *modules, const char *name)
{
    for (size_t i = 0; i < modules->n; i++) {
        uint64_t va = modules->items[i].has_file ? object_of(&modules->items[i], name) : 0;
        if (va)
            return va;
    }
    return 0;
}
