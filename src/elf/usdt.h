/* SPDX-License-Identifier: MIT */
/*
 * USDT: the notes of static probes (SystemTap, "UserSpaceProbeImplementation"), in .note.stapsdt,
 * which is not loaded. Each note is one place of a probe:
 *
 *     owner "stapsdt", type 3, descriptor:
 *     address pc | address base | address semaphore | provider NUL | name NUL | arguments NUL
 *
 * Prelink moves code and not these addresses. `base` was the address of the section .stapsdt.base,
 * so what that section has moved by has to be added.
 */
#ifndef CAIRN_ELF_USDT_H
#define CAIRN_ELF_USDT_H

#include "elf/image.h"

enum { CAIRN_ELF_USDT_NAME_MAX = 127 }; /* bytes of a provider or a name */

struct cairn_elf_usdt_note {
    size_t off;         /* of the note in its section */
    uint64_t vaddr;     /* of the instruction */
    uint64_t semaphore; /* vaddr of two bytes that count who traces the probe; 0: it has none */
    const char *provider, *name; /* printable, without blanks and colons; borrowed from the notes */
    const char *args;            /* "8@%rdi -4@$5"; any bytes; borrowed likewise */
};

struct cairn_elf_usdt_notes {
    struct cairn_reader reader;
    unsigned width; /* of an address: 4 or 8 */
    uint64_t base;  /* vaddr of .stapsdt.base; 0: there is no such section */
    uint32_t n;     /* notes that were read */
};

/* CAIRN_E_MISSING: the file has no such notes. CAIRN_E_FORMAT: they lie out of the file. */
int cairn_elf_usdt_open(const struct cairn_elf *elf, struct cairn_elf_usdt_notes *ret_notes,
                        struct cairn_err *err);

/* The next one: 1; 0 at the end. CAIRN_E_FORMAT: it is damaged, and nothing behind it is read.
 * CAIRN_E_LIMIT. */
int cairn_elf_usdt_next(struct cairn_elf_usdt_notes *notes, struct cairn_elf_usdt_note *ret_note,
                        struct cairn_err *err);

#endif /* CAIRN_ELF_USDT_H */
