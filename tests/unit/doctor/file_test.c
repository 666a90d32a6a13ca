/* SPDX-License-Identifier: MIT */
#include "doctor/file.h"

#include <elf.h>

#include "base/file.h"
#include "support/elfwriter.h"
#include "support/test.h"

static uint8_t *make(size_t *ret_size)
{
    static struct test_elf w;
    w = test_elf_of(true, false, ET_DYN, EM_X86_64);
    test_elf_load(&w, PF_R | PF_X, 0, 0, 0x1000, 0x1000);
    uint32_t text =
        test_elf_section(&w, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x400, 0x100);
    test_elf_build_id(&w, "\xab\xcd\xef\x01", 4, true);
    test_elf_symbol(&w, "leaf", STB_GLOBAL, STT_FUNC, (uint16_t)text, 0x400, 0x10);
    test_elf_symtab(&w, false);
    return test_elf_finish(&w, ret_size);
}

static void what_is_missing_is_said(void **state)
{
    (void)state;
    size_t size;
    uint8_t *bytes = make(&size);
    struct cairn_doctor_file file;
    cairn_doctor_read_file((struct cairn_span){bytes, size}, (struct cairn_span){0}, &file);
    assert_string_equal(file.build_id, "abcdef01");
    assert_string_equal(file.tables, "");
    assert_string_equal(file.symbols, ".symtab");
    assert_false(file.has_lines || file.has_inlines);
    assert_contains(file.why, "no unwind tables");
    assert_contains(file.fix, "debuginfod-find debuginfo abcdef01");
    assert_contains(file.fix, "/usr/lib/debug/.build-id/ab/cdef01.debug");
    cairn_doctor_read_file((struct cairn_span){bytes, 3}, (struct cairn_span){0}, &file);
    assert_string_equal(file.why, "no ELF file");
    free(bytes);
}

static void damaged_files_are_read(void **state)
{
    (void)state;
    size_t size;
    uint8_t *bytes = make(&size);
    struct cairn_doctor_file file;
    for (size_t cut = 0; cut < size; cut += 7) {
        uint8_t *copy = test_copy(bytes, cut);
        cairn_doctor_read_file((struct cairn_span){copy, cut}, (struct cairn_span){copy, cut},
                               &file);
        free(copy);
    }
    for (size_t at = 0; at < size; at++) {
        uint8_t *copy = test_copy(bytes, size);
        copy[at] ^= (uint8_t)(1 << at % 8);
        cairn_doctor_read_file((struct cairn_span){copy, size}, (struct cairn_span){0}, &file);
        assert_in_range(file.covered_percent + 1, 0, 101);
        free(copy);
    }
    free(bytes);
}

/* This very program was built with -g, with unwind tables and with symbols. */
static void a_real_program_has_all(void **state)
{
    (void)state;
    struct cairn_file self;
    struct cairn_doctor_file file;
    struct cairn_err err;
    assert_ok(cairn_file_open("/proc/self/exe", &self, &err), err);
    cairn_doctor_read_file(self.bytes, (struct cairn_span){0}, &file);
    assert_string_not_equal(file.tables, "");
    assert_string_equal(file.symbols, ".symtab");
#if defined(__arm__)
    assert_string_equal(file.tables, ".ARM.exidx");
#else
    assert_memory_equal(file.tables, ".eh_frame", 9);
    assert_in_range(file.covered_percent, 50, 100);
#endif
    cairn_file_close(&self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_missing_is_said),
        cmocka_unit_test(damaged_files_are_read),
        cmocka_unit_test(a_real_program_has_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
