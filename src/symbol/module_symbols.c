/* SPDX-License-Identifier: MIT */
#include "symbol/module_symbols.h"

#include "base/error.h"
#include "symbol/module.h"

/* Reads one table and puts it behind the others, unless it names nothing. */
static int add_symtab(struct cairn_module *m, const struct cairn_elf *elf,
                      enum cairn_elf_symtab_kind kind, enum cairn_symbol_source source,
                      struct cairn_err *err)
{
    struct cairn_module_symtab table = {.source = source};
    struct cairn_err why;
    int code = cairn_elf_symtab_read(elf, kind, &table.symtab, &why);
    if (code == CAIRN_OK && table.symtab.n)
        m->symbols.tables[m->symbols.n++] = table;
    else
        cairn_elf_symtab_done(&table.symtab);
    return cairn_module_bear(m, code, &why, err);
}

static int read_symbols(struct cairn_module *m, struct cairn_err *err)
{
    struct cairn_module_symbols *symbols = &m->symbols;
    int code = add_symtab(m, &m->debug, CAIRN_ELF_SYMTAB, CAIRN_SOURCE_SYMTAB, err);
    if (code == CAIRN_OK && !symbols->n && m->debug.bytes.data != m->image.bytes.data)
        code = add_symtab(m, &m->image, CAIRN_ELF_SYMTAB, CAIRN_SOURCE_SYMTAB, err);
    if (code == CAIRN_OK)
        code = add_symtab(m, &m->image, CAIRN_ELF_DYNSYM, CAIRN_SOURCE_DYNSYM, err);
    if (code < 0) {
        cairn_module_symbols_done(symbols);
        return code;
    }
    symbols->read = true;
    return CAIRN_OK;
}

int cairn_module_find_symbol(struct cairn_module *m, uint64_t vaddr,
                             const struct cairn_elf_symbol **ret_symbol,
                             enum cairn_symbol_source *ret_source, struct cairn_err *err)
{
    int code = m->symbols.read ? CAIRN_OK : read_symbols(m, err);
    if (code < 0)
        return code;
    *ret_symbol = NULL;
    *ret_source = CAIRN_SOURCE_NONE;
    for (size_t i = 0; i < m->symbols.n && !*ret_symbol; i++) {
        *ret_symbol = cairn_elf_symtab_find(&m->symbols.tables[i].symtab, vaddr);
        if (*ret_symbol)
            *ret_source = m->symbols.tables[i].source;
    }
    return CAIRN_OK;
}

int cairn_module_symbol_tables(struct cairn_module *m,
                               const struct cairn_module_symtab **ret_tables, size_t *ret_n,
                               struct cairn_err *err)
{
    int code = m->symbols.read ? CAIRN_OK : read_symbols(m, err);
    if (code < 0)
        return code;
    *ret_tables = m->symbols.tables;
    *ret_n = m->symbols.n;
    return CAIRN_OK;
}

size_t cairn_module_symbols_bytes(const struct cairn_module_symbols *symbols)
{
    size_t bytes = 0;
    for (size_t i = 0; i < symbols->n; i++)
        bytes += symbols->tables[i].symtab.n * sizeof *symbols->tables[i].symtab.symbols;
    return bytes;
}

void cairn_module_symbols_done(struct cairn_module_symbols *symbols)
{
    for (size_t i = 0; i < symbols->n; i++)
        cairn_elf_symtab_done(&symbols->tables[i].symtab);
    *symbols = (struct cairn_module_symbols){0};
}
