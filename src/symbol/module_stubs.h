/* SPDX-License-Identifier: MIT */
/*
 * Stubs of the procedure linkage table as symbols, which no symbol table has:
 *
 *     memcpy@plt             the stub through which memcpy is called, by the slot that it loads
 *     strchr@plt             an IRELATIVE slot: by the name of the function that chooses
 *     *ABS*+0x4010f0@plt     the same where that function has no name, as objdump writes it
 *     .plt                   the first entry, through which the others reach the dynamic linker
 */
#ifndef CAIRN_SYMBOL_MODULE_STUBS_H
#define CAIRN_SYMBOL_MODULE_STUBS_H

#include "base/arena.h"
#include "base/table.h"
#include "elf/plt.h"
#include "elf/symtab.h"

struct cairn_module;

struct cairn_module_stubs {
    bool opened; /* the rest is valid */
    struct cairn_elf_plt plt;
    struct cairn_elf_symbol **known; /* those asked for so far */
    size_t n, cap;
    struct cairn_table known_at; /* vaddr of a stub -> index in known */
    struct cairn_arena arena;
};

/* The stub that holds an address, NULL where none does; borrowed until the module is unloaded.
 * CAIRN_E_NOMEM. */
int cairn_module_find_stub(struct cairn_module *m, uint64_t vaddr,
                           const struct cairn_elf_symbol **ret_symbol, struct cairn_err *err);

/* All of them, as a sorted table whose names the module keeps; empty where there are none.
 * CAIRN_E_NOMEM. CAIRN_E_LIMIT: their names would take more than 64 MiB. */
int cairn_module_list_stubs(struct cairn_module *m, struct cairn_elf_symtab *ret_symtab,
                            struct cairn_err *err);

void cairn_module_stubs_done(struct cairn_module_stubs *stubs); /* all-zero is fine */

#endif /* CAIRN_SYMBOL_MODULE_STUBS_H */
