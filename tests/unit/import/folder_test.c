/* SPDX-License-Identifier: MIT */
#include "import/folder.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/test.h"

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void remove_file(const char *folder, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    (void)unlink(path);
}

static void files_are_taken_as_long_as_their_numbers_go_on(void **state)
{
    (void)state;
    char path[] = "/tmp/cairn-folder.XXXXXX", byte[8] = "";
    struct cairn_import_folder folder;
    struct cairn_err err;
    assert_non_null(mkdtemp(path));
    write_file(path, "data", "head");
    write_file(path, "data.0", "zero");
    write_file(path, "data.1", "one");
    write_file(path, "data.3", "beyond a gap");
    assert_ok(cairn_import_folder_open(path, &folder, &err), err);
    assert_int_equal(folder.n, 2);
    assert_int_equal(folder.inputs[1].read_at(folder.inputs[1].ctx, 1, byte, 7), 2);
    assert_string_equal(byte, "ne");
    assert_int_equal(folder.inputs[0].read_at(folder.inputs[0].ctx, 99, byte, 7), 0);
    cairn_import_folder_close(&folder);
    static const char *const names[] = {"data", "data.0", "data.1", "data.3"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        remove_file(path, names[i]);
    rmdir(path);
}

static void what_is_no_regular_file_is_refused(void **state)
{
    (void)state;
    char path[] = "/tmp/cairn-folder.XXXXXX", pipe[64];
    struct cairn_import_folder folder;
    struct cairn_err err;
    assert_non_null(mkdtemp(path));
    snprintf(pipe, sizeof pipe, "%s/data.0", path);
    assert_int_equal(mkfifo(pipe, 0600), 0); /* nobody waits for its writer */
    assert_fails(cairn_import_folder_open(path, &folder, &err), CAIRN_E_ARG, err,
                 "data.0 is no regular file");
    remove_file(path, "data.0");
    rmdir(path);
    assert_fails(cairn_import_folder_open(path, &folder, &err), CAIRN_E_MISSING, err, path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_taken_as_long_as_their_numbers_go_on),
        cmocka_unit_test(what_is_no_regular_file_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
