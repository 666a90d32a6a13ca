/* SPDX-License-Identifier: MIT */
/*
 * Which symbols decide about one address. All others could be absent from the table, and the answer
 * of symtab.h would be the same:
 *
 *     covered by a size    the innermost, and those with the very same bytes
 *     else                 what begins at the last place before the address, what reaches over that
 *                          place, and the next symbol, where labels end; labels are cut at data
 */
#ifndef CAIRN_ELF_SYMTAB_SCAN_H
#define CAIRN_ELF_SYMTAB_SCAN_H

#include "elf/symbol_table.h"

/* Writes them to `symbols` in any order. False: they are more than `cap`. */
bool cairn_elf_symtab_scan(const struct cairn_elf_symbol_table *table, uint64_t vaddr,
                           struct cairn_elf_symbol *symbols, size_t cap, size_t *ret_n);

#endif /* CAIRN_ELF_SYMTAB_SCAN_H */
