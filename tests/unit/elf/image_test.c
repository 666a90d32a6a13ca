/* SPDX-License-Identifier: MIT */
#include "elf/image.h"

#include <elf.h>

#include "support/elfwriter.h"
#include "support/test.h"

enum { PAGE = 0x1000 };

/* What a test holds: the file and its image; freed by close_file(). */
struct sample {
    uint8_t *bytes;
    size_t size;
    struct cairn_elf elf;
};

static struct sample open_file(struct test_elf *w)
{
    struct sample sample = {0};
    struct cairn_err err;
    sample.bytes = test_elf_finish(w, &sample.size);
    assert_ok(cairn_elf_open((struct cairn_span){sample.bytes, sample.size}, &sample.elf, &err),
              err);
    return sample;
}

static void close_file(struct sample *sample)
{
    free(sample->bytes);
}

/* The layout of lld: text at an offset that is not its vaddr, its first page shared with rodata. */
static struct test_elf lld_like(bool is64, bool big, uint16_t machine)
{
    struct test_elf w = test_elf_of(is64, big, ET_DYN, machine);
    test_elf_load(&w, PF_R, 0, 0, 0x2ebcc, 0x2ebcc);
    test_elf_load(&w, PF_R | PF_X, 0x2ebd0, 0x2fbd0, 0x21440, 0x21440);
    test_elf_load(&w, PF_R | PF_W, 0x50010, 0x52010, 0x100, 0x5000);
    test_elf_section(&w, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x2fbd0, 0);
    w.sections[1].size = 0x21440; /* its bytes are not needed */
    return w;
}

static void opens_both_classes_and_byte_orders(void **state)
{
    (void)state;
    for (int form = 0; form < 4; form++) {
        bool is64 = form & 1, big = form & 2;
        struct test_elf w = lld_like(is64, big, EM_AARCH64);
        struct sample s = open_file(&w);
        assert_int_equal(s.elf.is64, is64);
        assert_int_equal(s.elf.swap, big);
        assert_int_equal(s.elf.type, ET_DYN);
        assert_int_equal(s.elf.machine, EM_AARCH64);
        assert_int_equal(s.elf.n_segments, 3);
        assert_int_equal(s.elf.n_sections, 3);

        struct cairn_elf_segment text;
        assert_true(cairn_elf_segment(&s.elf, 1, &text));
        assert_int_equal(text.type, PT_LOAD);
        assert_int_equal(text.flags, PF_R | PF_X);
        assert_int_equal(text.off, 0x2ebd0);
        assert_int_equal(text.vaddr, 0x2fbd0);
        assert_int_equal(text.file_size, 0x21440);
        assert_int_equal(text.align, PAGE);
        assert_false(cairn_elf_segment(&s.elf, 3, &text));

        struct cairn_elf_section section;
        assert_true(cairn_elf_find_section(&s.elf, ".text", &section));
        assert_int_equal(section.vaddr, 0x2fbd0);
        assert_int_equal(section.size, 0x21440);
        assert_int_equal(section.flags, SHF_ALLOC | SHF_EXECINSTR);
        assert_false(cairn_elf_find_section(&s.elf, ".tex", &section));
        close_file(&s);
    }
}

static void resolves_counts_that_do_not_fit_the_header(void **state)
{
    (void)state;
    for (int is64 = 0; is64 < 2; is64++) {
        struct test_elf w = lld_like(is64, false, EM_X86_64);
        w.extended = true;
        struct sample s = open_file(&w);
        assert_int_equal(s.elf.n_segments, 3);
        assert_int_equal(s.elf.n_sections, 3);
        struct cairn_elf_section section;
        assert_true(cairn_elf_find_section(&s.elf, ".text", &section));
        close_file(&s);
    }
}

static void keeps_the_segments_where_the_section_table_is_cut_off(void **state)
{
    (void)state;
    struct test_elf w = lld_like(true, false, EM_X86_64);
    struct sample s = open_file(&w);
    struct cairn_elf cut;
    assert_int_equal(cairn_elf_open((struct cairn_span){s.bytes, s.size - 1}, &cut, NULL),
                     CAIRN_OK);
    assert_int_equal(cut.n_sections, 0);
    uint64_t vaddr;
    assert_true(cairn_elf_vaddr_of_off(&cut, 0x30000, PAGE, &vaddr));
    assert_int_equal(vaddr, 0x31000);
    assert_true(cairn_elf_is_code(&cut, 0x2fbd0));
    assert_false(cairn_elf_is_code(&cut, 0x100));
    close_file(&s);
}

static void refuses_what_is_no_elf_file(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *says;
    } bad[] = {
        {"", 0, "no ELF file"},
        {"\x7f"
         "ELF",
         4, "no ELF file"},
        {"#!/bin/sh\nexit 0\n\n\n\n\n\n", 20, "no ELF file"},
        {"\x7f"
         "ELF\3\1\1\0\0\0\0\0\0\0\0\0",
         16, "ELF class is 3"},
        {"\x7f"
         "ELF\2\0\1\0\0\0\0\0\0\0\0\0",
         16, "ELF byte order is 0"},
        {"\x7f"
         "ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0",
         18, "ELF header is cut off"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct cairn_elf elf = {.entry = 42};
        struct cairn_err err;
        uint8_t *copy = test_copy(bad[i].bytes, bad[i].size);
        assert_fails(cairn_elf_open((struct cairn_span){copy, bad[i].size}, &elf, &err),
                     CAIRN_E_FORMAT, err, bad[i].says);
        assert_int_equal(elf.entry, 42);
        free(copy);
    }
}

static void an_offset_becomes_a_vaddr_through_its_segment(void **state)
{
    (void)state;
    struct test_elf w = lld_like(true, false, EM_X86_64);
    struct sample s = open_file(&w);
    uint64_t vaddr;
    assert_true(cairn_elf_vaddr_of_off(&s.elf, 0x2ebd0, PAGE, &vaddr));
    assert_int_equal(vaddr, 0x2fbd0);
    assert_true(cairn_elf_vaddr_of_off(&s.elf, 0x5000f, PAGE, &vaddr));
    assert_int_equal(vaddr, 0x5100f);
    /* Bytes of the file count, not of memory: behind 0x50110 there is .bss, which has no offset. */
    assert_true(cairn_elf_vaddr_of_off(&s.elf, 0x5010f, PAGE, &vaddr));
    assert_int_equal(vaddr, 0x5210f);
    assert_false(cairn_elf_vaddr_of_off(&s.elf, 0x51000, PAGE, &vaddr));
    close_file(&s);
}

static void rounding_to_pages_finds_what_the_loader_mapped(void **state)
{
    (void)state;
    struct test_elf w = test_elf_of(true, false, ET_DYN, EM_X86_64);
    test_elf_load(&w, PF_R | PF_X, 0x1230, 0x3230, 0x100, 0x100);
    struct sample s = open_file(&w);
    uint64_t vaddr;
    assert_true(cairn_elf_vaddr_of_off(&s.elf, 0x1000, PAGE, &vaddr)); /* the mapping's start */
    assert_int_equal(vaddr, 0x3000);
    assert_true(cairn_elf_vaddr_of_off(&s.elf, 0x1fff, PAGE, &vaddr));
    assert_int_equal(vaddr, 0x3fff);
    assert_false(cairn_elf_vaddr_of_off(&s.elf, 0xfff, PAGE, &vaddr));
    assert_false(cairn_elf_vaddr_of_off(&s.elf, 0x2000, PAGE, &vaddr));
    assert_true(cairn_elf_vaddr_of_off(&s.elf, 0x2000, 0x10000, &vaddr)); /* 64 KiB pages */
    close_file(&s);
}

static void an_executable_mapping_of_a_shared_page_is_code(void **state)
{
    (void)state;
    struct test_elf w = lld_like(true, false, EM_X86_64);
    struct sample s = open_file(&w);
    uint64_t vaddr;
    /* Page 0x2e000 of the file is mapped twice; as the start of the mapping with code it is
     * 0x2f000, though byte for byte it belongs to the read-only segment. */
    assert_true(cairn_elf_vaddr_of_mapping(&s.elf, 0x2e000, PAGE, true, &vaddr));
    assert_int_equal(vaddr, 0x2f000);
    assert_true(cairn_elf_vaddr_of_mapping(&s.elf, 0x2e000, PAGE, false, &vaddr));
    assert_int_equal(vaddr, 0x2e000);
    /* Without executable segments there, the other ones answer: JIT caches, odd permissions. */
    assert_true(cairn_elf_vaddr_of_mapping(&s.elf, 0x100, PAGE, true, &vaddr));
    assert_int_equal(vaddr, 0x100);
    close_file(&s);
}

static void several_executable_segments_are_told_apart(void **state)
{
    (void)state;
    struct test_elf w = test_elf_of(true, false, ET_EXEC, EM_X86_64);
    test_elf_load(&w, PF_R | PF_X, 0x1000, 0x401000, 0x1000, 0x1000);
    test_elf_load(&w, PF_R | PF_X, 0x3000, 0x800000, 0x1000, 0x1000);
    test_elf_load(&w, PF_R | PF_X, 0x5000, 0x500000, 0x1000, 0x1000);
    struct sample s = open_file(&w);
    uint64_t vaddr;
    assert_true(cairn_elf_vaddr_of_mapping(&s.elf, 0x3010, PAGE, true, &vaddr));
    assert_int_equal(vaddr, 0x800010);
    assert_true(cairn_elf_vaddr_of_mapping(&s.elf, 0x5010, PAGE, true, &vaddr));
    assert_int_equal(vaddr, 0x500010);
    assert_false(cairn_elf_vaddr_of_mapping(&s.elf, 0x2010, PAGE, true, &vaddr));
    assert_true(cairn_elf_first_vaddr(&s.elf, PAGE, &vaddr));
    assert_int_equal(vaddr, 0x401000);
    close_file(&s);
}

/* What objcopy --only-keep-debug of binutils 2.40 leaves: text at offset 0 with no bytes. */
static void a_debug_file_is_reckoned_as_linkers_lay_out(void **state)
{
    (void)state;
    struct test_elf w = test_elf_of(true, false, ET_DYN, EM_X86_64);
    test_elf_load(&w, PF_R, 0, 0, 0x2ac, 0x2ebcc);
    test_elf_load(&w, PF_R | PF_X, 0, 0x2fbd0, 0, 0x21440);
    test_elf_load(&w, PF_R | PF_W, 0x10, 0x52010, 0, 0x5000);
    test_elf_section(&w, ".text", SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, 0x2fbd0, 0x21440);
    struct sample s = open_file(&w);
    assert_true(cairn_elf_is_debug_only(&s.elf));
    uint64_t vaddr;
    assert_true(cairn_elf_vaddr_of_mapping(&s.elf, 0x2ebd0, PAGE, true, &vaddr));
    assert_int_equal(vaddr, 0x2fbd0);
    assert_true(cairn_elf_vaddr_of_mapping(&s.elf, 0x5000f, PAGE, true, &vaddr));
    assert_int_equal(vaddr, 0x5100f);
    assert_true(cairn_elf_is_code(&s.elf, 0x2fbd0));
    close_file(&s);

    w = test_elf_of(true, false, ET_DYN, EM_X86_64);
    test_elf_section(&w, ".init", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, 8);
    test_elf_section(&w, ".text", SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, 0x2fbd0, 0x21440);
    s = open_file(&w);
    assert_false(cairn_elf_is_debug_only(&s.elf));
    close_file(&s);
}

static void sizes_that_wrap_hold_nothing(void **state)
{
    (void)state;
    struct test_elf w = test_elf_of(true, false, ET_DYN, EM_X86_64);
    test_elf_load(&w, PF_R | PF_X, 0x1000, 0x1000, UINT64_MAX - 0x800, UINT64_MAX);
    test_elf_load(&w, PF_R | PF_X, UINT64_MAX - 8, 0x1000, 0x10, 0x10);
    test_elf_section(&w, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, 8);
    w.sections[1].off = UINT64_MAX - 3;
    struct sample s = open_file(&w);
    uint64_t vaddr = 7;
    assert_false(cairn_elf_vaddr_of_off(&s.elf, 0x2000, PAGE, &vaddr));
    assert_false(cairn_elf_vaddr_of_off(&s.elf, UINT64_MAX - 4, PAGE, &vaddr));
    assert_int_equal(vaddr, 7);
    struct cairn_elf_section section;
    struct cairn_span bytes;
    assert_true(cairn_elf_find_section(&s.elf, ".text", &section));
    assert_false(cairn_elf_section_bytes(&s.elf, &section, &bytes));
    close_file(&s);
}

static void code_is_what_executable_sections_hold(void **state)
{
    (void)state;
    struct test_elf w = lld_like(true, false, EM_X86_64);
    test_elf_section(&w, ".comment", SHT_NOBITS, SHF_EXECINSTR, 0, 0x100); /* not loaded */
    struct sample s = open_file(&w);
    assert_false(cairn_elf_is_code(&s.elf, 0)); /* where discarded functions are left */
    assert_false(cairn_elf_is_code(&s.elf, UINT64_MAX));
    assert_true(cairn_elf_is_code(&s.elf, 0x2fbd0));
    assert_true(cairn_elf_is_code(&s.elf, 0x2fbd0 + 0x2143f));
    assert_false(cairn_elf_is_code(&s.elf, 0x2fbd0 + 0x21440));
    close_file(&s);
}

static void machines_have_names(void **state)
{
    (void)state;
    assert_string_equal(cairn_elf_machine_name(EM_X86_64), "x86-64");
    assert_string_equal(cairn_elf_machine_name(EM_AARCH64), "aarch64");
    assert_string_equal(cairn_elf_machine_name(EM_ARM), "arm");
    assert_string_equal(cairn_elf_machine_name(65535), "machine 65535");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens_both_classes_and_byte_orders),
        cmocka_unit_test(resolves_counts_that_do_not_fit_the_header),
        cmocka_unit_test(keeps_the_segments_where_the_section_table_is_cut_off),
        cmocka_unit_test(refuses_what_is_no_elf_file),
        cmocka_unit_test(an_offset_becomes_a_vaddr_through_its_segment),
        cmocka_unit_test(rounding_to_pages_finds_what_the_loader_mapped),
        cmocka_unit_test(an_executable_mapping_of_a_shared_page_is_code),
        cmocka_unit_test(several_executable_segments_are_told_apart),
        cmocka_unit_test(a_debug_file_is_reckoned_as_linkers_lay_out),
        cmocka_unit_test(sizes_that_wrap_hold_nothing),
        cmocka_unit_test(code_is_what_executable_sections_hold),
        cmocka_unit_test(machines_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
