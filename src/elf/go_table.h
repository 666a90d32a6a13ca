/* SPDX-License-Identifier: MIT */
/*
 * Go's table of functions. Go programs need it at run time, and keep it when they are stripped.
 *
 *     1.2    | magic word-size | n | (pc, func off) ... pc |                       names anywhere
 *     1.16   | magic word-size | n  files  names  cu  file tab  pc tab  functions  |
 *     1.18,  | magic word-size | n  files  text  names  cu  file tab  pc tab  functions |
 *     1.20                        functions: | (u32 pc - text, u32 func off) ... pc |
 *
 *     func   | entry (word, or u32 from text) | i32 name | ...
 *
 * Sources: Go 1.2 Runtime Symbol Information (golang.org/s/go12symtab); src/runtime/symtab.go of
 * Go 1.16, 1.18 and 1.20 for the header and struct _func.
 */
#ifndef CAIRN_ELF_GO_TABLE_H
#define CAIRN_ELF_GO_TABLE_H

#include "elf/image.h"

struct cairn_go_table {
    struct cairn_span bytes;            /* of the file */
    bool swap, is_narrow;               /* entries of u32, from `text` */
    uint8_t word;                       /* bytes */
    uint64_t n, text, names, functions; /* functions; a vaddr; the last two: offsets */
};

/* False: the file has none, or one that is damaged. *ret_table is empty then. */
bool cairn_go_table_open(const struct cairn_elf *elf, struct cairn_go_table *ret_table);

/* Where function `i` begins; i == n: where the last one ends. False: outside of the table. */
bool cairn_go_table_start(const struct cairn_go_table *table, uint64_t i, uint64_t *ret_vaddr);

/* The function that holds `vaddr`, in O(log n). Of a damaged table any extent that holds it. */
bool cairn_go_table_find(const struct cairn_go_table *table, uint64_t vaddr, uint64_t *ret_from,
                         uint64_t *ret_to);

/* From the linkage name of function `i` to the table's end; who reads on finds the NUL, or none. */
bool cairn_go_table_name(const struct cairn_go_table *table, uint64_t i,
                         struct cairn_span *ret_from_name);

#endif /* CAIRN_ELF_GO_TABLE_H */
