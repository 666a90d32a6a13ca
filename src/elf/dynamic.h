/* SPDX-License-Identifier: MIT */
/*
 * The tables of the dynamic linker (gABI "Dynamic Section"), which a file keeps where its section
 * headers are gone, for the loader finds them by PT_DYNAMIC.
 */
#ifndef CAIRN_ELF_DYNAMIC_H
#define CAIRN_ELF_DYNAMIC_H

#include "elf/image.h"

enum { CAIRN_ELF_RELOCS_MAX = 8 };

/* One table of relocations. */
struct cairn_elf_relocs {
    struct cairn_span bytes;
    bool has_addends; /* SHT_RELA, else SHT_REL: the addend stands where the relocation points */
    bool is_plt;      /* DT_JMPREL: entry n belongs to stub n of the PLT */
};

struct cairn_elf_dynamic {
    struct cairn_span symbols; /* whole entries from symbol 0 on, and maybe more behind them */
    size_t symbol_size;        /* of one entry */
    size_t n_symbols;          /* so many are known to be symbols; those that are not exported may
                                  lie behind them, or not be counted */
    struct cairn_span names;
    struct cairn_elf_relocs relocs[CAIRN_ELF_RELOCS_MAX];
    size_t n_relocs;
    uint64_t got_vaddr; /* what i386 code keeps in EBX; 0: unknown */
};

struct cairn_elf_reloc {
    uint64_t vaddr; /* of what it fills */
    uint32_t type, symbol;
    uint64_t addend; /* 0 without addends */
};

/* By PT_DYNAMIC; where that leads to no relocations (a static program), by the section headers.
 * What is not there, or lies out of the file, is empty: everything borrows from the image. */
void cairn_elf_read_dynamic(const struct cairn_elf *elf, struct cairn_elf_dynamic *ret_dynamic);

/* Entry `index`; false past the end. */
bool cairn_elf_reloc(const struct cairn_elf *elf, const struct cairn_elf_relocs *relocs,
                     uint64_t index, struct cairn_elf_reloc *ret_reloc);

/* Calls `fn` with each library that the loader would load for this file (DT_NEEDED), and with the
 * folders, with colons between, that the file says to search (DT_RUNPATH, DT_RPATH; "": none). Both
 * are borrowed from the image. False: `fn` said so, and it was the last. */
typedef bool (*cairn_elf_needed_fn)(void *ctx, const char *name, const char *folders);
bool cairn_elf_each_needed(const struct cairn_elf *elf, cairn_elf_needed_fn fn, void *ctx);

/* The name of a symbol that a relocation speaks of; NULL where there is none. */
const char *cairn_elf_dynamic_name(const struct cairn_elf *elf,
                                   const struct cairn_elf_dynamic *dynamic, uint32_t symbol);

#endif /* CAIRN_ELF_DYNAMIC_H */
