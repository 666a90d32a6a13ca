/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * The symbol of an address of this process, out of the file of its module: .symtab, and .dynsym
 * where that was stripped. The vdso has no file: its image is read where it lies. Of a file that
 * was deleted or replaced, and cannot be had from the kernel, what it exports is read in memory.
 */
#ifndef CAIRN_UNWIND_PRINT_SYMBOL_H
#define CAIRN_UNWIND_PRINT_SYMBOL_H

#include "unwind/print_maps.h"

enum { CAIRN_PRINT_NAME_BYTES = 512, CAIRN_PRINT_BLOCK_BYTES = 1 << 16 };

struct cairn_print_symbol {
    bool has_rel;
    uintptr_t rel;                     /* of the address, from the load base */
    char name[CAIRN_PRINT_NAME_BYTES]; /* as it is linked; "": none. Longer ones are cut */
    uintptr_t off;                     /* from the symbol's start */
    uint64_t block[CAIRN_PRINT_BLOCK_BYTES / 8]; /* for the file's bytes */
};

/* `map` holds `va`, whose lookup address is `lookup_va` (base/address.h). What is not known stays
 * empty: no file, another one than was mapped, no symbol that covers the address. */
void cairn_print_symbol_find(const struct cairn_print_maps *maps, const struct cairn_print_map *map,
                             uintptr_t va, uintptr_t lookup_va,
                             struct cairn_print_symbol *ret_symbol);

/* The same by what the module whose ELF header is mapped at `image` exports. */
void cairn_print_symbol_in_memory(uintptr_t image, uintptr_t va, uintptr_t lookup_va,
                                  struct cairn_print_symbol *ret_symbol);

#endif /* CAIRN_UNWIND_PRINT_SYMBOL_H */
