/* SPDX-License-Identifier: MIT */
/*
 * A small C++ module whose units overlap, made in memory:
 *
 *     unit 1  outer [0x1000, 0x1080), inlined leaf [0x1010, 0x1020) called at line 12
 *     unit 2  app::(no linkage name) [0x1040, 0x10c0): loses to outer, has the rest
 *     unit 3  lines alone [0x1060, 0x1140)
 *
 * The symbols are outer, hidden (of unit 2, in part), one that only the symbol table knows, and two
 * of one place.
 */
#ifndef CAIRN_TESTS_INDEX_MODULE_H
#define CAIRN_TESTS_INDEX_MODULE_H

#include <elf.h>

#include "support/dwarfwriter.h"
#include "support/test.h"

enum { MADE_UNIT = 1, MADE_FUNCTION, MADE_ABSTRACT, MADE_INLINED, MADE_SPACE };

static inline void made_abbrevs(struct test_dwarf *w)
{
    test_dwarf_abbrev(w, MADE_UNIT, CAIRN_DW_TAG_COMPILE_UNIT, true, CAIRN_DW_AT_NAME,
                      CAIRN_DW_FORM_STRING, CAIRN_DW_AT_COMP_DIR, CAIRN_DW_FORM_STRP,
                      CAIRN_DW_AT_STMT_LIST, CAIRN_DW_FORM_SEC_OFFSET, CAIRN_DW_AT_LANGUAGE,
                      CAIRN_DW_FORM_DATA1, CAIRN_DW_AT_LOW_PC, CAIRN_DW_FORM_ADDR,
                      CAIRN_DW_AT_HIGH_PC, CAIRN_DW_FORM_DATA4, 0);
    test_dwarf_abbrev(w, MADE_FUNCTION, CAIRN_DW_TAG_SUBPROGRAM, true, CAIRN_DW_AT_NAME,
                      CAIRN_DW_FORM_STRING, CAIRN_DW_AT_DECL_LINE, CAIRN_DW_FORM_DATA1,
                      CAIRN_DW_AT_LOW_PC, CAIRN_DW_FORM_ADDR, CAIRN_DW_AT_HIGH_PC,
                      CAIRN_DW_FORM_DATA4, 0);
    test_dwarf_abbrev(w, MADE_ABSTRACT, CAIRN_DW_TAG_SUBPROGRAM, false, CAIRN_DW_AT_NAME,
                      CAIRN_DW_FORM_STRING, CAIRN_DW_AT_LINKAGE_NAME, CAIRN_DW_FORM_STRING, 0);
    test_dwarf_abbrev(w, MADE_INLINED, CAIRN_DW_TAG_INLINED_SUBROUTINE, false,
                      CAIRN_DW_AT_ABSTRACT_ORIGIN, CAIRN_DW_FORM_REF4, CAIRN_DW_AT_LOW_PC,
                      CAIRN_DW_FORM_ADDR, CAIRN_DW_AT_HIGH_PC, CAIRN_DW_FORM_DATA4,
                      CAIRN_DW_AT_CALL_FILE, CAIRN_DW_FORM_DATA1, CAIRN_DW_AT_CALL_LINE,
                      CAIRN_DW_FORM_DATA1, 0);
    test_dwarf_abbrev(w, MADE_SPACE, CAIRN_DW_TAG_NAMESPACE, true, CAIRN_DW_AT_NAME,
                      CAIRN_DW_FORM_STRING, 0);
    test_dwarf_str(&w->str, "/src");
}

static inline uint32_t made_unit(struct test_dwarf *w, uint64_t low, uint64_t high)
{
    uint32_t off = (uint32_t)w->info.n;
    test_dwarf_unit_begin(w);
    test_dwarf_uleb(&w->info, MADE_UNIT);
    test_dwarf_str(&w->info, "a.cc");
    test_dwarf_off(w, &w->info, 0);
    test_dwarf_off(w, &w->info, 0);
    test_dwarf_u(w, &w->info, CAIRN_DW_LANG_C_PLUS_PLUS_11, 1);
    test_dwarf_addr(w, &w->info, low);
    test_dwarf_u(w, &w->info, high - low, 4);
    return off;
}

static inline void made_function(struct test_dwarf *w, const char *name, uint64_t low,
                                 uint64_t high)
{
    test_dwarf_uleb(&w->info, MADE_FUNCTION);
    test_dwarf_str(&w->info, name);
    test_dwarf_u(w, &w->info, 9, 1);
    test_dwarf_addr(w, &w->info, low);
    test_dwarf_u(w, &w->info, high - low, 4);
}

static inline void made_units(struct test_dwarf *w)
{
    made_abbrevs(w);
    uint32_t first = made_unit(w, 0x1000, 0x1080);
    uint32_t leaf = (uint32_t)w->info.n - first;
    test_dwarf_uleb(&w->info, MADE_ABSTRACT);
    test_dwarf_str(&w->info, "leaf");
    test_dwarf_str(&w->info, "_ZN3app4leafEi");
    made_function(w, "outer", 0x1000, 0x1080);
    test_dwarf_uleb(&w->info, MADE_INLINED);
    test_dwarf_u(w, &w->info, leaf, 4);
    test_dwarf_addr(w, &w->info, 0x1010);
    test_dwarf_u(w, &w->info, 0x10, 4);
    test_dwarf_u(w, &w->info, 1, 1);
    test_dwarf_u(w, &w->info, 12, 1);
    test_dwarf_u(w, &w->info, 0, 2); /* of outer, of the unit */
    test_dwarf_unit_end(w);

    made_unit(w, 0x1040, 0x10c0);
    test_dwarf_uleb(&w->info, MADE_SPACE);
    test_dwarf_str(&w->info, "app");
    made_function(w, "hidden", 0x1040, 0x10c0);
    test_dwarf_u(w, &w->info, 0, 3);
    test_dwarf_unit_end(w);

    made_unit(w, 0x1060, 0x1140);
    test_dwarf_u(w, &w->info, 0, 1);
    test_dwarf_unit_end(w);

    test_dwarf_line_begin(w);
    test_dwarf_line_at(w, 0x1000);
    test_dwarf_line_row(w, 0, 9);
    test_dwarf_line_row(w, 0x10, -7);
    test_dwarf_line_row(w, 0x10, 8);
    test_dwarf_line_row(w, 0x50, 8);
    test_dwarf_line_sequence_end(w, 0xb0);
    test_dwarf_line_end(w);
}

/* The file; the caller frees it. */
static inline uint8_t *made_elf(size_t *ret_size)
{
    static struct test_elf elf; /* large, and zeroed by each start */
    struct test_dwarf w = test_dwarf_of(4, false, 4, 8);
    elf = test_elf_of(true, false, ET_DYN, EM_X86_64);
    made_units(&w);
    test_elf_load(&elf, PF_R | PF_X, 0x1000, 0x1000, 0x800, 0x800);
    uint16_t text = (uint16_t)test_elf_section(&elf, ".text", SHT_PROGBITS,
                                               SHF_ALLOC | SHF_EXECINSTR, 0x1000, 0x800);
    test_dwarf_to_elf(&w, &elf);
    test_elf_symbol(&elf, "outer", STB_GLOBAL, STT_FUNC, text, 0x1000, 0x80);
    test_elf_symbol(&elf, "_ZN3app6hiddenEv.part.0", STB_LOCAL, STT_FUNC, text, 0x1090, 0x20);
    test_elf_symbol(&elf, "only_symbol.cold", STB_LOCAL, STT_FUNC, text, 0x1100, 0x10);
    test_elf_symbol(&elf, "_ZN3app7alias_aEv", STB_GLOBAL, STT_FUNC, text, 0x1300, 0x10);
    test_elf_symbol(&elf, "_ZN3app7alias_bEv", STB_GLOBAL, STT_FUNC, text, 0x1300, 0x10);
    test_elf_symtab(&elf, false);
    return test_elf_finish(&elf, ret_size);
}

#endif /* CAIRN_TESTS_INDEX_MODULE_H */
