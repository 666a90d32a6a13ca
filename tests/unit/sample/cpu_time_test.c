/* SPDX-License-Identifier: MIT */
#include "sample/cpu_time.h"

#include "tests/support/test.h"

static void what_is_idle_or_an_interrupt_is_no_time_of_processes(void **state)
{
    (void)state;
    static const char text[] = "cpu  100 20 3 99999 77 55 44 33 22 11\ncpu0 1 2 3 4\n";
    assert_int_equal(cairn_cpu_time_parse(text, 100), 1230000000);
    assert_int_equal(cairn_cpu_time_parse(text, 1000), 123000000);
}

static void what_says_nothing_is_not_known(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "cpu", "cpu  1 2", "intr 1 2 3", "cpu a b c"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(cairn_cpu_time_parse(texts[i], 100), 0);
    assert_int_equal(cairn_cpu_time_parse("cpu 1 2 3", 0), 0);
}

static void the_time_of_this_machine_goes_on(void **state)
{
    (void)state;
    uint64_t before = cairn_cpu_time_ns();
    assert_true(before > 0);
    while (cairn_cpu_time_ns() == before)
        ; /* which uses some */
    assert_true(cairn_cpu_time_ns() > before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_idle_or_an_interrupt_is_no_time_of_processes),
        cmocka_unit_test(what_says_nothing_is_not_known),
        cmocka_unit_test(the_time_of_this_machine_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
