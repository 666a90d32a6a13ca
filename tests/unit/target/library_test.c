/* SPDX-License-Identifier: MIT */
#include "target/library.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/test.h"

static char folder[] = "/tmp/cairn-library-XXXXXX";

static void make_library(const char *inside)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, inside);
    assert_true(mkdir(path, 0755) == 0);
    snprintf(path, sizeof path, "%s/%s/libtold.so.1", folder, inside);
    int fd = open(path, O_CREAT | O_WRONLY, 0644);
    assert_true(fd >= 0);
    close(fd);
}

static void remove_library(const char *inside)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s/libtold.so.1", folder, inside);
    unlink(path);
    snprintf(path, sizeof path, "%s/%s", folder, inside);
    rmdir(path);
}

static int make_folders(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    make_library("one");
    make_library("two");
    return unsetenv("LD_LIBRARY_PATH");
}

static int remove_folders(void **state)
{
    (void)state;
    remove_library("one");
    remove_library("two");
    return rmdir(folder);
}

/* `inside`: the folder that the library is found in; NULL: nowhere. */
static void check(const char *folders, const char *origin, const char *inside)
{
    const struct cairn_library_user user = {folders, origin};
    struct cairn_buffer path = {0};
    char expected[200];
    bool is_found = cairn_library_find("libtold.so.1", &user, &path);
    assert_int_equal(is_found, inside != NULL);
    snprintf(expected, sizeof expected, "%s/%s/libtold.so.1", folder, inside ? inside : "");
    if (inside)
        assert_string_equal(cairn_buffer_text(&path), expected);
    cairn_buffer_done(&path);
}

static void the_first_folder_that_has_it_wins(void **state)
{
    (void)state;
    char folders[200];
    snprintf(folders, sizeof folders, "/nonexistent:%s/two:%s/one", folder, folder);
    check(folders, "", "two");
    snprintf(folders, sizeof folders, ":%s/one:", folder);
    check(folders, "", "one");
    check("", "", NULL);
    check("::", "", NULL);
}

static void the_origin_is_where_the_user_of_the_library_lies(void **state)
{
    (void)state;
    char origin[200];
    snprintf(origin, sizeof origin, "%s/two", folder);
    check("$ORIGIN", origin, "two");
    check("${ORIGIN}", origin, "two");
    check("$ORIGINAL", origin, NULL);
    check("$LIB:$ORIGIN/none", origin, NULL);
}

static void the_environment_comes_before_the_file(void **state)
{
    (void)state;
    char one[200], two[200];
    snprintf(one, sizeof one, "%s/one", folder);
    snprintf(two, sizeof two, "/nonexistent;%s/two", folder);
    assert_int_equal(setenv("LD_LIBRARY_PATH", two, 1), 0);
    check(one, "", "two");
    assert_int_equal(unsetenv("LD_LIBRARY_PATH"), 0);
    check(one, "", "one");
}

static void a_name_with_a_slash_is_a_path(void **state)
{
    (void)state;
    char name[200];
    struct cairn_buffer path = {0};
    snprintf(name, sizeof name, "%s/one/libtold.so.1", folder);
    assert_true(cairn_library_find(name, NULL, &path));
    assert_string_equal(cairn_buffer_text(&path), name);
    assert_false(cairn_library_find("/nonexistent/libtold.so.1", NULL, &path));
    assert_false(cairn_library_find(folder, NULL, &path));
    assert_true(cairn_library_find("libc.so.6", NULL, &path));
    cairn_buffer_done(&path);
}

struct seen {
    size_t n, n_program, n_cmocka, n_libc;
};

static int count(void *ctx, const struct cairn_library_file *file)
{
    struct seen *seen = ctx;
    assert_true(file->fd >= 0);
    assert_non_null(file->elf);
    seen->n_program += !seen->n++ && strcmp(file->path, "/proc/self/exe") == 0;
    seen->n_cmocka += strstr(file->path, "/libcmocka.so") != NULL;
    seen->n_libc += strstr(file->path, "/libc.so.6") != NULL;
    return 0;
}

static int stop_at_second(void *ctx, const struct cairn_library_file *file)
{
    (void)file;
    return ++*(size_t *)ctx == 2 ? 7 : 0;
}

static int expect_no_elf(void *ctx, const struct cairn_library_file *file)
{
    assert_null(file->elf);
    ++*(size_t *)ctx;
    return 0;
}

static void a_program_comes_before_its_libraries_each_once(void **state)
{
    (void)state;
    struct seen seen = {0};
    size_t n = 0;
    assert_int_equal(cairn_library_each_file("/proc/self/exe", count, &seen), 0);
    assert_int_equal(seen.n_program, 1);
    assert_int_equal(seen.n_cmocka, 1);
    assert_int_equal(seen.n_libc, 1);
    assert_int_equal(cairn_library_each_file("/proc/self/exe", stop_at_second, &n), 7);
    assert_int_equal(n, 2);
}

static void a_file_of_another_kind_needs_nothing(void **state)
{
    (void)state;
    size_t n = 0;
    assert_int_equal(cairn_library_each_file("/nonexistent", expect_no_elf, &n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(cairn_library_each_file("/etc/passwd", expect_no_elf, &n), 0);
    assert_int_equal(n, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_folder_that_has_it_wins),
        cmocka_unit_test(the_origin_is_where_the_user_of_the_library_lies),
        cmocka_unit_test(the_environment_comes_before_the_file),
        cmocka_unit_test(a_name_with_a_slash_is_a_path),
        cmocka_unit_test(a_program_comes_before_its_libraries_each_once),
        cmocka_unit_test(a_file_of_another_kind_needs_nothing),
    };
    return cmocka_run_group_tests(tests, make_folders, remove_folders);
}
