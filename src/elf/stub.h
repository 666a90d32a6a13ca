/* SPDX-License-Identifier: MIT */
/*
 * Machine code of PLT stubs: which slot of the global offset table does a stub jump through?
 * Linkers order stubs as they like and have several kinds; the slot is what they all have.
 */
#ifndef CAIRN_ELF_STUB_H
#define CAIRN_ELF_STUB_H

#include "elf/image.h"

/* Code in which stubs are looked for. */
struct cairn_elf_code {
    const struct cairn_elf *elf;
    struct cairn_span bytes;
    uint64_t vaddr; /* of the first byte */
    uint64_t got_vaddr;
};

struct cairn_elf_stub_code {
    uint64_t size; /* with its padding */
    uint64_t slot; /* vaddr */
    bool by_index; /* it knows no slot, but pushes the number of its relocation, in `slot`; so does
                      the lazy half of a stub where the CPU checks indirect branches */
};

enum { CAIRN_ELF_STUB_BYTES_MAX = 32 };

/* The distance at which stubs of this machine may begin; 0: they are not known. */
unsigned cairn_elf_stub_step(const struct cairn_elf *elf);

/* The stub that begins exactly at `vaddr`, a multiple of the step. False where the bytes there are
 * none that a linker writes: the first entry of a PLT, which calls the loader, is none either. */
bool cairn_elf_stub_decode(const struct cairn_elf_code *code, uint64_t vaddr,
                           struct cairn_elf_stub_code *ret_stub);

#endif /* CAIRN_ELF_STUB_H */
