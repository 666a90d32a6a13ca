/* SPDX-License-Identifier: MIT */
#include "agent/window_name.h"

#include <string.h>

#include "tests/support/test.h"

static const struct cairn_window window = {.number = 42,
                                           .start_ns = INT64_C(1796099400123000000),
                                           .length_ns = UINT64_C(10000000000),
                                           .state = CAIRN_WINDOW_NEW};

static void a_name_says_number_start_length_and_state(void **state)
{
    (void)state;
    char name[CAIRN_WINDOW_NAME_BYTES];
    cairn_window_name(&window, name);
    assert_string_equal(name, "0000000042-20261201T043000.123Z-10000.new.pb.gz");
}

static void a_name_is_read_back(void **state)
{
    (void)state;
    for (int i = 0; i < CAIRN_WINDOW_STATES; i++) {
        struct cairn_window one = window, again;
        char name[CAIRN_WINDOW_NAME_BYTES];
        one.state = (enum cairn_window_state)i;
        cairn_window_name(&one, name);
        assert_true(cairn_window_name_read(name, &again));
        assert_int_equal(again.number, one.number);
        assert_int_equal(again.start_ns, one.start_ns);
        assert_int_equal(again.length_ns, one.length_ns);
        assert_int_equal(again.state, one.state);
    }
}

static void what_is_no_name_of_a_window_is_refused(void **state)
{
    (void)state;
    static const char *const names[] = {
        "",
        ".",
        "running",
        "0000000042",
        "0000000042-20261201T043000.123Z-10000.pb",
        "0000000042-20261301T043000.123Z-10000.pb.gz",
        "42-20261201T043000.123Z-10000.pb.gz",
        "0000000042-20261201T043000.123Z-.pb.gz",
        "0000000042-20261201T043000.123Z-010.pb.gz",
        "0000000042-20261201T043000.123Z-10000.newer.pb.gz",
        "0000000042-20261201T043000.123Z-99999999999999999999999.pb.gz",
        "0000000042-99991201T043000.123Z-10.pb.gz",
        "0000000042-19691201T043000.123Z-10.pb.gz",
        ".0000000042-20261201T043000.123Z-10000.new.pb.gz.cairn-aaaaaa"};
    struct cairn_window w;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (cairn_window_name_read(names[i], &w))
            fail_msg("%s was taken", names[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_says_number_start_length_and_state),
        cmocka_unit_test(a_name_is_read_back),
        cmocka_unit_test(what_is_no_name_of_a_window_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
