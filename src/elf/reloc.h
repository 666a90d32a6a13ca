/* SPDX-License-Identifier: MIT */
/*
 * Relocations: what a linker would write into the debug sections of a relocatable file (gABI
 * "Relocation"; the kinds are those of each CPU's psABI). Only what debug sections hold is known:
 * addresses and offsets, absolute or counted from their own place.
 */
#ifndef CAIRN_ELF_RELOC_H
#define CAIRN_ELF_RELOC_H

#include "elf/image.h"

/* Are relocations of this machine known? x86-64, i386, aarch64 and arm are. */
bool cairn_elf_can_relocate(uint16_t machine);

/* What relocations refer to, and how they fared. */
struct cairn_elf_relocator {
    const struct cairn_elf *elf;
    const uint64_t *values; /* of each symbol: its vaddr */
    size_t n_values;
    uint64_t n_applied;
    uint64_t n_outside;      /* places that do not lie in the section */
    uint64_t n_symbols_lost; /* symbols that are not in the table */
    uint64_t n_unknown;      /* kinds that are not known here, */
    uint32_t first_unknown;  /* and the first of them */
};

/* Applies the entries of one SHT_RELA or SHT_REL section to the section that they are for, whose
 * first byte is at `vaddr`. What cannot be applied is counted, and leaves its place as it is. */
void cairn_elf_relocate(struct cairn_elf_relocator *relocator, struct cairn_span entries,
                        bool has_addends, uint8_t *bytes, size_t size, uint64_t vaddr);

/* Writes an integer of 2, 4 or 8 bytes in the file's byte order. */
void cairn_elf_put(uint8_t *at, unsigned width, uint64_t value, bool swap);

#endif /* CAIRN_ELF_RELOC_H */
