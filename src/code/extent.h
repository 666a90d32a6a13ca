/* SPDX-License-Identifier: MIT */
/*
 * Extent: how far a function reaches whose symbol has no size, such as memset of musl, behind which
 * its libc has others that no symbol names. All ways from the first instruction are followed; what
 * they come to in one piece is the function's.
 *
 *     memset            je, jmp ...       ret │ syscall ...                  next symbol
 *     ├──────── reached by its ways ──────────┤ nobody's
 */
#ifndef CAIRN_CODE_EXTENT_H
#define CAIRN_CODE_EXTENT_H

#include "code/flow.h"
#include "elf/symtab.h"

/* Bytes of `code`, from its begin, that belong to the function that begins there. All of it where
 * that is not known: a jump by a register, no instruction, more than 64 KiB, a CPU of which nothing
 * is known (x86-64 and aarch64 are). CAIRN_E_NOMEM. */
int cairn_code_extent(uint16_t machine, struct cairn_span code, size_t *ret_size);

/* From now on functions without size reach that far in the table, which is not sorted yet. `image`:
 * the file with the code; borrowed as long as there is the table. */
void cairn_code_bound_labels(struct cairn_elf_symtab *symtab, const struct cairn_elf *image);

#endif /* CAIRN_CODE_EXTENT_H */
