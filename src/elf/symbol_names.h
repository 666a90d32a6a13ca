/* SPDX-License-Identifier: MIT */
/* A symbol table as it stands in the file, for whoever looks for a name and not for an address. */
#ifndef CAIRN_ELF_SYMBOL_NAMES_H
#define CAIRN_ELF_SYMBOL_NAMES_H

#include "elf/symtab.h"

/* `name` is borrowed until it returns. Nonzero ends the reading. */
typedef int (*cairn_elf_symbol_fn)(void *ctx, const char *name, uint64_t vaddr);

/*
 * Functions, data and labels of a table, in its order; undefined ones, sections, files,
 * thread-local data and what has no name are left out, and so is all of a relocatable file. Returns
 * what `each` returned where that was not 0. CAIRN_E_FORMAT and others of cairn_elf_read_section().
 */
int cairn_elf_symbols_each(const struct cairn_elf *elf, enum cairn_elf_symtab_kind kind,
                           cairn_elf_symbol_fn each, void *ctx, struct cairn_err *err);

#endif /* CAIRN_ELF_SYMBOL_NAMES_H */
