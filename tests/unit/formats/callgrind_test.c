/* SPDX-License-Identifier: MIT */
#include "profile/profile.h"
#include "support/memory_io.h"
#include "support/no_memory.h"
#include "support/test.h"

static struct cairn_profile *read_text(const char *text)
{
    struct cairn_profile *p;
    struct cairn_err err;
    assert_ok(test_read_profile(cairn_span_of(text), CAIRN_FORMAT_COLLAPSED, &p, &err), err);
    return p;
}

/* The text after the head's line of events. */
static void assert_becomes(const char *text, const char *expected)
{
    struct cairn_profile *p = read_text(text);
    struct cairn_buffer out = {0};
    struct cairn_err err;
    assert_ok(cairn_profile_write(p, CAIRN_FORMAT_CALLGRIND, test_write, &out, &err), err);
    const char *body = strstr(cairn_buffer_text(&out), "events: samples\n");
    assert_non_null(body);
    assert_string_equal(body + strlen("events: samples\n"), expected);
    cairn_buffer_done(&out);
    cairn_profile_free(p);
}

static void a_stack_is_calls_with_all_that_is_below(void **state)
{
    (void)state;
    assert_becomes("a;b 2\na 3\n", "\nob=(1) ???\nfl=(1) ???\nfn=(1) [all]\n"
                                   "cob=(1)\ncfi=(1)\ncfn=(2) a\ncalls=1 0\n0 5\n"
                                   "\nob=(1)\nfl=(1)\nfn=(2)\n0 3\n"
                                   "cob=(1)\ncfi=(1)\ncfn=(3) b\ncalls=1 0\n0 2\n"
                                   "\nob=(1)\nfl=(1)\nfn=(3)\n0 2\n"
                                   "\ntotals: 5\n");
}

/* Two stacks with the same call are one; what calls itself is another function. */
static void recursion_counts_no_value_twice(void **state)
{
    (void)state;
    assert_becomes("f;f 1\ng;f 1\n", "\nob=(1) ???\nfl=(1) ???\nfn=(1) [all]\n"
                                     "cob=(1)\ncfi=(1)\ncfn=(2) f\ncalls=1 0\n0 1\n"
                                     "cob=(1)\ncfi=(1)\ncfn=(4) g\ncalls=1 0\n0 1\n"
                                     "\nob=(1)\nfl=(1)\nfn=(2)\n0 1\n"
                                     "cob=(1)\ncfi=(1)\ncfn=(3) f'2\ncalls=1 0\n0 1\n"
                                     "\nob=(1)\nfl=(1)\nfn=(3)\n0 1\n"
                                     "\nob=(1)\nfl=(1)\nfn=(4)\n"
                                     "cob=(1)\ncfi=(1)\ncfn=(2)\ncalls=1 0\n0 1\n"
                                     "\ntotals: 2\n");
}

static void an_empty_profile_has_totals(void **state)
{
    (void)state;
    assert_becomes("", "\ntotals: 0\n");
}

static void a_name_ends_with_its_line(void **state)
{
    (void)state;
    struct cairn_profile *p = read_text("a\x1b[31m\tb 1\n");
    cairn_profile_add_comment(p, "command: x\ny");
    struct cairn_buffer out = {0};
    struct cairn_err err;
    assert_ok(cairn_profile_write(p, CAIRN_FORMAT_CALLGRIND, test_write, &out, &err), err);
    assert_contains(cairn_buffer_text(&out), "\ncmd: x y\n");
    assert_contains(cairn_buffer_text(&out), "(2) a [31m b\n");
    cairn_buffer_done(&out);
    cairn_profile_free(p);
}

static void all_values_are_events_the_shown_one_first(void **state)
{
    (void)state;
    struct cairn_profile *p;
    struct cairn_buffer out = {0};
    struct cairn_err err;
    assert_int_equal(cairn_profile_new(&p, NULL), CAIRN_OK);
    cairn_profile_add_type(p, "a b", "count");
    cairn_profile_add_type(p, "", "");
    cairn_profile_add_type(p, "cpu", "nanoseconds");
    assert_ok(cairn_profile_set_default_value(p, 2, &err), err);
    cairn_profile_add_sample(p, 0, 0, (int64_t[]){1, 2, 3});
    assert_ok(cairn_profile_write(p, CAIRN_FORMAT_CALLGRIND, test_write, &out, &err), err);
    assert_contains(cairn_buffer_text(&out), "\nevents: cpu_nanoseconds a_b values\n");
    assert_contains(cairn_buffer_text(&out), "(2) [no stack]\ncalls=1 0\n0 3 1 2\n");
    assert_contains(cairn_buffer_text(&out), "\ntotals: 3 1 2\n");
    cairn_buffer_done(&out);
    cairn_profile_free(p);
}

static void values_below_zero_are_refused(void **state)
{
    (void)state;
    struct cairn_profile *p = read_text("a -1\n");
    struct cairn_err err;
    assert_fails(cairn_profile_write(p, CAIRN_FORMAT_CALLGRIND, test_write, NULL, &err),
                 CAIRN_E_ARG, err, "\"samples\" go below zero");
    cairn_profile_free(p);
}

/* Beyond 64 levels they are one function, whose call to itself counts once for a stack. */
static void deep_recursion_ends_somewhere(void **state)
{
    (void)state;
    enum { DEPTH = 1024 };
    struct cairn_buffer text = {0}, out = {0};
    struct cairn_err err;
    for (int i = 0; i < DEPTH; i++)
        cairn_buffer_str(&text, i ? ";f" : "f");
    cairn_buffer_str(&text, " 7\n");
    struct cairn_profile *p = read_text(cairn_buffer_text(&text));
    assert_ok(cairn_profile_write(p, CAIRN_FORMAT_CALLGRIND, test_write, &out, &err), err);
    assert_contains(cairn_buffer_text(&out), "f'64\ncalls=1 0\n0 7\n");
    assert_contains(cairn_buffer_text(&out), "cfn=(65)\ncalls=1 0\n0 7\n");
    assert_null(strstr(cairn_buffer_text(&out), "f'65"));
    cairn_buffer_done(&out);
    cairn_buffer_done(&text);
    cairn_profile_free(p);
}

static void names_of_files_ask_for_it(void **state)
{
    (void)state;
    assert_int_equal(cairn_format_of_name("callgrind.out.42"), CAIRN_FORMAT_CALLGRIND);
    assert_int_equal(cairn_format_of_name("dir/callgrind.out"), CAIRN_FORMAT_CALLGRIND);
    assert_int_equal(cairn_format_of_name("a.callgrind"), CAIRN_FORMAT_CALLGRIND);
    assert_int_equal(cairn_format_of_name("callgrind.out.txt"), CAIRN_FORMAT_COLLAPSED);
    assert_int_equal(cairn_format_of_name("callgrind.out/a"), CAIRN_FORMAT_AUTO);
}

static void lack_of_memory_is_reported_wherever_it_happens(void **state)
{
    (void)state;
    struct cairn_profile *p = read_text("main;f 1\nmain;g;f;f 2\n");
    test_write_without_memory(p, CAIRN_FORMAT_CALLGRIND, 10);
    cairn_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stack_is_calls_with_all_that_is_below),
        cmocka_unit_test(recursion_counts_no_value_twice),
        cmocka_unit_test(an_empty_profile_has_totals),
        cmocka_unit_test(a_name_ends_with_its_line),
        cmocka_unit_test(all_values_are_events_the_shown_one_first),
        cmocka_unit_test(values_below_zero_are_refused),
        cmocka_unit_test(deep_recursion_ends_somewhere),
        cmocka_unit_test(names_of_files_ask_for_it),
        cmocka_unit_test(lack_of_memory_is_reported_wherever_it_happens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
