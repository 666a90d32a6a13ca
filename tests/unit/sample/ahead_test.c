/* SPDX-License-Identifier: MIT */
#include "sample/ahead.h"

#include <stdio.h>

#include "tests/support/test.h"

/* How many mappings with code a file has here. */
static unsigned count_code(const char *file)
{
    char line[4096];
    unsigned n = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps))
        n += strstr(line, "r-xp") && strstr(line, file);
    fclose(maps);
    return n;
}

static void a_program_is_mapped_with_the_libraries_that_it_needs(void **state)
{
    (void)state;
    struct cairn_ahead ahead;
    const unsigned self = count_code("ahead_test"), cmocka = count_code("libcmocka.so");
    cairn_ahead_map("/proc/self/exe", &ahead);
    assert_int_equal(count_code("ahead_test"), self + 1);
    assert_int_equal(count_code("libcmocka.so"), cmocka + 1);
    cairn_ahead_unmap(&ahead);
    assert_int_equal(count_code("ahead_test"), self);
    assert_int_equal(count_code("libcmocka.so"), cmocka);
}

static void what_is_no_program_maps_nothing(void **state)
{
    (void)state;
    struct cairn_ahead ahead;
    cairn_ahead_map("/nonexistent/program", &ahead);
    assert_int_equal(ahead.n, 0);
    cairn_ahead_map("/dev/null", &ahead);
    assert_int_equal(ahead.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_is_mapped_with_the_libraries_that_it_needs),
        cmocka_unit_test(what_is_no_program_maps_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
