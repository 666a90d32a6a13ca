/* SPDX-License-Identifier: MIT */
/*
 * The source files that a symbol table tells of, where debug information does not: each file comes
 * before the local symbols that were made of it. Of global ones, which come last, none is known.
 *
 *     STT_FILE crtstuff.c | deregister_tm_clones | frame_dummy | STT_FILE a.c | helper | ... | main
 */
#ifndef CAIRN_ELF_SYMBOL_FILES_H
#define CAIRN_ELF_SYMBOL_FILES_H

#include "elf/symbol_table.h"

/* A local function; texts are borrowed from the table's names. */
struct cairn_elf_local {
    uint64_t vaddr;
    uint32_t number; /* of its entry */
    const char *name, *file;
};

struct cairn_elf_symbol_files {
    struct cairn_elf_data names;
    struct cairn_elf_local *locals; /* by vaddr, then as in the table */
    size_t n, cap;
};

/* Reads .symtab; one that is absent or tells of no file gives none. Borrows the file's bytes.
 * Errors of cairn_elf_symbol_table_open(). */
int cairn_elf_symbol_files_read(const struct cairn_elf *elf,
                                struct cairn_elf_symbol_files *ret_files, struct cairn_err *err);
void cairn_elf_symbol_files_done(struct cairn_elf_symbol_files *files); /* all-zero is fine */

/* The file of the last local function that begins at or before `vaddr`, if its name begins with
 * `name`, which is that of the symbol without what the compiler hung behind it. NULL: not known. */
const char *cairn_elf_symbol_files_find(const struct cairn_elf_symbol_files *files, uint64_t vaddr,
                                        const char *name);

#endif /* CAIRN_ELF_SYMBOL_FILES_H */
