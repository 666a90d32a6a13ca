/* SPDX-License-Identifier: MIT */
/*
 * Function symbols of one image, for look-ups that never answer with the nearest symbol: what lies
 * between two symbols is unknown. The first look-ups go through the table as it stands in the file,
 * because sorting it takes as long as dozens of them; then it is sorted after all.
 */
#ifndef CAIRN_ELF_SYMTAB_H
#define CAIRN_ELF_SYMTAB_H

#include "elf/symbol_table.h"

enum { CAIRN_ELF_SYMTAB_SCANS = 4 };

struct cairn_elf_reach;

/* Bytes of the function at `vaddr`, whose symbol has no size and may reach so far: fewer, where
 * that is known. `image`: what the table was given. CAIRN_E_NOMEM. */
typedef int cairn_elf_size_label_fn(const struct cairn_elf *image, uint64_t vaddr,
                                    uint64_t *inout_size);

struct cairn_elf_symtab {
    struct cairn_elf_symbol *symbols; /* sorted by vaddr; at equal vaddrs the larger first; aliases
                                         side by side, the best first: global before weak before
                                         local, functions before labels, then fewer leading
                                         underscores, then the longer name */
    size_t n;
    struct cairn_elf_reach *reaches; /* who answers from a vaddr on, sorted */
    size_t n_reaches;
    struct cairn_elf_symbol_table table;                     /* what the names borrow from */
    bool sorted;                                             /* all of the above is valid */
    bool has_ends;                                           /* data or mapping symbols in code */
    struct cairn_elf_symbol scanned[CAIRN_ELF_SYMTAB_SCANS]; /* answers given before */
    unsigned n_scans;
    cairn_elf_size_label_fn *size_label; /* or NULL: up to the next symbol */
    const struct cairn_elf *image;
};

/* Finds the table and sorts nothing. `image` and errors: cairn_elf_symbol_table_open(). */
int cairn_elf_symtab_open(const struct cairn_elf *elf, enum cairn_elf_symtab_kind kind,
                          const struct cairn_elf *image, struct cairn_elf_symtab *ret_symtab,
                          struct cairn_err *err);

/* Does it name no code at all? */
bool cairn_elf_symtab_is_empty(const struct cairn_elf_symtab *symtab);

/* Sorts the table, once; whoever wants all symbols calls it, and look-ups read only from then on.
 * CAIRN_E_NOMEM: nothing has changed. */
int cairn_elf_symtab_sort(struct cairn_elf_symtab *symtab, struct cairn_err *err);

/* Opened and sorted. */
int cairn_elf_symtab_read(const struct cairn_elf *elf, enum cairn_elf_symtab_kind kind,
                          struct cairn_elf_symtab *ret_symtab, struct cairn_err *err);

/* Makes a sorted table of symbols that were put together by hand: a heap block, which the table
 * takes over. CAIRN_E_NOMEM: it is freed. */
int cairn_elf_symtab_of(struct cairn_elf_symbol *symbols, size_t n,
                        struct cairn_elf_symtab *ret_symtab, struct cairn_err *err);

void cairn_elf_symtab_done(struct cairn_elf_symtab *symtab); /* all-zero is fine */

/*
 * The best symbol that covers `vaddr`, or NULL: a sized one before a label without size, of nested
 * ones the innermost. The table is sorted.
 */
const struct cairn_elf_symbol *cairn_elf_symtab_find(const struct cairn_elf_symtab *symtab,
                                                     uint64_t vaddr);

/* The same of any table: the first look-ups scan it, a later one sorts it. Borrowed until the table
 * is done. CAIRN_E_NOMEM. */
int cairn_elf_symtab_ask(struct cairn_elf_symtab *symtab, uint64_t vaddr,
                         const struct cairn_elf_symbol **ret_symbol, struct cairn_err *err);

#endif /* CAIRN_ELF_SYMTAB_H */
