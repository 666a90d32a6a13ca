/* SPDX-License-Identifier: MIT */
/* The CFI of an ELF file, for programs of tests that are given one. */
#ifndef CAIRN_TESTS_CFIFILE_H
#define CAIRN_TESTS_CFIFILE_H

#include "dwarf/cfi.h"
#include "elf/image.h"

static inline struct cairn_span test_section(const struct cairn_elf *elf, const char *name,
                                             uint64_t *ret_vaddr)
{
    struct cairn_elf_section section;
    struct cairn_span bytes = {0};
    if (cairn_elf_find_section(elf, name, &section) &&
        cairn_elf_section_bytes(elf, &section, &bytes))
        *ret_vaddr = section.vaddr;
    return bytes;
}

/* `section` is ".eh_frame" or ".debug_frame"; the bytes are empty where there is none. */
static inline struct cairn_cfi test_cfi_of_file(const struct cairn_elf *elf, const char *section)
{
    struct cairn_cfi cfi = {.machine = elf->machine,
                            .address_size = elf->is64 ? 8 : 4,
                            .debug_frame = strcmp(section, ".debug_frame") == 0,
                            .swap = elf->swap};
    cfi.bytes = test_section(elf, section, &cfi.vaddr);
    if (!cfi.debug_frame)
        cfi.hdr = test_section(elf, ".eh_frame_hdr", &cfi.hdr_vaddr);
    return cfi;
}

#endif /* CAIRN_TESTS_CFIFILE_H */
