/* SPDX-License-Identifier: MIT */
/*
 * ELF image: headers, segments and sections of a file in memory (gABI, "ELF Header", "Program
 * Header", "Sections"). 32 and 64 bit and both byte orders come out as one neutral struct, decoded
 * when asked for: nothing is allocated, nothing copied.
 *
 * Everything here borrows from the bytes that cairn_elf_open() was given.
 */
#ifndef CAIRN_ELF_IMAGE_H
#define CAIRN_ELF_IMAGE_H

#include <cairn/error.h>

#include "base/reader.h"

struct cairn_elf {
    struct cairn_span bytes;
    bool is64;
    bool swap;        /* file and host differ in byte order */
    uint16_t type;    /* ET_EXEC, ET_DYN, ET_REL, ET_CORE */
    uint16_t machine; /* EM_X86_64, EM_AARCH64, EM_ARM; others are opened too */
    uint32_t flags;
    uint64_t entry; /* vaddr */
    uint64_t segments_off, sections_off;
    uint32_t n_segments, n_sections; /* extended numbering (PN_XNUM, section 0) resolved */
    uint16_t segment_size, section_size;
    uint32_t names_index; /* section of section names; 0: none */
    bool is_vouched;      /* set by the caller, if no target chose the file: compressed sections are
                             unpacked without the budget of base/budget.h */
};

struct cairn_elf_segment {
    uint32_t type, flags;
    uint64_t off, vaddr, file_size, mem_size, align;
};

struct cairn_elf_section {
    uint32_t index;
    const char *name; /* "" where the name table is damaged */
    uint32_t type, link, info;
    uint64_t flags, vaddr, off, size, align, entry_size;
};

/*
 * Checks the header and that both tables lie in the file. A file without section headers is sound;
 * so is one whose section table is cut off, where `n_sections` is then 0 and the log says so.
 * CAIRN_E_FORMAT: no ELF file, or damaged before anything could be used.
 */
int cairn_elf_open(struct cairn_span bytes, struct cairn_elf *ret_elf, struct cairn_err *err);

/* False past the end or where the entry does not lie in the file. */
bool cairn_elf_segment(const struct cairn_elf *elf, uint32_t index,
                       struct cairn_elf_segment *ret_segment);
bool cairn_elf_section(const struct cairn_elf *elf, uint32_t index,
                       struct cairn_elf_section *ret_section);

/* The first section of that name; SHT_NOBITS ones (a debug file's .text) are found too. */
bool cairn_elf_find_section(const struct cairn_elf *elf, const char *name,
                            struct cairn_elf_section *ret_section);

/* The section's bytes as they stand in the file, compressed or not. SHT_NOBITS: empty. False where
 * they run past the file. */
bool cairn_elf_section_bytes(const struct cairn_elf *elf, const struct cairn_elf_section *section,
                             struct cairn_span *ret_bytes);

/* The bytes and the vaddr of a section that stands in the file as it is used: not SHT_NOBITS, not
 * compressed, not empty. False: there is no such section, and nothing is written. */
bool cairn_elf_find_plain(const struct cairn_elf *elf, const char *name, uint64_t *ret_vaddr,
                          struct cairn_span *ret_bytes);

/* Is this vaddr inside an executable section (or, without sections, an executable segment)? */
bool cairn_elf_is_code(const struct cairn_elf *elf, uint64_t vaddr);

/* Has the file no code of its own, but room where the code was (objcopy --only-keep-debug)? The
 * linker's p_offset and p_filesz are lost there; vaddrs are sound. */
bool cairn_elf_is_debug_only(const struct cairn_elf *elf);

/* vaddr of a file offset, by the PT_LOAD whose bytes in the file hold it (p_filesz, not p_memsz:
 * the page behind it is zeros), with both ends rounded to `page` as the loader maps them. False
 * where no segment holds it. An exact hit wins over one by rounding. */
bool cairn_elf_vaddr_of_off(const struct cairn_elf *elf, uint64_t off, uint64_t page,
                            uint64_t *ret_vaddr);

/*
 * The same for an offset inside a mapping that is executable or not. Where two segments share a
 * page of the file it is mapped twice, at two vaddrs, and the offset alone cannot tell which; so
 * executable segments are asked first where `executable` is set, exactly and then by rounding.
 * In a debug-only file the segments' places in the binary are reckoned as linkers lay them out:
 * each at the next offset that is congruent to its vaddr. That is a guess; prefer the binary.
 */
bool cairn_elf_vaddr_of_mapping(const struct cairn_elf *elf, uint64_t off, uint64_t page,
                                bool executable, uint64_t *ret_vaddr);

/* The bytes of the file from a vaddr on, to the end of the PT_LOAD that holds it; false where none
 * has bytes there. */
bool cairn_elf_bytes_at(const struct cairn_elf *elf, uint64_t vaddr, struct cairn_span *ret_bytes);

/* The lowest p_vaddr of the PT_LOADs, rounded down to `page`: what the load base stands for. In
 * other words va = base + (vaddr - this), where base is the address of the first mapped page. */
bool cairn_elf_first_vaddr(const struct cairn_elf *elf, uint64_t page, uint64_t *ret_vaddr);

/* "x86-64", "aarch64", "arm"; "machine 243" holds until the thread asks again. */
const char *cairn_elf_machine_name(uint16_t machine);

#endif /* CAIRN_ELF_IMAGE_H */
