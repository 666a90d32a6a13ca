/* SPDX-License-Identifier: MIT */
/* Dumps with a number: equal ones, and what stands in place of a stack. */
#include <stdio.h>

#include "support/klog_dumps.h"

#define FRAMES(n)                                                                                  \
    "t: kernel backtrace: #" n "\nt:   [k00] f+0x1/0x2 #" n                                        \
    "\nt: user backtrace (raw user PCs): #" n "\nt:   [u00] 0x0000000000401136 bin/x+0x1136 #" n   \
    "\nt:   [u01] 0x485300656d616e74 no code #" n "\n"
#define SHOWN " k0 f+0x1/0x2\n u0! 0x401136 bin/x+0x1136\n u1* 0x485300656d616e74\n"

static void the_same_stack_is_shown_again(void **state)
{
    (void)state;
    assert_klog("t: pid=7 comm=x tgid=6 cpu=0 #12\n" FRAMES(
                    "12") "t: pid=8 comm=x tgid=6 cpu=1 #13\nt: same as #12 #13\n"
                          "t: pid=9 comm=x tgid=6 cpu=1 #14\nt: same as #13 #14\n",
                "t||7|x|\n" SHOWN "t||8|x|\n = 12\n" SHOWN "t||9|x|\n = 13\n" SHOWN);
}

static void lines_of_both_may_be_mixed(void **state)
{
    (void)state;
    assert_klog("t: pid=7 comm=x #12\nt: kernel backtrace: #12\nt: pid=8 comm=x #13\n"
                "t:   [k00] f+0x1/0x2 #12\nt: same as #12 #13\nt:   [k01] g+0x1/0x2 #12\n",
                "t||7|x|\n k0 f+0x1/0x2\n k1 g+0x1/0x2\n"
                "t||8|x|\n = 12\n k0 f+0x1/0x2\n k1 g+0x1/0x2\n");
}

/* An interrupt's stack goes on behind entry code, and so does a thread's of x86 since Linux 6.5. */
static void entry_code_does_not_end_a_dump_with_a_number(void **state)
{
    (void)state;
    assert_klog(
        "t: pid=7 comm=x #12\nt: kernel backtrace: #12\nt:   [k00] ret_from_fork+0x1/0x2 #12\n"
        "t:   [k01] ret_from_fork_asm+0x1/0x2 #12\nt:   [k02] f+0x1/0x2 #12\n",
        "t||7|x|\n k0 ret_from_fork+0x1/0x2\n k1 ret_from_fork_asm+0x1/0x2\n"
        " k2 f+0x1/0x2\n");
    assert_klog("t: pid=7 comm=x\nt: kernel backtrace:\nt:   [k00] ret_from_fork+0x1/0x2\n"
                "t:   [k01] ret_from_fork_asm+0x1/0x2\n",
                "t||7|x|\n k0 ret_from_fork+0x1/0x2\n k1 ret_from_fork_asm+0x1/0x2\n");
}

static void a_dump_that_is_not_there_is_not_taken_from_elsewhere(void **state)
{
    (void)state;
    static const char head[] = "t: pid=7 comm=x #12\nt: kernel backtrace: #12\n"
                               "t:   [k00] f+0x1/0x2 #12\n";
    char log[512];
    assert_klog("t: pid=8 comm=x #13\nt: same as #12 #13\n", "t||8|x|\n = 12\n");
    /* One of another tag, and one of a boot before. */
    snprintf(log, sizeof log, "%su: pid=8 comm=x #13\nu: same as #12 #13\n", head);
    assert_klog(log, "t||7|x|\n k0 f+0x1/0x2\nu||8|x|\n = 12\n");
    snprintf(log, sizeof log,
             "[  100.000000] %s[    0.000000] Linux version 6.1.0\n"
             "t: pid=8 comm=x #13\nt: same as #12 #13\n",
             head);
    assert_klog(log, "t||7|x|\n k0 f+0x1/0x2\nt||8|x|\n = 12\n");
    /* The number alone is no dump. */
    assert_klog("t: same as #12 #13\n", "t||-1||h\n = 12\n");
    assert_klog("t: pid=8 comm=x #13\nt: same as #13 #13\n", "t||8|x|\n = 13\n");
}

static void only_the_last_dumps_are_remembered(void **state)
{
    (void)state;
    struct cairn_buffer log = {0}, out = {0};
    for (int i = 1; i <= 1100; i++)
        cairn_buffer_printf(&log,
                            "t: pid=7 comm=x #%d\nt: kernel backtrace: #%d\n"
                            "t:   [k00] f+0x%x/0x2 #%d\n",
                            i, i, (unsigned)i, i);
    cairn_buffer_str(&log, "t: pid=8 comm=y #1101\nt: same as #2 #1101\n"
                           "t: pid=8 comm=y #1102\nt: same as #1000 #1102\n");
    klog_read(cairn_buffer_text(&log), log.size, log.size, &out);
    const char *end = strstr(cairn_buffer_text(&out), "t||8|y|");
    assert_non_null(end);
    assert_string_equal(end, "t||8|y|\n = 2\nt||8|y|\n = 1000\n k0 f+0x3e8/0x2\n");
    cairn_buffer_done(&log);
    cairn_buffer_done(&out);
}

static void a_stack_that_is_none_has_a_reason(void **state)
{
    (void)state;
    assert_klog("t: pid=7 comm=kworker/0:1 #1\nt: kernel backtrace: #1\nt:   [k00] f+0x1/0x2 #1\n"
                "t: no user backtrace: a kernel thread #1\n"
                "t: pid=8 comm=x #2\nt: kernel backtrace: #2\n"
                "t: user stack trace not supported (CONFIG_USER_STACKTRACE_SUPPORT is disabled) "
                "#2\n",
                "t||7|kworker/0:1|\n k0 f+0x1/0x2\n # a kernel thread\nt||8|x|n\n");
}

static void what_the_kernel_left_out_is_counted(void **state)
{
    (void)state;
    static const char log[] = "t: more than 10 dumps a second, the rest is only counted\n"
                              "t: 7 dumps before #18 were not printed\nt: pid=7 comm=x #18\n"
                              "cairn: 3 dumps before the end were not printed\n";
    struct cairn_klog *klog;
    struct cairn_klog_counts counts = {.size = sizeof counts};
    assert_int_equal(cairn_klog_new(NULL, NULL, &klog, NULL), CAIRN_OK);
    assert_int_equal(cairn_klog_feed(klog, log, sizeof log - 1, NULL), CAIRN_OK);
    assert_int_equal(cairn_klog_flush(klog, NULL), CAIRN_OK);
    cairn_klog_counts(klog, &counts);
    assert_int_equal(counts.n_unprinted, 10);
    assert_int_equal(counts.n_dumps, 1);
    assert_int_equal(counts.n_astray, 0);
    cairn_klog_free(klog);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_stack_is_shown_again),
        cmocka_unit_test(lines_of_both_may_be_mixed),
        cmocka_unit_test(entry_code_does_not_end_a_dump_with_a_number),
        cmocka_unit_test(a_dump_that_is_not_there_is_not_taken_from_elsewhere),
        cmocka_unit_test(only_the_last_dumps_are_remembered),
        cmocka_unit_test(a_stack_that_is_none_has_a_reason),
        cmocka_unit_test(what_the_kernel_left_out_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
