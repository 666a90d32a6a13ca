/* SPDX-License-Identifier: MIT */
#include "support/stack_text.h"

static const char text[] = "crash of x:\n"
                           "/lib/libx.so(draw+0x1a) [0x7f072569024a]\n"
                           "I prog: ./prog(+0x11d1)[0x55f56953f1d1]\n"
                           "./prog() [0x55f56953f1d2]\n"
                           "/lib/y.so(ns::f(int)+0x3) [0x7f072569024b]\n"
                           "/lib/z.so [0x7f072569024c]\n"
                           "[0x7f072569024d]\n"
                           "*** SIGSEGV received at time=1700000000 on cpu 3 ***\n"
                           "PC: @     0x55f1c0b2a1b2  (unknown)  draw()\n"
                           "    @     0x55f1c0b2a1b2         64  fill(int, (anonymous)::T)\n"
                           "    @     0x7f072569024b  (unknown)  (unknown)\n"
                           "    @ ... and at least 3 more frames\n"
                           "*** SIGABRT (@0x0) received by PID 4813 (TID 0x7f) from PID 0 ***\n"
                           "    @     0x55f1c0b2a1b2 main\n"
                           "\n"
                           " 0# spin() at /src dir/a.cpp:7\n"
                           " 1# 0x000055D1C1001234 in ./prog\n"
                           " 2# main in ./prog\n"
                           "   0# last() at /src/a.cpp:12 [0x401234]\n";

static const struct test_stack_text backtrace = {
    .text = text,
    .size = sizeof text - 1,
    .format = CAIRN_FORMAT_BACKTRACE,
    .n_samples = 5,
    .names = "draw [unknown] ns::f(int) fill(int, (anonymous)::T) main spin() last()",
};

static void frames_have_what_each_library_prints(void **state)
{
    (void)state;
    struct cairn_profile *p = test_stack_text_read(&backtrace, CAIRN_FORMAT_AUTO);
    test_assert_stack(p, 0,
                      "draw of /lib/libx.so; +0x11d0 of ./prog; [unknown] of ./prog; "
                      "ns::f(int) of /lib/y.so; [unknown] of /lib/z.so; 0x7f072569024c");
    test_assert_stack(p, 1, "fill(int, (anonymous)::T); 0x7f072569024a");
    test_assert_stack(p, 2, "main");
    test_assert_stack(p, 3, "spin() /src dir/a.cpp:7; [unknown] of ./prog; main of ./prog");
    test_assert_stack(p, 4, "last() /src/a.cpp:12");
    cairn_profile_free(p);
}

static void the_line_before_a_stack_is_its_label(void **state)
{
    (void)state;
    struct cairn_profile *p = test_stack_text_read(&backtrace, CAIRN_FORMAT_AUTO);
    test_assert_label(p, 0, "stack", "crash of x");
    test_assert_label(p, 1, "stack", "*** SIGSEGV received at time=1700000000 on cpu 3 ***");
    test_assert_label(p, 2, "pid", "4813");
    cairn_profile_free(p);
}

static void a_text_that_is_cut_anywhere_keeps_what_is_whole(void **state)
{
    (void)state;
    test_stack_text_cuts(&backtrace);
}

static void any_byte_may_be_wrong(void **state)
{
    (void)state;
    test_stack_text_odd_bytes(&backtrace, 1, 1);
}

static void text_without_a_stack_is_an_error_with_a_hint(void **state)
{
    (void)state;
    struct cairn_profile *p = NULL;
    struct cairn_err err;
    assert_fails(test_read_profile(cairn_span_of("hello\n"), CAIRN_FORMAT_BACKTRACE, &p, &err),
                 CAIRN_E_FORMAT, err, "text of backtrace_symbols() and its like without a stack");
    assert_non_null(strstr(err.hint, "backtrace_symbols_fd"));
}

static void other_lines_are_no_frames(void **state)
{
    (void)state;
    static const char *const others[] = {"mail me @ home\n", "main;f (x) 3\n", "see [0x12\n",
                                         "    #0 0x55d1 in f(int) (/a+0x1)\n", "x (y) [1]\n"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_not_equal(cairn_format_of_bytes(others[i], strlen(others[i])),
                             CAIRN_FORMAT_BACKTRACE);
}

static void lack_of_memory_leaks_nothing(void **state)
{
    (void)state;
    test_stack_text_no_memory(&backtrace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_have_what_each_library_prints),
        cmocka_unit_test(the_line_before_a_stack_is_its_label),
        cmocka_unit_test(a_text_that_is_cut_anywhere_keeps_what_is_whole),
        cmocka_unit_test(any_byte_may_be_wrong),
        cmocka_unit_test(text_without_a_stack_is_an_error_with_a_hint),
        cmocka_unit_test(other_lines_are_no_frames),
        cmocka_unit_test(lack_of_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
