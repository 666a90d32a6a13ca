/* SPDX-License-Identifier: MIT */
/*
 * The procedure linkage table: stubs through which code calls functions of other modules.
 *
 *     address ──► stub that holds it ──► slot of the GOT ──► relocation of that slot ──► symbol
 *                 (stub.h)               jmp *slot(%rip)     R_X86_64_JUMP_SLOT          "memcpy"
 *
 * Looked for in executable sections called .plt, .plt.sec, .plt.got, .iplt and the like. Where the
 * section headers are gone any executable code may be a stub: there its bytes must be one's, and
 * its slot must be filled by a JUMP_SLOT or GLOB_DAT relocation.
 */
#ifndef CAIRN_ELF_PLT_H
#define CAIRN_ELF_PLT_H

#include "elf/dynamic.h"
#include "elf/stub.h"

enum { CAIRN_ELF_PLT_REGIONS_MAX = 16 };

struct cairn_elf_stub {
    uint64_t vaddr, size;
    const char *name;  /* of the symbol that the slot is for, borrowed; NULL: */
    uint64_t resolver; /* vaddr of the function that chooses what to call (IRELATIVE); 0: */
    bool is_header;    /* the first entry, which calls the dynamic linker */
};

struct cairn_elf_plt_region {
    struct cairn_elf_code code;
    bool is_section;
    bool has_header; /* .plt itself */
};

/* All-zero it has no stubs: that of a module whose image is not at hand, as a debug file alone. */
struct cairn_elf_plt {
    const struct cairn_elf *elf;
    struct cairn_elf_plt_region regions[CAIRN_ELF_PLT_REGIONS_MAX];
    size_t n_regions;
    bool has_slots; /* the rest is valid */
    struct cairn_elf_dynamic dynamic;
    struct cairn_elf_slot *slots; /* by vaddr */
    size_t n_slots;
};

/* Finds where stubs may lie; relocations are read when they are needed. `elf` must stay. */
void cairn_elf_plt_open(const struct cairn_elf *elf, struct cairn_elf_plt *ret_plt);
void cairn_elf_plt_close(struct cairn_elf_plt *plt); /* all-zero is fine */

/* The stub that holds an address; `*ret_found` is false where none does. CAIRN_E_NOMEM. */
int cairn_elf_plt_find(struct cairn_elf_plt *plt, uint64_t vaddr, struct cairn_elf_stub *ret_stub,
                       bool *ret_found, struct cairn_err *err);

/* All stubs, one after the other, in the order of their addresses within each region. */
struct cairn_elf_plt_walk {
    size_t region, off; /* in that region; all-zero: before the first */
};

/* False after the last one; then `*ret_code` tells whether memory was gone. */
bool cairn_elf_plt_next(struct cairn_elf_plt *plt, struct cairn_elf_plt_walk *walk,
                        struct cairn_elf_stub *ret_stub, int *ret_code, struct cairn_err *err);

#endif /* CAIRN_ELF_PLT_H */
