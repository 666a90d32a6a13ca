/* SPDX-License-Identifier: MIT */
/* Tables of the libraries of this process, and of programs that happen to be here. */
#include <glob.h>
#include <inttypes.h>

#include "base/file.h"
#include "support/tablecheck.h"
#include "support/test.h"
#include "unwind/sections.h"

enum { ANY_ADDRESSES = 20000 };

/* Of the command line, instead of those that are looked for. */
static char **files;

static bool open_file(const char *path, struct cairn_file *file,
                      struct cairn_unwind_sections *ret_sections)
{
    struct cairn_elf elf;
    if (cairn_file_open(path, file, NULL) < 0)
        return false;
    if (cairn_elf_open(file->bytes, &elf, NULL) == CAIRN_OK &&
        cairn_unwind_sections_of_file(&elf, ret_sections))
        return true;
    cairn_file_close(file);
    return false;
}

static void check_file(const char *path)
{
    struct cairn_file file;
    struct cairn_unwind_sections sections;
    struct test_table t;
    if (!open_file(path, &file, &sections)) {
        printf("skipped: %s is not there, or no program\n", path);
        return;
    }
    struct cairn_unwind_table_input input = cairn_unwind_table_input_of(&sections);
    assert_int_equal(test_table_build(&input, &t), CAIRN_TABLE_OK);
    assert_int_equal(t.built.n_damaged, 0);
    struct test_table rows;
    struct cairn_unwind_arch by_rows = *sections.arch;
    by_rows.run = NULL;
    input.arch = &by_rows;
    assert_int_equal(test_table_build(&input, &rows), CAIRN_TABLE_OK);
    assert_int_equal(rows.built.image.size, t.built.image.size);
    assert_memory_equal(rows.built.image.data, t.built.image.data, t.built.image.size);
    test_table_done(&rows);
    struct test_table_check c = test_table_check(&sections, &t.table, ANY_ADDRESSES);
    if (c.n_wrong)
        fail_msg("%s: %" PRIu64 " of %" PRIu64 " addresses", path, c.n_wrong, c.n_checked);
    assert_true(c.n_checked > 100);
    /* Compact, or a side entry that gives the caller. */
    assert_true(c.blind_bytes * 1000 <= c.covered_bytes);
    printf("%s: %" PRIu64 " addresses, %" PRIu64 " steps, side %" PRIu64 " bytes, blind %" PRIu64
           "\n",
           path, c.n_checked, c.n_stepped, c.side_bytes, c.blind_bytes);
    test_table_done(&t);
    cairn_file_close(&file);
}

static void tables_say_what_the_sections_say(void **state)
{
    static const char *const patterns[] = {
        "/lib/*-linux-gnu*/libc.so.6",
        "/usr/lib/*-linux-gnu*/libstdc++.so.6",
        "/usr/lib/*-linux-gnu*/libcrypto.so.3",
        "/usr/bin/redis-server",
        "/usr/bin/python3.*[0-9]",
        "/usr/lib/postgresql/*/bin/postgres",
        "/lib*/ld-linux*.so.*",
        "/usr/*-linux-gnu*/lib/libc.so.6", /* of a cross compiler */
        "/usr/*-linux-gnu*/lib/libstdc++.so.6",
        "/usr/*-linux-gnu*/lib/ld-linux*.so.*",
    };
    (void)state;
    for (char **file = files; file && *file; file++)
        check_file(*file);
    for (size_t i = 0; !files && i < sizeof patterns / sizeof *patterns; i++) {
        glob_t found;
        if (glob(patterns[i], 0, NULL, &found) != 0) {
            printf("skipped: there is no %s\n", patterns[i]);
            continue;
        }
        for (size_t k = 0; k < found.gl_pathc; k++)
            check_file(found.gl_pathv[k]);
        globfree(&found);
    }
}

static const struct cairn_unwind_arch *own_arch(void)
{
    struct cairn_file file;
    struct cairn_unwind_sections sections;
    assert_true(open_file("/proc/self/exe", &file, &sections));
    cairn_file_close(&file);
    return sections.arch;
}

struct loaded {
    const struct cairn_unwind_arch *arch;
    unsigned n_modules, n_files;
};

static int check_loaded(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct loaded *loaded = ctx;
    struct cairn_unwind_sections memory, disk;
    struct cairn_file file = {0};
    struct test_table from_memory, from_file;
    (void)size;
    assert_true(cairn_unwind_sections_loaded(loaded->arch, info->dlpi_addr, info->dlpi_phdr,
                                             info->dlpi_phnum, &memory));
    struct cairn_unwind_table_input input = cairn_unwind_table_input_of(&memory);
    if (!input.eh_frame && !input.exidx) {
        printf("skipped: %s has no unwind information in memory\n", info->dlpi_name);
        return 0;
    }
    assert_int_equal(test_table_build(&input, &from_memory), CAIRN_TABLE_OK);
    assert_int_equal(test_table_check(&memory, &from_memory.table, ANY_ADDRESSES).n_wrong, 0);
    loaded->n_modules++;
    const char *path = info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
    if (open_file(path, &file, &disk)) {
        disk.debug_frame.bytes = (struct cairn_span){0}; /* nobody loads it */
        input = cairn_unwind_table_input_of(&disk);
        assert_int_equal(test_table_build(&input, &from_file), CAIRN_TABLE_OK);
        /* Side entries too: they count from the section's first byte. */
        assert_int_equal(from_file.built.image.size, from_memory.built.image.size);
        assert_memory_equal(from_file.built.image.data, from_memory.built.image.data,
                            from_file.built.image.size);
        loaded->n_files++;
        test_table_done(&from_file);
        cairn_file_close(&file);
    }
    test_table_done(&from_memory);
    return 0;
}

/* Without section headers, the vdso among them. */
static void what_is_loaded_gives_the_table_of_its_file(void **state)
{
    struct loaded loaded = {.arch = own_arch()};
    (void)state;
    dl_iterate_phdr(check_loaded, &loaded);
    assert_true(loaded.n_modules >= 2);
    assert_true(loaded.n_files >= 2);
}

int main(int argc, char **argv)
{
    files = argc > 1 ? argv + 1 : NULL;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_say_what_the_sections_say),
        cmocka_unit_test(what_is_loaded_gives_the_table_of_its_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
