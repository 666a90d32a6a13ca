/* SPDX-License-Identifier: MIT */
#include "heap/settings.h"

#include <sys/stat.h>

#include "unit/heap/temporary.h"

static void variables_are_found_by_their_whole_names(void **state)
{
    (void)state;
    static const char *const list[] = {"CAIRN_HEAP_DIRECTORY=/x", "CAIRN_HEAP_DIR",    "A=b",
                                       "CAIRN_HEAP_DEPTH=",       "CAIRN_HEAP_DIR=/y", NULL};
    assert_string_equal(cairn_heap_settings_find(list, "CAIRN_HEAP_DIR"), "/y");
    assert_null(cairn_heap_settings_find(list, "CAIRN_HEAP_DEPTH"));
    assert_null(cairn_heap_settings_find(list, "B"));
    assert_null(cairn_heap_settings_find(NULL, "B"));
}

static void numbers_are_digits_to_the_end(void **state)
{
    (void)state;
    uint64_t number;
    assert_true(cairn_heap_settings_number("1024", &number));
    assert_int_equal(number, 1024);
    assert_false(cairn_heap_settings_number("", &number));
    assert_false(cairn_heap_settings_number("10k", &number));
    assert_false(cairn_heap_settings_number("-1", &number));
    assert_false(cairn_heap_settings_number("99999999999999999999", &number));
}

static void the_environment_is_read(void **state)
{
    (void)state;
    struct cairn_heap_settings settings = {0};
    setenv("CAIRN_HEAP_DIR", "/somewhere", 1);
    setenv("CAIRN_HEAP_DEPTH", "5", 1);
    setenv("CAIRN_HEAP_STACKS", "0", 1);
    setenv("CAIRN_HEAP_MAX_MEMORY", "33554432", 1);
    assert_true(cairn_heap_settings_read(&settings));
    assert_string_equal(settings.dir, "/somewhere");
    assert_int_equal(settings.depth, 5);
    assert_true(settings.no_stacks);
    assert_int_equal(settings.max_bytes, 33554432);
    setenv("CAIRN_HEAP_DEPTH", "100000", 1);
    assert_true(cairn_heap_settings_read(&settings));
    assert_int_equal(settings.depth, CAIRN_HEAP_FRAMES);
}

static void without_a_folder_one_is_made_for_us_alone(void **state)
{
    (void)state;
    struct cairn_heap_settings settings = {0};
    char expected[CAIRN_HEAP_PATH + 16];
    struct stat found;
    unsetenv("CAIRN_HEAP_DIR");
    setenv("XDG_RUNTIME_DIR", temporary_settings.dir, 1);
    assert_true(cairn_heap_settings_read(&settings));
    snprintf(expected, sizeof(expected), "%s/cairn-heap", temporary_settings.dir);
    assert_string_equal(settings.dir, expected);
    assert_int_equal(stat(expected, &found), 0);
    assert_int_equal(found.st_mode & 0777, 0700);
    rmdir(expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variables_are_found_by_their_whole_names),
        cmocka_unit_test(numbers_are_digits_to_the_end),
        cmocka_unit_test(the_environment_is_read),
        cmocka_unit_test(without_a_folder_one_is_made_for_us_alone),
    };
    return cmocka_run_group_tests(tests, make_temporary, remove_temporary);
}
