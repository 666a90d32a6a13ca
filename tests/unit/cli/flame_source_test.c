/* SPDX-License-Identifier: MIT */
/* Files that are no source, and names that want to lead out of the folder. */
#include "cli/flame_source.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/test.h"

enum { HUGE_BYTES = 33 << 20 };

static char work[64]; /* work/dir is the folder given; what lies beside it is nobody's to read */

static const char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", work, name);
    return path;
}

static void put(const char *name, const char *text, size_t size)
{
    FILE *file = fopen(path_of(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(work, sizeof work, "/tmp/cairn-source.XXXXXX");
    assert_non_null(mkdtemp(work));
    assert_int_equal(mkdir(path_of("dir"), 0755), 0);
    assert_int_equal(mkdir(path_of("dir/app"), 0755), 0);
    put("dir/app/x.c", "int x;\n", 7);
    put("secret.c", "secret\n", 7);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", work);
    return system(command);
}

/* NULL: it is not there. The text is good until the next call. */
static const char *read_in(const char *folder, const char *name, size_t *ret_size)
{
    static struct cli_flame_source source;
    char path[128];
    const char *text;
    cli_flame_source_done(&source);
    snprintf(path, sizeof path, "%s/%s", work, folder);
    source = (struct cli_flame_source){.folder = path};
    int rc = cli_flame_source_read(&source, name, &text, ret_size);
    assert_int_equal(source.n_found, rc == 0);
    assert_int_equal(source.n_missing, rc != 0);
    return rc == 0 ? text : NULL;
}

static const char *read_source(const char *name)
{
    size_t size;
    return read_in("dir", name, &size);
}

static void assert_tidy(const char *name, const char *expected)
{
    struct cairn_buffer b = {0};
    cairn_buffer_str(&b, "before/");
    cli_flame_source_tidy(&b, name);
    assert_string_equal(cairn_buffer_text(&b) + 7, expected);
    cairn_buffer_done(&b);
}

static void names_are_tidied_without_leading_above_their_beginning(void **state)
{
    (void)state;
    assert_tidy("src/../lib/./x.c", "lib/x.c");
    assert_tidy("//a///b//", "a/b");
    assert_tidy("a/b/../../c", "c");
    assert_tidy("../x.c", "");
    assert_tidy("a/../../x.c", "");
    assert_tidy("a/..", "");
    assert_tidy("...", "...");
    assert_tidy("..a/x..", "..a/x..");
    assert_tidy("", "");
}

static void a_file_is_found_by_the_end_of_its_name(void **state)
{
    (void)state;
    assert_string_equal(read_source("/build/tree/app/x.c"), "int x;\n");
    assert_string_equal(read_source("app/x.c"), "int x;\n");
    assert_null(read_source("x.c"));
    assert_null(read_source("/build/app/y.c"));
}

static void what_is_no_plain_file_is_not_read(void **state)
{
    (void)state;
    assert_int_equal(mkdir(path_of("dir/folder.c"), 0755), 0);
    assert_int_equal(mkfifo(path_of("dir/pipe.c"), 0644), 0);
    assert_null(read_source("folder.c"));
    assert_null(read_source("pipe.c")); /* and nobody waits for who writes it */
    assert_null(read_source("app/x.c/y.c"));
}

static void a_file_too_large_is_no_source(void **state)
{
    (void)state;
    put("dir/huge.c", "", 0);
    assert_int_equal(truncate(path_of("dir/huge.c"), HUGE_BYTES), 0);
    assert_null(read_source("huge.c"));
}

static void bytes_are_given_as_they_are(void **state)
{
    (void)state;
    static const char bytes[] = "a\0b\xff\n\0\0";
    size_t size;
    put("dir/binary.c", bytes, sizeof bytes);
    const char *text = read_in("dir", "binary.c", &size);
    assert_non_null(text);
    assert_int_equal(size, sizeof bytes);
    assert_memory_equal(text, bytes, size);
    put("dir/empty.c", "", 0);
    assert_non_null(read_in("dir", "empty.c", &size));
    assert_int_equal(size, 0);
}

static void no_name_leads_out_of_the_folder(void **state)
{
    (void)state;
    static const char *const names[] = {
        "../secret.c", "app/../../secret.c", "/app/../../dir/../secret.c", "..", ".", "/", "",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_null(read_source(names[i]));
    assert_null(read_source(path_of("secret.c")));
}

static void no_link_leads_out_of_the_folder(void **state)
{
    (void)state;
    assert_int_equal(symlink("../secret.c", path_of("dir/link.c")), 0);
    assert_int_equal(symlink("..", path_of("dir/above")), 0);
    assert_int_equal(symlink("app/x.c", path_of("dir/inside.c")), 0);
    assert_int_equal(symlink("dir", path_of("linked")), 0);
    assert_int_equal(mkdir(path_of("dir2"), 0755), 0); /* "dir" is where its name begins */
    put("dir2/x.c", "other\n", 6);
    assert_int_equal(symlink("../dir2/x.c", path_of("dir/beside.c")), 0);
    size_t size;
    assert_null(read_source("link.c"));
    assert_null(read_source("above/secret.c"));
    assert_null(read_source("beside.c"));
    assert_string_equal(read_source("inside.c"), "int x;\n");
    assert_string_equal(read_in("linked", "app/x.c", &size), "int x;\n");
    assert_string_equal(read_in("dir/app/..", "app/x.c", &size), "int x;\n");
}

static void a_folder_that_is_not_there_has_no_files(void **state)
{
    (void)state;
    size_t size;
    assert_null(read_in("none", "app/x.c", &size));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_tidied_without_leading_above_their_beginning),
        cmocka_unit_test(a_file_is_found_by_the_end_of_its_name),
        cmocka_unit_test(what_is_no_plain_file_is_not_read),
        cmocka_unit_test(a_file_too_large_is_no_source),
        cmocka_unit_test(bytes_are_given_as_they_are),
        cmocka_unit_test(no_name_leads_out_of_the_folder),
        cmocka_unit_test(no_link_leads_out_of_the_folder),
        cmocka_unit_test(a_folder_that_is_not_there_has_no_files),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
