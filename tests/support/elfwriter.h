/* SPDX-License-Identifier: MIT */
/*
 * Builds ELF files in memory, 32 or 64 bit, in either byte order:
 *
 *     header | program headers | contents of the sections ... | section headers
 *
 *     struct test_elf w = test_elf_of(true, false, ET_DYN, EM_X86_64);
 *     test_elf_load(&w, PF_R | PF_X, 0x1000, 0x2000, 0x100, 0x100);
 *     test_elf_section(&w, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x2000, 0x100);
 *     uint8_t *bytes = test_elf_finish(&w, &size);    the caller frees it
 *
 * Numbers may lie as a test wants them to: nothing is checked against anything.
 */
#ifndef CAIRN_TESTS_ELFWRITER_H
#define CAIRN_TESTS_ELFWRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TEST_ELF_SEGMENTS_MAX = 16,
    TEST_ELF_SECTIONS_MAX = 32,
    TEST_ELF_BYTES_MAX = 1 << 16 /* of all contents together */
};

struct test_elf_segment {
    uint32_t type, flags;
    uint64_t off, vaddr, file_size, mem_size, align;
    uint32_t of_section; /* nonzero: off and file_size are that section's */
};

struct test_elf_section {
    uint32_t name, type, link, info;
    uint64_t flags, vaddr, off, size, align, entry_size;
};

struct test_elf {
    bool is64, big;
    bool extended; /* counts are written to section 0, as huge files do */
    uint16_t type, machine;
    struct test_elf_segment segments[TEST_ELF_SEGMENTS_MAX];
    struct test_elf_section sections[TEST_ELF_SECTIONS_MAX]; /* [0] is the empty one */
    uint32_t n_segments, n_sections;
    uint8_t contents[TEST_ELF_BYTES_MAX]; /* as they lie in the file behind the program headers */
    size_t n_contents;
    uint8_t names[4096]; /* of sections */
    size_t n_names;
    /* .symtab in the making: test_elf_symbol() adds, test_elf_symtab() writes */
    uint8_t symbols[8192], strings[4096];
    size_t n_symbols, n_strings;
};

struct test_elf test_elf_of(bool is64, bool big, uint16_t type, uint16_t machine);

/* A PT_LOAD of alignment 0x1000. */
void test_elf_load(struct test_elf *w, uint32_t flags, uint64_t off, uint64_t vaddr,
                   uint64_t file_size, uint64_t mem_size);

/* Sections give their number. With NULL for bytes: zeros, or nothing for SHT_NOBITS. */
uint32_t test_elf_section(struct test_elf *w, const char *name, uint32_t type, uint64_t flags,
                          uint64_t vaddr, uint64_t size);
uint32_t test_elf_bytes(struct test_elf *w, const char *name, uint32_t type, uint64_t flags,
                        const void *bytes, size_t size);

/* .note.gnu.build-id and, where `segment` says so, a PT_NOTE for it. */
void test_elf_build_id(struct test_elf *w, const void *id, size_t size, bool segment);
void test_elf_debuglink(struct test_elf *w, const char *name, uint32_t crc);

void test_elf_symbol(struct test_elf *w, const char *name, uint8_t bind, uint8_t type,
                     uint16_t section, uint64_t vaddr, uint64_t size);
/* Writes what was added as .symtab and .strtab, or .dynsym and .dynstr; starts over. */
void test_elf_symtab(struct test_elf *w, bool dynamic);

/* Appends an integer of `width` bytes in the file's order; gives the new size. */
size_t test_elf_put(const struct test_elf *w, uint8_t *bytes, size_t at, uint64_t value,
                    unsigned width);

uint8_t *test_elf_finish(struct test_elf *w, size_t *ret_size);

#endif /* CAIRN_TESTS_ELFWRITER_H */
