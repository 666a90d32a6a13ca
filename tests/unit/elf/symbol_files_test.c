/* SPDX-License-Identifier: MIT */
#include "elf/symbol_files.h"

#include <elf.h>

#include "support/elfwriter.h"
#include "support/test.h"

enum { TEXT = 1, ABSOLUTE = 0xfff1 };

static uint8_t *make_elf(bool is64, bool big, size_t *ret_size)
{
    static struct test_elf w; /* large, and zeroed by each start */
    w = test_elf_of(is64, big, ET_DYN, is64 ? EM_X86_64 : EM_ARM);
    test_elf_load(&w, PF_R | PF_X, 0, 0x1000, 0x3000, 0x3000);
    test_elf_section(&w, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, 0x800);
    test_elf_symbol(&w, "before", STB_LOCAL, STT_FUNC, TEXT, 0x1000, 4);
    test_elf_symbol(&w, "a.c", STB_LOCAL, STT_FILE, ABSOLUTE, 0, 0);
    test_elf_symbol(&w, "late", STB_LOCAL, STT_FUNC, TEXT, 0x1200, 4);
    test_elf_symbol(&w, "cut.part.0", STB_LOCAL, STT_FUNC, TEXT, 0x1100, 4);
    test_elf_symbol(&w, "b.c", STB_LOCAL, STT_FILE, ABSOLUTE, 0, 0);
    test_elf_symbol(&w, "middle", STB_LOCAL, STT_FUNC, TEXT, 0x1180, 4);
    test_elf_symbol(&w, "twin", STB_LOCAL, STT_FUNC, TEXT, 0x1180, 4);
    test_elf_symbol(&w, "", STB_LOCAL, STT_FILE, ABSOLUTE, 0, 0);
    test_elf_symbol(&w, "linker", STB_LOCAL, STT_FUNC, TEXT, 0x1300, 4);
    test_elf_symbol(&w, "global", STB_GLOBAL, STT_FUNC, TEXT, 0x1280, 4);
    test_elf_symtab(&w, false);
    return test_elf_finish(&w, ret_size);
}

static void assert_file(const struct cairn_elf_symbol_files *files, uint64_t vaddr,
                        const char *name, const char *want)
{
    const char *file = cairn_elf_symbol_files_find(files, vaddr, name);
    if (want)
        assert_string_equal(file, want);
    else
        assert_null(file);
}

static void local_functions_have_the_file_before_them(void **state)
{
    (void)state;
    for (int variant = 0; variant < 4; variant++) {
        struct cairn_elf_symbol_files files;
        struct cairn_elf elf;
        struct cairn_err err;
        size_t size;
        uint8_t *bytes = make_elf(variant & 1, variant & 2, &size);
        assert_ok(cairn_elf_open((struct cairn_span){bytes, size}, &elf, &err), err);
        assert_ok(cairn_elf_symbol_files_read(&elf, &files, &err), err);
        assert_file(&files, 0x1000, "before", NULL);
        assert_file(&files, 0x1103, "cut", "a.c");
        assert_file(&files, 0x1180, "middle", "b.c");
        assert_file(&files, 0x1183, "twin", "b.c");
        assert_file(&files, 0x1203, "late", "a.c");
        assert_file(&files, 0x1280, "global", NULL);
        assert_file(&files, 0x1300, "linker", NULL);
        assert_file(&files, 0, "before", NULL);
        cairn_elf_symbol_files_done(&files);
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(local_functions_have_the_file_before_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
