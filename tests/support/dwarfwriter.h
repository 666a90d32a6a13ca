/* SPDX-License-Identifier: MIT */
/*
 * Builds debug sections in memory, DWARF 2 to 5, 32 or 64 bit, in either byte order:
 *
 *     struct test_dwarf w = test_dwarf_of(5, false, 4, 8);
 *     test_dwarf_abbrev(&w, 1, CAIRN_DW_TAG_COMPILE_UNIT, true, CAIRN_DW_AT_NAME,
 *                       CAIRN_DW_FORM_STRING, 0);
 *     test_dwarf_unit_begin(&w);
 *     test_dwarf_uleb(&w.info, 1);
 *     test_dwarf_str(&w.info, "a.c");
 *     test_dwarf_u(&w, &w.info, 0, 1);         no more children
 *     test_dwarf_unit_end(&w);
 *     struct cairn_dwarf d = test_dwarf_sections(&w);
 *
 * Machine code is [0x1000, 0x3000). Numbers may lie as a test wants them to.
 */
#ifndef CAIRN_TESTS_DWARFWRITER_H
#define CAIRN_TESTS_DWARFWRITER_H

#include "dwarf/constants.h"
#include "dwarf/sections.h"
#include "support/elfwriter.h"

enum { TEST_DWARF_BYTES_MAX = 12 * 1024 };

struct test_bytes {
    uint8_t data[TEST_DWARF_BYTES_MAX];
    size_t n;
};

struct test_dwarf {
    unsigned version, offset_size, address_size;
    bool big;
    struct test_bytes info, abbrev, line, str, line_str, str_offsets, addr, ranges, rnglists,
        aranges;
    size_t unit_start, line_start, line_header, line_header_length;
    uint8_t min_length, max_ops; /* of line programs; 0: 1 */
    uint8_t unit_type;           /* enum cairn_dw_ut of the units to come; 0: a plain one */
    uint64_t signature;          /* of those that have one */
    uint64_t type_off;           /* of type units, which version 4 has in a section of their own */
};

struct test_dwarf test_dwarf_of(unsigned version, bool big, unsigned offset_size,
                                unsigned address_size);

/* An integer of `width` bytes, an address, an offset, LEB128, a text with its NUL. */
void test_dwarf_u(const struct test_dwarf *w, struct test_bytes *b, uint64_t value, unsigned width);
void test_dwarf_addr(const struct test_dwarf *w, struct test_bytes *b, uint64_t vaddr);
void test_dwarf_off(const struct test_dwarf *w, struct test_bytes *b, uint64_t off);
void test_dwarf_uleb(struct test_bytes *b, uint64_t value);
void test_dwarf_sleb(struct test_bytes *b, int64_t value);
void test_dwarf_str(struct test_bytes *b, const char *text);

/* Overwrites what was written at `at`. */
void test_dwarf_patch(const struct test_dwarf *w, struct test_bytes *b, size_t at, uint64_t value,
                      unsigned width);

/* Pairs of attribute and form as ints, ended by 0; DW_FORM_implicit_const is followed by its value.
 */
void test_dwarf_abbrev(struct test_dwarf *w, uint64_t code, unsigned tag, int children, ...);

/* Header of a unit with its abbreviations at 0; the end sets the length and closes the table. */
void test_dwarf_unit_begin(struct test_dwarf *w);
void test_dwarf_unit_end(struct test_dwarf *w);

/* Header of a line program: opcode base 13, line base -5, line range 14; the files "a.c" in "/src"
 * and "b.h" in "inc" below it, numbers 1 and 2 (0 and 1 in version 5 are both a.c). */
void test_dwarf_line_begin(struct test_dwarf *w);
void test_dwarf_line_end(struct test_dwarf *w);
void test_dwarf_line_at(struct test_dwarf *w, uint64_t vaddr); /* set_address */
void test_dwarf_line_row(struct test_dwarf *w, unsigned advance, int line_advance); /* and a row */
void test_dwarf_line_sequence_end(struct test_dwarf *w, unsigned advance);

/* Borrows from `w`. */
struct cairn_dwarf test_dwarf_sections(const struct test_dwarf *w);

/* Adds all sections that are not empty to an ELF file. */
void test_dwarf_to_elf(const struct test_dwarf *w, struct test_elf *elf);

#endif /* CAIRN_TESTS_DWARFWRITER_H */
