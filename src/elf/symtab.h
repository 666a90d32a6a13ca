/* SPDX-License-Identifier: MIT */
/*
 * Function symbols of one image, sorted by address, for look-ups that never answer with the
 * nearest symbol: what lies between two symbols is unknown.
 */
#ifndef CAIRN_ELF_SYMTAB_H
#define CAIRN_ELF_SYMTAB_H

#include "elf/compressed.h"

struct cairn_elf_symbol {
    uint64_t vaddr;   /* Thumb bit cleared */
    uint64_t size;    /* never 0, never past its section */
    const char *name; /* borrowed from the image */
    uint8_t bind;     /* STB_GLOBAL, STB_WEAK, STB_LOCAL */
    uint8_t type;     /* STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE (assembly) */
    bool sized;       /* the table said so; else it reaches up to the next symbol or section end */
    bool shared;      /* another symbol of another name covers the very same bytes (folded code,
                         aliases); the C1/C2 and D1/D2 of one class do not count */
};

struct cairn_elf_reach;

struct cairn_elf_symtab {
    struct cairn_elf_symbol *symbols; /* sorted by vaddr; at equal vaddrs the larger first; aliases
                                         side by side, the best first: global before weak before
                                         local, functions before labels, then by name */
    size_t n;
    struct cairn_elf_reach *reaches; /* who answers from a vaddr on, sorted */
    size_t n_reaches;
    struct cairn_elf_data data, names; /* what the names borrow from, where it was compressed */
};

enum cairn_elf_symtab_kind {
    CAIRN_ELF_SYMTAB, /* .symtab */
    CAIRN_ELF_DYNSYM  /* .dynsym */
};

/*
 * An absent table is an empty one. Mapping symbols ($x, $d, $a, $t), undefined ones, data, sections
 * and files are left out; so are those outside executable sections (which in a debug file hold no
 * bytes, but are executable all the same), and all of a relocatable file, where a symbol's value is
 * no vaddr. Names out of the string table are "". CAIRN_E_FORMAT: the table runs past the file.
 */
int cairn_elf_symtab_read(const struct cairn_elf *elf, enum cairn_elf_symtab_kind kind,
                          struct cairn_elf_symtab *ret_symtab, struct cairn_err *err);

/* The same for a table that speaks of another file's code, as the one inside .gnu_debugdata does:
 * symbols of a section that does not lie in code of `image` are left out. */
int cairn_elf_symtab_read_for(const struct cairn_elf *elf, enum cairn_elf_symtab_kind kind,
                              const struct cairn_elf *image, struct cairn_elf_symtab *ret_symtab,
                              struct cairn_err *err);
void cairn_elf_symtab_done(struct cairn_elf_symtab *symtab);

/*
 * The best symbol that covers `vaddr`, or NULL: a sized one before a label without size, of nested
 * ones the innermost.
 */
const struct cairn_elf_symbol *cairn_elf_symtab_find(const struct cairn_elf_symtab *symtab,
                                                     uint64_t vaddr);

#endif /* CAIRN_ELF_SYMTAB_H */
