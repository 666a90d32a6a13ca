/* SPDX-License-Identifier: MIT */
#include "elf/layout.h"

#include <elf.h>

#include <cairn/log.h>

#include "elf/symtab.h"
#include "support/elfwriter.h"
#include "support/test.h"

enum { INIT = 1, TEXT, DATA, LINE, INFO };

/* Sections out of order: .init.text is listed before .text. */
static struct test_elf sample_of(bool is64, bool big, uint16_t machine)
{
    struct test_elf w = test_elf_of(is64, big, ET_REL, machine);
    test_elf_section(&w, ".init.text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0, 0x10);
    test_elf_section(&w, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0, 0x21);
    test_elf_section(&w, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0, 8);
    test_elf_section(&w, ".debug_line", SHT_PROGBITS, 0, 0, 16);
    uint8_t info[32] = {0};
    test_elf_put(&w, info, 8, 5, 4); /* an addend of SHT_REL */
    test_elf_bytes(&w, ".debug_info", SHT_PROGBITS, 0, info, sizeof info);
    w.sections[INIT].align = 16;
    test_elf_symbol(&w, "", STB_LOCAL, STT_SECTION, INIT, 0, 0);
    test_elf_symbol(&w, "begin", STB_GLOBAL, STT_FUNC, INIT, 4, 4);
    test_elf_symbol(&w, "work", STB_GLOBAL, STT_FUNC, TEXT, 8, 4);
    test_elf_symbol(&w, "else", STB_GLOBAL, STT_NOTYPE, SHN_UNDEF, 0, 0);
    return w;
}

static struct test_elf sample(void)
{
    return sample_of(true, false, EM_X86_64);
}

/* Writes the symbols, and relocations of the given section as SHT_RELA or SHT_REL. */
static void add_relocations(struct test_elf *w, uint32_t target, bool has_addends,
                            const uint64_t rows[][4], size_t n)
{
    uint8_t bytes[512];
    size_t at = 0;
    unsigned word = w->is64 ? 8 : 4;
    for (size_t i = 0; i < n; i++) {
        at = test_elf_put(w, bytes, at, rows[i][0], word);
        at = test_elf_put(w, bytes, at,
                          w->is64 ? rows[i][1] << 32 | rows[i][2] : rows[i][1] << 8 | rows[i][2],
                          word);
        if (has_addends)
            at = test_elf_put(w, bytes, at, rows[i][3], word);
    }
    uint32_t table = test_elf_bytes(w, ".rel", has_addends ? SHT_RELA : SHT_REL, 0, bytes, at);
    w->sections[table].info = target;
    for (uint32_t i = 1; i < w->n_sections; i++)
        if (w->sections[i].type == SHT_SYMTAB)
            w->sections[table].link = i;
}

struct laid_out {
    struct cairn_elf_data data;
    struct cairn_elf elf;
    uint8_t *file;
};

static struct laid_out lay_out(struct test_elf *w)
{
    struct laid_out l;
    struct cairn_elf elf;
    struct cairn_err err;
    size_t size;
    l.file = test_elf_finish(w, &size);
    assert_ok(cairn_elf_open((struct cairn_span){l.file, size}, &elf, &err), err);
    assert_true(cairn_elf_is_relocatable(&elf));
    assert_ok(cairn_elf_lay_out(&elf, &l.data, &err), err);
    assert_ok(cairn_elf_open(l.data.bytes, &l.elf, &err), err);
    return l;
}

static void done(struct laid_out *l)
{
    cairn_elf_data_done(&l->data);
    free(l->file);
}

static uint64_t vaddr_of(const struct laid_out *l, const char *name)
{
    struct cairn_elf_section section;
    assert_true(cairn_elf_find_section(&l->elf, name, &section));
    return section.vaddr;
}

static uint64_t word_at(const struct laid_out *l, const char *name, size_t at, unsigned width)
{
    struct cairn_elf_data data;
    struct cairn_err err;
    assert_ok(cairn_elf_read_section(&l->elf, name, &data, &err), err);
    struct cairn_reader r = cairn_reader_of(data.bytes, l->elf.swap);
    cairn_reader_seek(&r, at);
    uint64_t value = cairn_reader_word(&r, width);
    assert_false(r.failed);
    cairn_elf_data_done(&data);
    return value;
}

static void code_comes_first_and_text_before_all(void **state)
{
    (void)state;
    struct test_elf w = sample();
    test_elf_symtab(&w, false);
    struct laid_out l = lay_out(&w);
    assert_int_equal(l.elf.type, ET_DYN);
    assert_int_equal(vaddr_of(&l, ".text"), 0);
    assert_int_equal(vaddr_of(&l, ".init.text"), 0x30); /* 0x21, aligned */
    assert_int_equal(vaddr_of(&l, ".data"), 0x1000);
    assert_int_equal(vaddr_of(&l, ".debug_info"), 0);
    struct cairn_elf_segment code, data;
    assert_int_equal(l.elf.n_segments, 2);
    assert_true(cairn_elf_segment(&l.elf, 0, &code) && cairn_elf_segment(&l.elf, 1, &data));
    assert_int_equal(code.vaddr, 0);
    assert_int_equal(code.mem_size, 0x40);
    assert_int_equal(code.flags, PF_R | PF_X);
    assert_int_equal(data.vaddr, 0x1000);
    assert_int_equal(data.mem_size, 8);
    assert_true(cairn_elf_is_code(&l.elf, 0) && !cairn_elf_is_code(&l.elf, 0x21));
    done(&l);
}

static void symbols_lie_where_their_sections_do(void **state)
{
    (void)state;
    for (int form = 0; form < 4; form++) {
        struct test_elf w = sample_of(form & 1, form & 2, form & 1 ? EM_AARCH64 : EM_ARM);
        test_elf_symtab(&w, false);
        struct laid_out l = lay_out(&w);
        struct cairn_elf_symtab symtab;
        struct cairn_err err;
        assert_ok(cairn_elf_symtab_read(&l.elf, CAIRN_ELF_SYMTAB, &symtab, &err), err);
        assert_int_equal(symtab.n, 2);
        assert_int_equal(symtab.symbols[0].vaddr, 8);
        assert_string_equal(symtab.symbols[0].name, "work");
        assert_int_equal(symtab.symbols[1].vaddr, 0x34);
        assert_string_equal(symtab.symbols[1].name, "begin");
        cairn_elf_symtab_done(&symtab);
        done(&l);
    }
}

static void relocations_with_addends_are_applied(void **state)
{
    (void)state;
    struct test_elf w = sample();
    test_elf_symtab(&w, false);
    const uint64_t rows[][4] = {
        {0, 1, R_X86_64_64, 2},  {8, 2, R_X86_64_32, 1},    {16, 3, R_X86_64_PC32, 0},
        {20, 4, R_X86_64_32, 7}, {24, 0, R_X86_64_NONE, 7}, {28, 1, R_X86_64_DTPOFF32, 7},
    };
    add_relocations(&w, INFO, true, rows, 6);
    struct laid_out l = lay_out(&w);
    assert_int_equal(word_at(&l, ".debug_info", 0, 8), 0x30 + 2);
    assert_int_equal(word_at(&l, ".debug_info", 8, 4), 0x34 + 1);
    assert_int_equal(word_at(&l, ".debug_info", 16, 4), (uint32_t)(8 - 16));
    assert_int_equal(word_at(&l, ".debug_info", 20, 4), 7);
    assert_int_equal(word_at(&l, ".debug_info", 24, 8), 0);
    done(&l);
}

static void addends_may_stand_at_the_place(void **state)
{
    (void)state;
    const struct {
        uint16_t machine;
        uint32_t absolute, relative;
        bool big;
    } forms[] = {{EM_386, R_386_32, R_386_PC32, false},
                 {EM_ARM, R_ARM_ABS32, R_ARM_REL32, false},
                 {EM_ARM, R_ARM_ABS32, R_ARM_REL32, true}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct test_elf w = sample_of(false, forms[i].big, forms[i].machine);
        test_elf_symtab(&w, false);
        const uint64_t rows[][4] = {{8, 2, forms[i].absolute}, {12, 3, forms[i].relative}};
        add_relocations(&w, INFO, false, rows, 2);
        struct laid_out l = lay_out(&w);
        assert_int_equal(word_at(&l, ".debug_info", 8, 4), 0x34 + 5);
        assert_int_equal(word_at(&l, ".debug_info", 12, 4), (uint32_t)(8 - 12));
        done(&l);
    }
}

static void sections_of_one_name_become_one(void **state)
{
    (void)state;
    struct test_elf w = sample();
    uint8_t more[] = {1, 2, 3, 4, 5, 6, 7, 8};
    uint32_t second = test_elf_bytes(&w, ".debug_info", SHT_PROGBITS, 0, more, sizeof more);
    test_elf_symbol(&w, "", STB_LOCAL, STT_SECTION, (uint16_t)second, 0, 0);
    test_elf_symtab(&w, false);
    const uint64_t first_rows[][4] = {{0, 1, R_X86_64_64, 0}}, rows[][4] = {{4, 5, R_X86_64_32, 1}};
    add_relocations(&w, INFO, true, first_rows, 1);
    add_relocations(&w, second, true, rows, 1);
    struct laid_out l = lay_out(&w);
    assert_int_equal(word_at(&l, ".debug_info", 0, 8), 0x30);
    assert_int_equal(word_at(&l, ".debug_info", 32, 4), 0x04030201);
    assert_int_equal(word_at(&l, ".debug_info", 36, 4), 32 + 1);
    done(&l);
}

static unsigned n_warnings;

static void count_warnings(void *ctx, enum cairn_log_level level, const char *text)
{
    (void)ctx;
    (void)text;
    n_warnings += level == CAIRN_LOG_WARNING;
}

static void what_is_not_sound_is_left_alone_and_told_once(void **state)
{
    (void)state;
    struct test_elf w = sample();
    test_elf_symtab(&w, false);
    const uint64_t rows[][4] = {
        {29, 1, R_X86_64_32, 1},         {UINT64_MAX, 1, R_X86_64_64, 1}, {0, 99, R_X86_64_64, 1},
        {0, UINT32_MAX, R_X86_64_64, 1}, {16, 1, R_X86_64_32, 3},
    };
    add_relocations(&w, INFO, true, rows, 5);
    w.sections[DATA].size = UINT64_MAX;
    n_warnings = 0;
    cairn_log_set(count_warnings, NULL, CAIRN_LOG_WARNING);
    struct laid_out l = lay_out(&w);
    cairn_log_set(NULL, NULL, CAIRN_LOG_WARNING);
    assert_int_equal(n_warnings, 1);
    assert_int_equal(word_at(&l, ".debug_info", 0, 8), 0);
    assert_int_equal(word_at(&l, ".debug_info", 16, 4), 0x30 + 3);
    assert_int_equal(l.elf.n_segments, 1);
    done(&l);
}

static void unknown_kinds_are_told(void **state)
{
    (void)state;
    struct test_elf w = sample();
    test_elf_symtab(&w, false);
    const uint64_t rows[][4] = {{0, 1, 200, 1}, {8, 1, 201, 1}};
    add_relocations(&w, INFO, true, rows, 2);
    n_warnings = 0;
    cairn_log_set(count_warnings, NULL, CAIRN_LOG_WARNING);
    struct laid_out l = lay_out(&w);
    cairn_log_set(NULL, NULL, CAIRN_LOG_WARNING);
    assert_int_equal(n_warnings, 1);
    assert_int_equal(word_at(&l, ".debug_info", 0, 8), 0);
    done(&l);
}

static void refuse(struct test_elf *w, int code, const char *words)
{
    struct cairn_elf elf;
    struct cairn_elf_data data;
    struct cairn_err err;
    size_t size;
    uint8_t *file = test_elf_finish(w, &size);
    assert_ok(cairn_elf_open((struct cairn_span){file, size}, &elf, &err), err);
    assert_fails(cairn_elf_lay_out(&elf, &data, &err), code, err, words);
    free(file);
}

static void other_machines_are_refused_by_name(void **state)
{
    (void)state;
    struct test_elf w = test_elf_of(true, false, ET_REL, EM_S390);
    refuse(&w, CAIRN_E_SUPPORT, cairn_elf_machine_name(EM_S390));
}

static void sections_that_share_their_bytes_are_refused(void **state)
{
    (void)state;
    struct test_elf w = sample();
    uint8_t bytes[3000] = {0};
    uint32_t first = test_elf_bytes(&w, ".debug_str", SHT_PROGBITS, 0, bytes, sizeof bytes);
    for (int i = 0; i < 8; i++) {
        uint32_t next = test_elf_section(&w, ".debug_str", SHT_PROGBITS, 0, 0, 0);
        w.sections[next] = w.sections[first];
    }
    refuse(&w, CAIRN_E_FORMAT, "overlap");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_comes_first_and_text_before_all),
        cmocka_unit_test(symbols_lie_where_their_sections_do),
        cmocka_unit_test(relocations_with_addends_are_applied),
        cmocka_unit_test(addends_may_stand_at_the_place),
        cmocka_unit_test(sections_of_one_name_become_one),
        cmocka_unit_test(what_is_not_sound_is_left_alone_and_told_once),
        cmocka_unit_test(unknown_kinds_are_told),
        cmocka_unit_test(other_machines_are_refused_by_name),
        cmocka_unit_test(sections_that_share_their_bytes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
