/* SPDX-License-Identifier: MIT */
/*
 * Where symbols come from, on files made in memory:
 *
 *     0x1000  exported   .dynsym; "packed" in .gnu_debugdata, and "full" in .symtab
 *     0x1100  packed2    in .gnu_debugdata alone
 *     0x1200  exported2  in .dynsym alone
 *     0x9000  elsewhere  in .gnu_debugdata, in a section that the image does not have
 */
#include <elf.h>
#include <lzma.h>

#include <cairn/symbolizer.h>

#include "base/budget.h"
#include "support/elfwriter.h"
#include "support/test.h"

enum { WITH_SYMTAB = 1, WITH_DEBUGDATA = 2, DAMAGED = 4, OF_ANOTHER_MACHINE = 8 };

static uint32_t put_text(struct test_elf *w, uint32_t type)
{
    return test_elf_section(w, ".text", type, SHF_ALLOC | SHF_EXECINSTR, 0x1000, 0x400);
}

static void put_debugdata(struct test_elf *w, unsigned with)
{
    static struct test_elf inner; /* large */
    inner = test_elf_of(true, false, ET_DYN, with & OF_ANOTHER_MACHINE ? EM_ARM : EM_X86_64);
    uint16_t text = (uint16_t)put_text(&inner, SHT_NOBITS);
    uint16_t other = (uint16_t)test_elf_section(&inner, ".other", SHT_NOBITS,
                                                SHF_ALLOC | SHF_EXECINSTR, 0x9000, 0x100);
    test_elf_symbol(&inner, "packed", STB_LOCAL, STT_FUNC, text, 0x1000, 0x10);
    test_elf_symbol(&inner, "packed2", STB_LOCAL, STT_FUNC, text, 0x1100, 0x10);
    test_elf_symbol(&inner, "elsewhere", STB_LOCAL, STT_FUNC, other, 0x9000, 0x10);
    test_elf_symtab(&inner, false);
    size_t size, n = 0;
    uint8_t *file = test_elf_finish(&inner, &size), packed[8192];
    assert_int_equal(
        lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, file, size, packed, &n, sizeof packed),
        LZMA_OK);
    free(file);
    if (with & DAMAGED)
        packed[n / 2] ^= 0x55;
    test_elf_bytes(w, ".gnu_debugdata", SHT_PROGBITS, 0, packed, n);
}

static uint8_t *make(unsigned with, size_t *ret_size)
{
    static struct test_elf w;
    w = test_elf_of(true, false, ET_DYN, EM_X86_64);
    test_elf_load(&w, PF_R | PF_X, 0, 0, 0xa000, 0xa000);
    uint16_t text = (uint16_t)put_text(&w, SHT_PROGBITS);
    test_elf_symbol(&w, "exported", STB_GLOBAL, STT_FUNC, text, 0x1000, 0x10);
    test_elf_symbol(&w, "exported2", STB_GLOBAL, STT_FUNC, text, 0x1200, 0x10);
    test_elf_symtab(&w, true);
    if (with & WITH_SYMTAB) {
        test_elf_symbol(&w, "full", STB_LOCAL, STT_FUNC, text, 0x1000, 0x10);
        test_elf_symtab(&w, false);
    }
    if (with & WITH_DEBUGDATA)
        put_debugdata(&w, with);
    return test_elf_finish(&w, ret_size);
}

/* Asks one file for one address; "" where there is no name. */
static const char *name_at(unsigned with, uint64_t vaddr, uint8_t *ret_source)
{
    static char name[64];
    struct cairn_symbolizer *s;
    struct cairn_module *m;
    struct cairn_symbol symbol;
    struct cairn_err err;
    size_t size;
    uint8_t *file = make(with, &size);
    assert_ok(cairn_symbolizer_new(NULL, &s, &err), err);
    assert_ok(cairn_symbolizer_open_bytes(s, "made", file, size, &m, &err), err);
    free(file);
    assert_ok(cairn_symbolize(s, m, vaddr, &symbol, &err), err);
    name[0] = 0;
    *ret_source = CAIRN_SOURCE_NONE;
    if (symbol.n_frames) {
        strncpy(name, symbol.frames[0].function, sizeof name - 1);
        *ret_source = symbol.frames[0].source;
    }
    cairn_symbolizer_free(s);
    return name;
}

#define assert_named(with, vaddr, expected, expected_source)                                       \
    do {                                                                                           \
        uint8_t source;                                                                            \
        assert_string_equal(name_at(with, vaddr, &source), expected);                              \
        assert_int_equal(source, expected_source);                                                 \
    } while (0)

static void each_table_is_asked_where_those_before_it_know_nothing(void **state)
{
    (void)state;
    assert_named(WITH_SYMTAB | WITH_DEBUGDATA, 0x1000, "full", CAIRN_SOURCE_SYMTAB);
    assert_named(WITH_SYMTAB | WITH_DEBUGDATA, 0x1100, "packed2", CAIRN_SOURCE_DEBUGDATA);
    assert_named(WITH_DEBUGDATA, 0x1000, "packed", CAIRN_SOURCE_DEBUGDATA);
    assert_named(WITH_DEBUGDATA, 0x1200, "exported2", CAIRN_SOURCE_DYNSYM);
    assert_named(0, 0x1000, "exported", CAIRN_SOURCE_DYNSYM);
    assert_named(0, 0x1100, "", CAIRN_SOURCE_NONE);
    assert_named(WITH_SYMTAB | WITH_DEBUGDATA, 0x1300, "", CAIRN_SOURCE_NONE);
}

static void packed_symbols_of_code_that_the_image_has_not_are_dropped(void **state)
{
    (void)state;
    assert_named(WITH_DEBUGDATA, 0x9000, "", CAIRN_SOURCE_NONE);
    assert_named(WITH_DEBUGDATA | OF_ANOTHER_MACHINE, 0x1000, "exported", CAIRN_SOURCE_DYNSYM);
}

static void damaged_debugdata_costs_itself_alone(void **state)
{
    (void)state;
    assert_named(WITH_DEBUGDATA | DAMAGED, 0x1000, "exported", CAIRN_SOURCE_DYNSYM);
    assert_named(WITH_DEBUGDATA | DAMAGED, 0x1100, "", CAIRN_SOURCE_NONE);
}

/* The budget is for files that a target chose. */
static void bytes_of_the_caller_are_unpacked_when_the_budget_is_spent(void **state)
{
    (void)state;
    struct cairn_symbolizer *s;
    struct cairn_module *m;
    struct cairn_symbol symbol;
    struct cairn_err err;
    size_t size;
    uint8_t *file = make(WITH_DEBUGDATA, &size);
    assert_ok(cairn_symbolizer_new(NULL, &s, &err), err);
    cairn_budget_spend(CAIRN_BUDGET_BYTES);
    assert_ok(cairn_symbolizer_open_bytes(s, "made", file, size, &m, &err), err);
    free(file);
    assert_ok(cairn_symbolize(s, m, 0x1100, &symbol, &err), err);
    assert_int_equal(symbol.n_frames, 1);
    assert_string_equal(symbol.frames[0].function, "packed2");
    assert_int_equal(cairn_budget_left(), 0);
    cairn_symbolizer_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_table_is_asked_where_those_before_it_know_nothing),
        cmocka_unit_test(packed_symbols_of_code_that_the_image_has_not_are_dropped),
        cmocka_unit_test(damaged_debugdata_costs_itself_alone),
        cmocka_unit_test(bytes_of_the_caller_are_unpacked_when_the_budget_is_spent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
