/* SPDX-License-Identifier: MIT */
/*
 * A symbol table as it stands in the file (gABI "Symbol Table"), and its entries one by one:
 *
 *     Elf64_Sym: u32 name  u8 info  u8 other  u16 section  u64 value  u64 size
 *     Elf32_Sym: u32 name  u32 value  u32 size  u8 info  u8 other  u16 section
 *
 * Look-ups by address: symtab.h.
 */
#ifndef CAIRN_ELF_SYMBOL_TABLE_H
#define CAIRN_ELF_SYMBOL_TABLE_H

#include "elf/compressed.h"

struct cairn_elf_symbol {
    uint64_t vaddr;   /* Thumb bit cleared */
    uint64_t size;    /* never 0, never past its section */
    const char *name; /* borrowed from the image */
    uint8_t bind;     /* STB_GLOBAL, STB_WEAK, STB_LOCAL */
    uint8_t type;     /* STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE (assembly) */
    bool sized;       /* the table said so; else it reaches up to the next symbol, data or mapping
                         symbol, or its section's end */
    bool shared;      /* another symbol of another name covers the very same bytes (folded code,
                         aliases); the C1/C2 and D1/D2 of one class do not count */
};

enum cairn_elf_symtab_kind {
    CAIRN_ELF_SYMTAB, /* .symtab */
    CAIRN_ELF_DYNSYM  /* .dynsym */
};

/* What an entry of a table is. */
enum cairn_elf_entry {
    CAIRN_ELF_ENTRY_NONE, /* neither */
    CAIRN_ELF_ENTRY_CODE, /* the name of code */
    CAIRN_ELF_ENTRY_END   /* a mapping symbol or data in code: what has no size ends here */
};

struct cairn_elf_symbol_place;

struct cairn_elf_symbol_table {
    struct cairn_elf_data data, names;
    struct cairn_span section_numbers;     /* SHT_SYMTAB_SHNDX, or empty */
    struct cairn_elf_symbol_place *places; /* by number of the section */
    struct cairn_elf_symbol_place *code;   /* the code among them, sorted by vaddr */
    uint32_t n_places, n_code;
    uint32_t n; /* entries; number 0 names nothing */
    size_t entry_size;
    bool by_segments; /* the section headers are gone: `places` are the executable segments */
    uint16_t machine;
    bool is64, swap;
    bool names_end; /* with a NUL, so that each of them does */
};

/* Finds the table, .dynsym by PT_DYNAMIC where no section header tells of it; an absent one has no
 * entries, and neither has that of a relocatable file, where a symbol's value is no vaddr. `image`,
 * if it is not `elf`: symbols of a section that does not lie in its code are left out. Borrows the
 * file's bytes. CAIRN_E_FORMAT, CAIRN_E_LIMIT, CAIRN_E_NOMEM. */
int cairn_elf_symbol_table_open(const struct cairn_elf *elf, enum cairn_elf_symtab_kind kind,
                                const struct cairn_elf *image,
                                struct cairn_elf_symbol_table *ret_table, struct cairn_err *err);
void cairn_elf_symbol_table_done(struct cairn_elf_symbol_table *table); /* all-zero is fine */

/*
 * Entry `number`, which is below `n`; a symbol without size reaches up to the end of its section.
 * CAIRN_ELF_ENTRY_NONE: undefined and absolute symbols, thread-local ones, sections and files, what
 * lies outside executable sections (which in a debug file hold no bytes, but are executable all the
 * same), marks of tools (.annobin_*, .L*), and what has no name in the string table.
 */
enum cairn_elf_entry cairn_elf_symbol_table_read(const struct cairn_elf_symbol_table *table,
                                                 uint32_t number,
                                                 struct cairn_elf_symbol *ret_symbol);

/* The same; false where the entry is no name of code. */
bool cairn_elf_symbol_table_get(const struct cairn_elf_symbol_table *table, uint32_t number,
                                struct cairn_elf_symbol *ret_symbol);

/* What the compiler was called with, where entry `number` is that of a file; else NULL. */
const char *cairn_elf_symbol_table_file(const struct cairn_elf_symbol_table *table,
                                        uint32_t number);

/* The next entry from `number` on that may hold `vaddr`, by value and size alone; `n` where there
 * is none. Two loads and a comparison for each entry: tables of a million are searched so. */
uint32_t cairn_elf_symbol_table_next(const struct cairn_elf_symbol_table *table, uint32_t number,
                                     uint64_t vaddr);

#endif /* CAIRN_ELF_SYMBOL_TABLE_H */
