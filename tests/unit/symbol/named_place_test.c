/* SPDX-License-Identifier: MIT */
/* Sections and symbols of a module by their names, on an ELF file made in memory. */
#include <elf.h>

#include <cairn/symbolizer.h>

#include "base/alloc.h"
#include "support/elfwriter.h"
#include "support/test.h"
#include "symbol/named_functions.h"
#include "symbol/named_variable.h"

enum { TEXT = 1, DATA = 2 };

/* ".symtab" with a bit of everything, or ".dynsym" in its place. */
static uint8_t *make_elf(bool is64, bool big, bool dynamic, size_t *ret_size)
{
    static struct test_elf w; /* large, and zeroed by each start */
    w = test_elf_of(is64, big, ET_DYN, is64 ? EM_X86_64 : EM_ARM);
    test_elf_load(&w, PF_R | PF_X, 0, 0x1000, 0x3000, 0x3000);
    test_elf_section(&w, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, 0x800);
    test_elf_section(&w, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0x3000, 0x100);
    test_elf_symbol(&w, "a.c", STB_LOCAL, STT_FILE, 0xfff1, 7, 0);
    test_elf_symbol(&w, "twice", STB_LOCAL, STT_FUNC, TEXT, 0x1010, 4);
    test_elf_symbol(&w, "twice", STB_LOCAL, STT_FUNC, TEXT, 0x1020, 4);
    test_elf_symbol(&w, "table", STB_GLOBAL, STT_OBJECT, DATA, 0x3010, 8);
    test_elf_symbol(&w, "puts", STB_GLOBAL, STT_FUNC, SHN_UNDEF, 0, 0);
    test_elf_symbol(&w, "thumb", STB_GLOBAL, STT_FUNC, TEXT, 0x1041, 8);
    test_elf_symbol(&w, "_ZN3app4leafEi", STB_WEAK, STT_FUNC, TEXT, 0x1100, 8);
    test_elf_symbol(&w, "_ZL5small", STB_LOCAL, STT_OBJECT, DATA, 0x3020, 2);
    test_elf_symbol(&w, "own", STB_LOCAL, STT_TLS, DATA, 0x10, 4);
    test_elf_symtab(&w, dynamic);
    return test_elf_finish(&w, ret_size);
}

struct sample {
    uint8_t *file;
    struct cairn_symbolizer *symbolizer;
    struct cairn_module *module;
};

static struct sample open_sample(bool is64, bool big, bool dynamic)
{
    struct sample s = {0};
    struct cairn_err err;
    size_t size;
    s.file = make_elf(is64, big, dynamic, &size);
    assert_ok(cairn_symbolizer_new(NULL, &s.symbolizer, &err), err);
    assert_ok(cairn_symbolizer_open_bytes(s.symbolizer, "sample", s.file, size, &s.module, &err),
              err);
    return s;
}

static void close_sample(struct sample *s)
{
    cairn_symbolizer_free(s->symbolizer);
    free(s->file);
}

static uint64_t vaddr_of(const struct sample *s, const char *name)
{
    struct cairn_err err;
    uint64_t vaddr = 0;
    assert_ok(cairn_module_find_name(s->module, name, &vaddr, &err), err);
    return vaddr;
}

static void sections_are_found_by_name(void **state)
{
    (void)state;
    for (int form = 0; form < 4; form++) {
        struct sample s = open_sample(form & 1, form & 2, false);
        uint64_t vaddr, size;
        assert_int_not_equal(cairn_module_find_section(s.module, ".data", &vaddr, &size), 0);
        assert_int_equal(vaddr, 0x3000);
        assert_int_equal(size, 0x100);
        assert_int_equal(cairn_module_find_section(s.module, ".dat", &vaddr, &size), 0);
        assert_int_equal(cairn_module_find_section(s.module, "", &vaddr, &size), 0);
        close_sample(&s);
    }
}

static void sections_are_listed_in_their_order(void **state)
{
    (void)state;
    struct sample s = open_sample(true, false, false);
    uint64_t vaddr, size;
    uint32_t number = 0;
    assert_int_not_equal(cairn_module_next_section(s.module, &number, &vaddr, &size), 0);
    assert_int_equal(vaddr, 0x1000);
    assert_int_not_equal(cairn_module_next_section(s.module, &number, &vaddr, &size), 0);
    assert_int_equal(vaddr, 0x3000);
    assert_int_equal(size, 0x100);
    assert_int_equal(cairn_module_next_section(s.module, &number, &vaddr, &size), 0);
    number = UINT32_MAX;
    assert_int_equal(cairn_module_next_section(s.module, &number, &vaddr, &size), 0);
    close_sample(&s);
}

static void symbols_are_found_by_their_linkage_names(void **state)
{
    (void)state;
    for (int form = 0; form < 8; form++) {
        bool is64 = form & 1;
        struct sample s = open_sample(is64, form & 2, form & 4);
        assert_int_equal(vaddr_of(&s, "twice"), 0x1010);
        assert_int_equal(vaddr_of(&s, "table"), 0x3010);
        assert_int_equal(vaddr_of(&s, "thumb"), is64 ? 0x1041 : 0x1040);
        assert_int_equal(vaddr_of(&s, "_ZN3app4leafEi"), 0x1100);
        close_sample(&s);
    }
}

static void demangled_names_are_found_too(void **state)
{
    (void)state;
    struct sample s = open_sample(true, false, false);
    assert_int_equal(vaddr_of(&s, "app::leaf(int)"), 0x1100);
    close_sample(&s);
}

static void what_is_no_place_is_missing(void **state)
{
    (void)state;
    static const char *const names[] = {"", "puts", "a.c", "twic", "app::leaf", ".text", ","};
    struct sample s = open_sample(true, false, false);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct cairn_err err;
        uint64_t vaddr = 4711;
        assert_int_equal(cairn_module_find_name(s.module, names[i], &vaddr, &err), CAIRN_E_MISSING);
        assert_int_equal(vaddr, 4711);
    }
    close_sample(&s);
}

static void variables_are_found_with_their_sizes(void **state)
{
    (void)state;
    for (int form = 0; form < 8; form++) {
        struct sample s = open_sample(form & 1, form & 2, form & 4);
        struct cairn_named_variable v;
        struct cairn_err err;
        assert_ok(cairn_module_find_variable(s.module, "table", &v, &err), err);
        assert_int_equal(v.vaddr, 0x3010);
        assert_int_equal(v.size, 8);
        assert_false(v.is_thread_local || v.is_function);
        assert_ok(cairn_module_find_variable(s.module, "small", &v, &err), err);
        assert_int_equal(v.vaddr, 0x3020);
        assert_int_equal(v.size, 2);
        assert_ok(cairn_module_find_variable(s.module, "own", &v, &err), err);
        assert_true(v.is_thread_local);
        assert_ok(cairn_module_find_variable(s.module, "app::leaf", &v, &err), err);
        assert_true(v.is_function);
        close_sample(&s);
    }
}

static void a_missing_variable_has_near_ones(void **state)
{
    (void)state;
    struct sample s = open_sample(true, false, false);
    struct cairn_named_variable v;
    struct cairn_err err;
    assert_int_equal(cairn_module_find_variable(s.module, "tabel", &v, &err), CAIRN_E_MISSING);
    assert_string_equal(err.hint, "the nearest names are: table");
    assert_int_equal(cairn_module_find_variable(s.module, "smal", &v, &err), CAIRN_E_MISSING);
    assert_string_equal(err.hint, "the nearest names are: small");
    assert_int_equal(cairn_module_find_variable(s.module, "", &v, &err), CAIRN_E_MISSING);
    close_sample(&s);
}

static void all_functions_of_a_name_or_pattern_are_found(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool is_pattern;
        size_t n;
        uint64_t vaddr;
        const char *first;
    } rows[] = {
        {"twice", false, 2, 0x1010, "twice"},
        {"t*", true, 3, 0x1041, "thumb"},
        {"app::l*(int)", true, 1, 0x1100, "app::leaf(int)"},
        {"app::leaf(int)", false, 1, 0x1100, "app::leaf(int)"},
        {"_ZN3app4leafE?", true, 1, 0x1100, "_ZN3app4leafEi"},
        {"table", false, 0, 0, NULL},
        {"own", true, 0, 0, NULL},
        {"puts", false, 0, 0, NULL},
        {"twice*", false, 0, 0, NULL},
    };
    for (int dynamic = 0; dynamic < 2; dynamic++) {
        struct sample s = open_sample(true, false, dynamic);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            struct cairn_named_functions f = {0};
            struct cairn_err err;
            assert_ok(
                cairn_module_find_functions(s.module, rows[i].name, rows[i].is_pattern, &f, &err),
                err);
            assert_int_equal(f.n, rows[i].n);
            assert_int_equal(f.n_resolvers, 0);
            if (f.n) {
                assert_int_equal(f.items[0].vaddr, rows[i].vaddr);
                assert_string_equal(f.items[0].name, rows[i].first);
            }
            cairn_named_functions_done(&f);
        }
        close_sample(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_functions_of_a_name_or_pattern_are_found),
        cmocka_unit_test(sections_are_found_by_name),
        cmocka_unit_test(sections_are_listed_in_their_order),
        cmocka_unit_test(symbols_are_found_by_their_linkage_names),
        cmocka_unit_test(demangled_names_are_found_too),
        cmocka_unit_test(what_is_no_place_is_missing),
        cmocka_unit_test(variables_are_found_with_their_sizes),
        cmocka_unit_test(a_missing_variable_has_near_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
