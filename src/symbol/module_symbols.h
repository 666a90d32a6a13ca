/* SPDX-License-Identifier: MIT */
/*
 * The symbol tables of a module, in the order in which they are asked for an address: the more a
 * table knows, the earlier. Each is read when those before it had no answer.
 *
 *     .symtab          of the debug file, else of the image
 *     .gnu_debugdata   of the image, else of the debug file: the .symtab packed into it
 *     .dynsym          of the image
 *     PLT stubs        of the image: module_stubs.h
 */
#ifndef CAIRN_SYMBOL_MODULE_SYMBOLS_H
#define CAIRN_SYMBOL_MODULE_SYMBOLS_H

#include <cairn/symbolizer.h>

#include "elf/symbol_files.h"
#include "elf/symtab.h"
#include "symbol/module_stubs.h"

enum { CAIRN_MODULE_SYMTABS_MAX = 4 };

/* One table, and where it comes from. */
struct cairn_module_symtab {
    enum cairn_symbol_source source;
    struct cairn_elf_symtab symtab;
};

struct cairn_module_symbols {
    struct cairn_module_symtab tables[CAIRN_MODULE_SYMTABS_MAX]; /* none is empty */
    size_t n, n_listed; /* the last one may be of stubs, which no table of the file lists */
    unsigned n_asked;   /* so many of the places above were read */
    struct cairn_elf_data minidebug;
    struct cairn_module_stubs stubs;
    struct cairn_elf_symbol_files files;
    bool has_files;      /* they were read */
    bool has_stub_table; /* they are all known: they are the last table above, or there are none */
};

/* The symbol that covers an address, of the first table that knows one, and that table's source;
 * NULL where none does. Borrowed until the module is unloaded. Damage is logged and costs the
 * damaged table. CAIRN_E_NOMEM. */
int cairn_module_find_symbol(struct cairn_module *m, uint64_t vaddr,
                             const struct cairn_elf_symbol **ret_symbol,
                             enum cairn_symbol_source *ret_source, struct cairn_err *err);

/* The same of symbols that stand in a table of the file, which stubs do not. */
int cairn_module_find_listed(struct cairn_module *m, uint64_t vaddr,
                             const struct cairn_elf_symbol **ret_symbol,
                             enum cairn_symbol_source *ret_source, struct cairn_err *err);

/* The source file of the local symbol of .symtab that is called `name` (without suffix) and covers
 * `vaddr`; NULL where nobody knows. Borrowed until the module is unloaded. */
const char *cairn_module_file_of_symbol(struct cairn_module *m, uint64_t vaddr, const char *name);

/* All tables in their order, sorted, for whoever wants every symbol. Empty ones are left out.
 * Errors and lifetime as above. */
int cairn_module_symbol_tables(struct cairn_module *m,
                               const struct cairn_module_symtab **ret_tables, size_t *ret_n,
                               struct cairn_err *err);

/* What the tables hold in memory, mapped files not counted. */
size_t cairn_module_symbols_bytes(const struct cairn_module_symbols *symbols);

/* Drops the tables; all-zero is fine. They come back with the next look-up. */
void cairn_module_symbols_done(struct cairn_module_symbols *symbols);

#endif /* CAIRN_SYMBOL_MODULE_SYMBOLS_H */
