/* SPDX-License-Identifier: MIT */
/* A symbol table as it stands in the file, for whoever looks for a name and not for an address. */
#ifndef CAIRN_ELF_SYMBOL_NAMES_H
#define CAIRN_ELF_SYMBOL_NAMES_H

#include "elf/symtab.h"

/* One entry. Thread-local data has an offset in the thread's block as its vaddr. */
struct cairn_elf_named {
    const char *name; /* borrowed from the image */
    uint64_t vaddr, size;
    uint8_t type; /* STT_FUNC, STT_GNU_IFUNC, STT_OBJECT, STT_NOTYPE, STT_TLS */
};

/* Valid until it returns. Nonzero ends the reading. */
typedef int (*cairn_elf_named_fn)(void *ctx, const struct cairn_elf_named *named);

/* As cairn_elf_symbols_each(), with sizes, types and thread-local data. */
int cairn_elf_named_each(const struct cairn_elf *elf, enum cairn_elf_symtab_kind kind,
                         cairn_elf_named_fn each, void *ctx, struct cairn_err *err);

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
