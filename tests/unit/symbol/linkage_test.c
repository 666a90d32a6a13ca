/* SPDX-License-Identifier: MIT */
/* Who names a function whose linkage name, symbols and language say different things. */
#include <elf.h>

#include <cairn/symbolizer.h>

#include "support/dwarfwriter.h"
#include "support/test.h"

enum { UNIT = 1, LINKED, PLAIN, SYMBOLS_MAX = 3 };

struct row {
    uint8_t language;
    const char *name, *linkage;       /* of DWARF; linkage NULL: none */
    const char *symbols[SYMBOLS_MAX]; /* at the function's start */
    const char *function;             /* what is expected */
    const char *suffix;
};

static void put_dwarf(struct test_dwarf *w, const struct row *row)
{
    test_dwarf_abbrev(w, UNIT, CAIRN_DW_TAG_COMPILE_UNIT, true, CAIRN_DW_AT_LANGUAGE,
                      CAIRN_DW_FORM_DATA1, CAIRN_DW_AT_LOW_PC, CAIRN_DW_FORM_ADDR,
                      CAIRN_DW_AT_HIGH_PC, CAIRN_DW_FORM_DATA4, 0);
    test_dwarf_abbrev(w, LINKED, CAIRN_DW_TAG_SUBPROGRAM, false, CAIRN_DW_AT_LOW_PC,
                      CAIRN_DW_FORM_ADDR, CAIRN_DW_AT_HIGH_PC, CAIRN_DW_FORM_DATA4,
                      CAIRN_DW_AT_NAME, CAIRN_DW_FORM_STRING, CAIRN_DW_AT_LINKAGE_NAME,
                      CAIRN_DW_FORM_STRING, 0);
    test_dwarf_abbrev(w, PLAIN, CAIRN_DW_TAG_SUBPROGRAM, false, CAIRN_DW_AT_LOW_PC,
                      CAIRN_DW_FORM_ADDR, CAIRN_DW_AT_HIGH_PC, CAIRN_DW_FORM_DATA4,
                      CAIRN_DW_AT_NAME, CAIRN_DW_FORM_STRING, 0);
    test_dwarf_unit_begin(w);
    test_dwarf_uleb(&w->info, UNIT);
    test_dwarf_u(w, &w->info, row->language, 1);
    test_dwarf_addr(w, &w->info, 0x1000);
    test_dwarf_u(w, &w->info, 0x80, 4);
    test_dwarf_uleb(&w->info, row->linkage ? LINKED : PLAIN);
    test_dwarf_addr(w, &w->info, 0x1000);
    test_dwarf_u(w, &w->info, 0x80, 4);
    test_dwarf_str(&w->info, row->name);
    if (row->linkage)
        test_dwarf_str(&w->info, row->linkage);
    test_dwarf_u(w, &w->info, 0, 1);
    test_dwarf_unit_end(w);
}

/* The file; the caller frees it. */
static uint8_t *make_elf(const struct row *row, size_t *ret_size)
{
    static struct test_elf elf; /* large, and zeroed by each start */
    struct test_dwarf w = test_dwarf_of(4, false, 4, 8);
    elf = test_elf_of(true, false, ET_DYN, EM_X86_64);
    put_dwarf(&w, row);
    test_elf_load(&elf, PF_R | PF_X, 0x1000, 0x1000, 0x800, 0x800);
    uint16_t text = (uint16_t)test_elf_section(&elf, ".text", SHT_PROGBITS,
                                               SHF_ALLOC | SHF_EXECINSTR, 0x1000, 0x800);
    test_dwarf_to_elf(&w, &elf);
    for (size_t i = 0; i < SYMBOLS_MAX && row->symbols[i]; i++)
        test_elf_symbol(&elf, row->symbols[i], STB_GLOBAL, STT_FUNC, text, 0x1000, 0x80);
    test_elf_symtab(&elf, false);
    return test_elf_finish(&elf, ret_size);
}

static void check(const struct row *row, enum cairn_index_use use)
{
    struct cairn_symbolizer_opts opts = {.size = sizeof opts, .index = use};
    struct cairn_symbolizer *s;
    struct cairn_module *m;
    struct cairn_symbol symbol;
    struct cairn_err err;
    size_t size;
    uint8_t *bytes = make_elf(row, &size);
    assert_ok(cairn_symbolizer_new(&opts, &s, &err), err);
    assert_ok(cairn_symbolizer_open_bytes(s, "made", bytes, size, &m, &err), err);
    for (uint64_t vaddr = 0x1000; vaddr < 0x1080; vaddr += 0x40) {
        assert_ok(cairn_symbolize(s, m, vaddr, &symbol, &err), err);
        assert_int_equal(symbol.n_frames, 1);
        assert_string_equal(symbol.frames[0].function, row->function);
        if (row->suffix)
            assert_string_equal(symbol.frames[0].suffix, row->suffix);
    }
    cairn_symbolizer_free(s);
    free(bytes);
}

static void check_all(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        check(&rows[i], CAIRN_INDEX_NEVER);
        check(&rows[i], CAIRN_INDEX_ALWAYS);
    }
}

enum { CC = CAIRN_DW_LANG_C_PLUS_PLUS_11, C = CAIRN_DW_LANG_C99 };

/* Crystal's compiler writes the bare name of a method as its linkage name. */
static void a_linkage_name_that_is_no_symbol_yields_to_the_symbol(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {C,
         "new",
         "new",
         {"*Array(Int32)::new:Array(Int32)"},
         "*Array(Int32)::new:Array(Int32)",
         0},
        {CC, "f", "_Z1gv", {"_Z1fv"}, "f()", 0},
        {CC, "f", "_Z1fv", {"renamed"}, "renamed", 0},
    };
    check_all(rows, sizeof rows / sizeof *rows);
}

static void a_linkage_name_that_is_a_symbol_stays(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {CC, "f", "_Z1fv", {"_Z1fv"}, "f()", 0},
        {CC, "f", "_Z1fv", {"alias", "_Z1fv"}, "f()", 0},
        {CC, "A", "_ZN1AC2Ev", {"_ZN1AC1Ev"}, "A::A()", 0},
        {CC, "f", "_Z1fv", {"_Z1fv.constprop.0"}, "f()", "constprop.0"},
        {CC, "f", "_Z1fv", {"_Z1fv.arch_x86_64_v3"}, "f()", 0},
        {CC, "f", "_Z1fv", {"_Z1fv@@V2"}, "f()", 0},
        {CC, "f", "_Z1fv.part.0", {"_Z1fv.part.0"}, "f()", "part.0"},
        {CC, "f", "_Z1fv", {"__Z1fv"}, "f()", 0}, /* symbols of SuperH's */
        {CC, "f", "_Z1fv", {0}, "f()", 0},
    };
    check_all(rows, sizeof rows / sizeof *rows);
}

/* A plain name is the source's own, and no linkage name: the linker may have been told another. */
static void a_plain_name_of_c_stays(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {C, "f", NULL, {"prefix_f"}, "f", 0},
        {C, "f", NULL, {"f"}, "f", 0},
        {C, "inner", NULL, {"inner.0"}, "inner", 0},
    };
    check_all(rows, sizeof rows / sizeof *rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_linkage_name_that_is_no_symbol_yields_to_the_symbol),
        cmocka_unit_test(a_linkage_name_that_is_a_symbol_stays),
        cmocka_unit_test(a_plain_name_of_c_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
