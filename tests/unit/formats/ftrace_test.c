/* SPDX-License-Identifier: MIT */
#include "support/stack_text.h"

static const char text[] =
    "# tracer: nop\n"
    "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
    "         ba sh-1-1234    [000] d..2.   123.456789: sched_switch: prev_comm=bash\n"
    "         ba sh-1-1234    [000] d..2.   123.456791: <stack trace>\n"
    " => __schedule\n"
    " => schedule+0x54/0xe0\n"
    "         ba sh-1-1234    [000] d..2.   123.456792: <user stack trace>\n"
    " =>  <00007f3a8aefa545>\n"
    " =>  <00007f3a8aefa645>\n"
    " => /usr/lib/libc.so.6[+0x1234]\n"
    " => ??\n"
    "           <...>-77      (-----) [001] d..2. 18114.66: sys_enter: NR 1\n"
    "           <...>-77      (-----) [001] d..2. 18114.67: <user stack trace>\n"
    " => /bin/prog[+0x733] <00007f3a8aefa545>\n"
    " => main\n"
    "         ba sh-1-1234    [000] d..2.   124.456791: <stack trace>\n"
    " => do_exit\n"
    "         ba sh-1-1234    [000] d..2.   124.456792: sched_process_exit: comm=bash\n"
    " => no frame\n";

static const struct test_stack_text ftrace = {
    .text = text,
    .size = sizeof text - 1,
    .format = CAIRN_FORMAT_FTRACE,
    .n_samples = 3,
    .names = "__schedule schedule libc.so.6[+0x1234] prog[+0x733] main do_exit no frame",
};

static void the_kernel_s_and_the_user_s_frames_are_one_stack(void **state)
{
    (void)state;
    struct cairn_profile *p = test_stack_text_read(&ftrace, CAIRN_FORMAT_AUTO);
    test_assert_stack(p, 0,
                      "__schedule; schedule; 0x7f3a8aefa545; 0x7f3a8aefa644; "
                      "libc.so.6[+0x1234] of /usr/lib/libc.so.6");
    test_assert_stack(p, 1, "prog[+0x733] of /bin/prog; main");
    test_assert_stack(p, 2, "do_exit");
    cairn_profile_free(p);
}

static void labels_say_which_task_and_event(void **state)
{
    (void)state;
    struct cairn_profile *p = test_stack_text_read(&ftrace, CAIRN_FORMAT_AUTO);
    test_assert_label(p, 0, "thread", "ba sh-1");
    test_assert_label(p, 0, "tid", "1234");
    test_assert_label(p, 0, "report", "sched_switch");
    test_assert_label(p, 1, "thread", "");
    test_assert_label(p, 1, "tid", "77");
    test_assert_label(p, 1, "report", "sys_enter");
    test_assert_label(p, 2, "report", ""); /* another task's event came between */
    cairn_profile_free(p);
}

static void frames_of_trace_cmd_have_their_addresses_behind_them(void **state)
{
    (void)state;
    static const char from[] = "    sh-163   [000]   820.854628: function:   __kmalloc\n"
                               "    sh-163   [000]   820.854857: kernel_stack:     <stack trace>\n"
                               "=> ffffffffc0021061\n"
                               "=> __kmalloc (ffffffff849d7445)\n"
                               "=> add (cafe)\n";
    static const struct test_stack_text report = {
        .text = from, .size = sizeof from - 1, .format = CAIRN_FORMAT_FTRACE, .n_samples = 1};
    struct cairn_profile *p = test_stack_text_read(&report, CAIRN_FORMAT_AUTO);
    test_assert_stack(p, 0, "0xffffffffc0021060; __kmalloc; add (cafe)");
    test_assert_label(p, 0, "report", "function");
    cairn_profile_free(p);
}

static void a_text_that_is_cut_anywhere_keeps_what_is_whole(void **state)
{
    (void)state;
    test_stack_text_cuts(&ftrace);
}

static void any_byte_may_be_wrong(void **state)
{
    (void)state;
    test_stack_text_odd_bytes(&ftrace, 1, 1);
}

static void text_without_a_stack_is_an_error_with_a_hint(void **state)
{
    (void)state;
    test_stack_text_fails("# tracer: nop\n", "a trace of the kernel without a stack",
                          "options/stacktrace");
}

static void lack_of_memory_leaks_nothing(void **state)
{
    (void)state;
    test_stack_text_no_memory(&ftrace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernel_s_and_the_user_s_frames_are_one_stack),
        cmocka_unit_test(labels_say_which_task_and_event),
        cmocka_unit_test(frames_of_trace_cmd_have_their_addresses_behind_them),
        cmocka_unit_test(a_text_that_is_cut_anywhere_keeps_what_is_whole),
        cmocka_unit_test(any_byte_may_be_wrong),
        cmocka_unit_test(text_without_a_stack_is_an_error_with_a_hint),
        cmocka_unit_test(lack_of_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
