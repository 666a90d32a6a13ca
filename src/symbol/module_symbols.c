/* SPDX-License-Identifier: MIT */
#include "symbol/module_symbols.h"

#include "base/error.h"
#include "base/log.h"
#include "code/extent.h"
#include "elf/minidebug.h"
#include "symbol/module.h"

static bool is_one_file(const struct cairn_module *m)
{
    return m->debug.bytes.data == m->image.bytes.data;
}

/* Puts a table behind the others, unless it could not be read or names nothing. */
static int add_table(struct cairn_module *m, int code, struct cairn_module_symtab *table,
                     struct cairn_err *why, struct cairn_err *err)
{
    if (code == CAIRN_OK && !cairn_elf_symtab_is_empty(&table->symtab))
        m->symbols.tables[m->symbols.n_listed++] = *table;
    else if (code == CAIRN_OK)
        cairn_elf_symtab_done(&table->symtab);
    return cairn_bear(m->path, code, why, err);
}

static int add_symtab(struct cairn_module *m, const struct cairn_elf *elf,
                      enum cairn_elf_symtab_kind kind, enum cairn_symbol_source source,
                      struct cairn_err *err)
{
    struct cairn_module_symtab table = {.source = source};
    struct cairn_err why;
    int code = cairn_elf_symtab_open(elf, kind, elf, &table.symtab, &why);
    /* What .symtab would name may lie behind a function without size, which ends before it. */
    if (code == CAIRN_OK && kind == CAIRN_ELF_DYNSYM)
        cairn_code_bound_labels(&table.symtab, elf);
    return add_table(m, code, &table, &why, err);
}

static int read_symtab(struct cairn_module *m, struct cairn_err *err)
{
    int code = add_symtab(m, &m->debug, CAIRN_ELF_SYMTAB, CAIRN_SOURCE_SYMTAB, err);
    if (code == CAIRN_OK && !m->symbols.n_listed && !is_one_file(m))
        code = add_symtab(m, &m->image, CAIRN_ELF_SYMTAB, CAIRN_SOURCE_SYMTAB, err);
    return code;
}

/* Names that the packed file has for other code than the image's would be wrong ones. */
static int read_packed_symtab(const struct cairn_module *m, struct cairn_span file,
                              struct cairn_elf_symtab *ret_symtab, struct cairn_err *err)
{
    struct cairn_elf packed;
    int code = cairn_elf_open(file, &packed, err);
    if (code == CAIRN_OK && packed.machine != m->image.machine)
        code = cairn_fail(err, CAIRN_E_FORMAT, "is of machine %u, its file of machine %u",
                          packed.machine, m->image.machine);
    if (code == CAIRN_OK)
        code = cairn_elf_symtab_open(&packed, CAIRN_ELF_SYMTAB, &m->image, ret_symtab, err);
    return code < 0 ? cairn_fail_in(err, code, "the ELF file in .gnu_debugdata") : CAIRN_OK;
}

static int read_minidebug(struct cairn_module *m, struct cairn_err *err)
{
    struct cairn_module_symtab table = {.source = CAIRN_SOURCE_DEBUGDATA};
    struct cairn_elf_data *file = &m->symbols.minidebug;
    struct cairn_err why;
    cairn_elf_data_done(file);
    int code = cairn_elf_read_minidebug(&m->image, file, &why);
    if (code == CAIRN_OK && !file->bytes.size && !is_one_file(m))
        code = cairn_elf_read_minidebug(&m->debug, file, &why);
    if (code == CAIRN_OK && !file->bytes.size)
        return CAIRN_OK;
    if (code == CAIRN_OK)
        code = read_packed_symtab(m, file->bytes, &table.symtab, &why);
    return add_table(m, code, &table, &why, err);
}

static int read_dynsym(struct cairn_module *m, struct cairn_err *err)
{
    return add_symtab(m, &m->image, CAIRN_ELF_DYNSYM, CAIRN_SOURCE_DYNSYM, err);
}

/* Each adds a table, or none, and is tried again after CAIRN_E_NOMEM. */
static int (*const places[])(struct cairn_module *m, struct cairn_err *err) = {
    read_symtab,
    read_minidebug,
    read_dynsym,
};

enum { N_PLACES = sizeof places / sizeof *places };

static int ask_next_place(struct cairn_module *m, struct cairn_err *err)
{
    int code = places[m->symbols.n_asked](m, err);
    if (code == CAIRN_OK)
        m->symbols.n_asked++;
    m->symbols.n = m->symbols.n_listed;
    return code;
}

int cairn_module_find_listed(struct cairn_module *m, uint64_t vaddr,
                             const struct cairn_elf_symbol **ret_symbol,
                             enum cairn_symbol_source *ret_source, struct cairn_err *err)
{
    struct cairn_module_symbols *symbols = &m->symbols;
    *ret_symbol = NULL;
    *ret_source = CAIRN_SOURCE_NONE;
    for (size_t i = 0; !*ret_symbol; i++) {
        while (i == symbols->n_listed && symbols->n_asked < N_PLACES) {
            int code = ask_next_place(m, err);
            if (code < 0)
                return code;
        }
        if (i == symbols->n_listed)
            break;
        int code = cairn_elf_symtab_ask(&symbols->tables[i].symtab, vaddr, ret_symbol, err);
        if (code < 0)
            return code;
        if (*ret_symbol)
            *ret_source = symbols->tables[i].source;
    }
    return CAIRN_OK;
}

int cairn_module_find_symbol(struct cairn_module *m, uint64_t vaddr,
                             const struct cairn_elf_symbol **ret_symbol,
                             enum cairn_symbol_source *ret_source, struct cairn_err *err)
{
    struct cairn_module_symbols *symbols = &m->symbols;
    const struct cairn_elf_symbol *stub;
    int code = cairn_module_find_listed(m, vaddr, ret_symbol, ret_source, err);
    if (code < 0 || (*ret_symbol && (*ret_symbol)->sized))
        return code;
    /* A label without size may stand for one stub, and reach over all behind it. */
    if (symbols->n_listed < symbols->n)
        code = cairn_elf_symtab_ask(&symbols->tables[symbols->n_listed].symtab, vaddr, &stub, err);
    else if (!symbols->has_stub_table)
        code = cairn_module_find_stub(m, vaddr, &stub, err);
    else
        return CAIRN_OK;
    if (code == CAIRN_OK && stub) {
        *ret_symbol = stub;
        *ret_source = CAIRN_SOURCE_PLT;
    }
    return code;
}

static int add_stub_table(struct cairn_module *m, struct cairn_err *err)
{
    struct cairn_module_symtab table = {.source = CAIRN_SOURCE_PLT};
    struct cairn_err why;
    if (m->symbols.has_stub_table)
        return CAIRN_OK;
    int code = cairn_module_list_stubs(m, &table.symtab, &why);
    if (code == CAIRN_OK && table.symtab.n)
        m->symbols.tables[m->symbols.n++] = table;
    code = cairn_bear(m->path, code, &why, err);
    m->symbols.has_stub_table = code == CAIRN_OK;
    return code;
}

int cairn_module_symbol_tables(struct cairn_module *m,
                               const struct cairn_module_symtab **ret_tables, size_t *ret_n,
                               struct cairn_err *err)
{
    while (m->symbols.n_asked < N_PLACES) {
        int code = ask_next_place(m, err);
        if (code < 0)
            return code;
    }
    int added = add_stub_table(m, err);
    if (added < 0)
        return added;
    for (size_t i = 0; i < m->symbols.n; i++) {
        int code = cairn_elf_symtab_sort(&m->symbols.tables[i].symtab, err);
        if (code < 0)
            return code;
    }
    *ret_tables = m->symbols.tables;
    *ret_n = m->symbols.n;
    return CAIRN_OK;
}

const char *cairn_module_file_of_symbol(struct cairn_module *m, uint64_t vaddr, const char *name)
{
    struct cairn_elf_symbol_files *files = &m->symbols.files;
    if (!m->symbols.has_files) {
        int code = cairn_elf_symbol_files_read(&m->debug, files, NULL);
        if (code != CAIRN_E_NOMEM && !files->n && !is_one_file(m))
            code = cairn_elf_symbol_files_read(&m->image, files, NULL);
        m->symbols.has_files = code != CAIRN_E_NOMEM; /* what is damaged names no symbol either */
    }
    return cairn_elf_symbol_files_find(files, vaddr, name);
}

size_t cairn_module_symbols_bytes(const struct cairn_module_symbols *symbols)
{
    size_t bytes = symbols->minidebug.bytes.size + symbols->stubs.arena.used_bytes +
                   symbols->files.cap * sizeof *symbols->files.locals;
    for (size_t i = 0; i < symbols->n; i++)
        bytes += symbols->tables[i].symtab.n * sizeof *symbols->tables[i].symtab.symbols;
    return bytes;
}

void cairn_module_symbols_done(struct cairn_module_symbols *symbols)
{
    for (size_t i = 0; i < symbols->n; i++)
        cairn_elf_symtab_done(&symbols->tables[i].symtab);
    cairn_elf_data_done(&symbols->minidebug);
    cairn_module_stubs_done(&symbols->stubs);
    cairn_elf_symbol_files_done(&symbols->files);
    *symbols = (struct cairn_module_symbols){0};
}
