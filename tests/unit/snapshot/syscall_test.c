/* SPDX-License-Identifier: MIT */
#include "snapshot/syscall.h"

#include <sys/syscall.h>

#include "support/test.h"

static void calls_have_the_names_of_the_headers(void **state)
{
    (void)state;
    assert_string_equal(cairn_syscall_name(SYS_futex), "futex");
    assert_string_equal(cairn_syscall_name(SYS_clock_nanosleep), "clock_nanosleep");
    assert_string_equal(cairn_syscall_name(SYS_exit_group), "exit_group");
    assert_null(cairn_syscall_name(1000000));
    assert_null(cairn_syscall_name(-1));
}

static void arguments_are_counted_where_that_is_known(void **state)
{
    (void)state;
    assert_int_equal(cairn_syscall_arguments("read"), 3);
    assert_int_equal(cairn_syscall_arguments("pause"), 0);
    assert_int_equal(cairn_syscall_arguments("no_such_call"), -1);
    assert_int_equal(cairn_syscall_arguments(NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_have_the_names_of_the_headers),
        cmocka_unit_test(arguments_are_counted_where_that_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
