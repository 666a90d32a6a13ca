/* SPDX-License-Identifier: MIT */
/* Lines, and what logs lose and damage. */
#include <stdlib.h>

#include "base/alloc.h"
#include "support/klog_dumps.h"

#define HEAD "t: pid=7 comm=x\nt: kernel backtrace:\n"

static void a_dump_is_read_with_any_line_end(void **state)
{
    (void)state;
    static const char expected[] = "t||7|x|\n k0 f+0x1/0x2\n u0! 0x401136\n u1 0x401140\n";
    assert_klog(HEAD "t:   [k00] f+0x1/0x2\nt: user backtrace (raw user PCs):\n"
                     "t:   [u00] 0x0000000000401136\nt:   [u01] 0x0000000000401140",
                expected);
    assert_klog("t: pid=7 comm=x\r\nt: kernel backtrace:\r\n\r\nt:   [k00] f+0x1/0x2\r\n"
                "t: user backtrace (raw user PCs):\r\nt:   [u00] 0x0000000000401136\r\n"
                "t:   [u01] 0x0000000000401140\r\n",
                expected);
    assert_klog("\033[32mt: pid=7 comm=x\033[0m\nt: kernel\r backtrace:\n\033[1;31mt:   "
                "[k00] f+0x1/0x2\nt: user backtrace (raw user PCs):\n"
                "t:   [u00] 0x0000000000401136\nt:   [u01] 0x0000000000401140\n",
                expected);
}

static void NUL_bytes_are_no_part_of_a_line(void **state)
{
    (void)state;
    static const char log[] = "t: pid=7 comm=x\n\0\0t: kernel back\0trace:\nt:   [k00] f+0x1/0x2\n";
    struct cairn_buffer out = {0};
    klog_read(log, sizeof log - 1, 5, &out);
    assert_string_equal(cairn_buffer_text(&out), "t||7|x|\n k0 f+0x1/0x2\n");
    cairn_buffer_done(&out);
}

static void glued_and_cut_lines_are_taken_apart(void **state)
{
    (void)state;
    assert_klog("[    1.000001] t: pid=7 comm=x\n[    1.000002] t: kernel backtrace:\n"
                "[    1.000003] t:   [k00] f+0x1/0x2[    1.000004] t:   [k01] g+0x1/0x2\n"
                "[    1.000005] t:   [k02] do_sy[    1.000006] t:   [k03] h+0x1/0x2\n",
                "t||7|x|\n k0 f+0x1/0x2\n k1 g+0x1/0x2\n k2- do_sy\n k3 h+0x1/0x2\n");
}

static void missing_lines_are_marked(void **state)
{
    (void)state;
    assert_klog(HEAD "t:   [k00] f+0x1/0x2\nt:   [k03] g+0x1/0x2\n"
                     "t: user backtrace (raw user PCs):\nt:   [u02] 0x0000000000401136\n",
                "t||7|x|\n k0 f+0x1/0x2\n k3_ g+0x1/0x2\n u2_ 0x401136\n");
    /* The log begins inside a dump. */
    assert_klog("t:   [k02] f+0x1/0x2\nt:   [k03] g+0x1/0x2\n",
                "t||-1||h\n k2_ f+0x1/0x2\n k3 g+0x1/0x2\n");
}

static void a_thread_may_dump_twice(void **state)
{
    (void)state;
    assert_klog(HEAD "t:   [k00] f+0x1/0x2\nt: user backtrace (raw user PCs):\n"
                     "t:   [u00] 0x0000000000401136\n" HEAD "t:   [k00] g+0x1/0x2\n"
                     "t: user stack trace not supported (CONFIG_USER_STACKTRACE_SUPPORT is "
                     "disabled)\n",
                "t||7|x|\n k0 f+0x1/0x2\n u0! 0x401136\nt||7|x|n\n k0 g+0x1/0x2\n");
}

static void a_caller_column_or_a_number_tells_dumps_apart(void **state)
{
    (void)state;
    static const char expected[] = "t||7|x|\n k0 f+0x1/0x2\n k1 g+0x1/0x2\n"
                                   "t||8|y|\n k0 h+0x1/0x2\n k1 i+0x1/0x2\n";
    assert_klog("[1.000001][ T7] t: pid=7 comm=x\n[1.000001][ T8] t: pid=8 comm=y\n"
                "[1.000001][ T8] t: kernel backtrace:\n[1.000001][ T7] t: kernel backtrace:\n"
                "[1.000001][ T7] t:   [k00] f+0x1/0x2\n[1.000001][ T8] t:   [k00] h+0x1/0x2\n"
                "[1.000001][ T8] t:   [k01] i+0x1/0x2\n[1.000001][ T7] t:   [k01] g+0x1/0x2\n",
                expected);
    assert_klog("t: pid=7 comm=x #1\nt: pid=8 comm=y #2\nt: kernel backtrace: #2\n"
                "t: kernel backtrace: #1\nt:   [k00] f+0x1/0x2 #1\nt:   [k00] h+0x1/0x2 #2\n"
                "t:   [k01] i+0x1/0x2 #2\nt:   [k01] g+0x1/0x2 #1\n",
                expected);
}

static void equal_dumps_are_of_one_thread_or_the_other(void **state)
{
    (void)state;
    assert_klog("t: pid=7 comm=x\nt: pid=8 comm=x\nt: kernel backtrace:\nt:   [k00] f+0x1/0x2\n"
                "t: kernel backtrace:\nt:   [k00] g+0x1/0x2\n",
                "t||7|x|w\n k0 g+0x1/0x2\nt||8|x|w\n k0 f+0x1/0x2\n");
}

static void lines_that_fit_two_dumps_are_left_out(void **state)
{
    (void)state;
    assert_klog("t: pid=7 comm=x\nt: kernel backtrace:\nt: pid=8 comm=y\n"
                "t:   [k00] f+0x1/0x2\nt: kernel backtrace:\nt:   [k00] g+0x1/0x2\n"
                "t:   [k01] h+0x1/0x2\nt:   [k01] i+0x1/0x2\n",
                "t||7|x|m\n k0 f+0x1/0x2\nt||8|y|m\n k0 g+0x1/0x2\n");
    /* Unless they are alike. */
    assert_klog("t: pid=7 comm=x\nt: kernel backtrace:\nt: pid=8 comm=y\n"
                "t:   [k00] f+0x1/0x2\nt: kernel backtrace:\nt:   [k00] g+0x1/0x2\n"
                "t:   [k01] h+0x1/0x2\nt:   [k01] h+0x1/0x2\n",
                "t||7|x|\n k0 f+0x1/0x2\n k1 h+0x1/0x2\nt||8|y|\n k0 g+0x1/0x2\n k1 h+0x1/0x2\n");
}

static void each_boot_begins_anew(void **state)
{
    (void)state;
    assert_klog("[  100.000001] t: pid=7 comm=x\n[  100.000002] t: kernel backtrace:\n"
                "[    0.000001] Linux version 6.1\n[    0.500002] t:   [k00] f+0x1/0x2\n",
                "t||7|x|\nt||-1||h\n k0 f+0x1/0x2\n");
}

static struct cairn_klog_counts counts_of(const char *log, size_t size)
{
    struct cairn_klog *klog;
    struct cairn_klog_counts counts = {.size = sizeof counts};
    assert_int_equal(cairn_klog_new(NULL, NULL, &klog, NULL), CAIRN_OK);
    assert_int_equal(cairn_klog_feed(klog, log, size, NULL), CAIRN_OK);
    assert_int_equal(cairn_klog_flush(klog, NULL), CAIRN_OK);
    cairn_klog_counts(klog, &counts);
    cairn_klog_free(klog);
    return counts;
}

static void long_lines_and_many_open_dumps_are_bounded_and_counted(void **state)
{
    (void)state;
    struct cairn_buffer log = {0};
    for (int i = 0; i < 1 << 20; i++)
        cairn_buffer_char(&log, 'x');
    cairn_buffer_str(&log, "\n" HEAD "t:   [k00] f+0x1/0x2\n");
    struct cairn_klog_counts counts = counts_of((const char *)log.data, log.size);
    assert_int_equal(counts.n_long, 1);
    assert_int_equal(counts.n_lines, 4);
    assert_int_equal(counts.n_dumps, 1);
    assert_int_equal(counts.n_frames, 1);
    cairn_buffer_clear(&log);
    for (int i = 0; i < 30000; i++)
        cairn_buffer_printf(&log, "a%d: pid=%d comm=x\n", i % 20000, i + 1);
    counts = counts_of((const char *)log.data, log.size);
    assert_int_equal(counts.n_dumps, 30000);
    cairn_buffer_done(&log);
}

static int refuse(void *ctx, const struct cairn_klog_dump *dump)
{
    (void)ctx;
    (void)dump;
    return 1;
}

static void a_refusal_ends_the_reading(void **state)
{
    (void)state;
    struct cairn_klog *klog;
    struct cairn_err err;
    assert_int_equal(cairn_klog_new(refuse, NULL, &klog, &err), CAIRN_OK);
    assert_int_equal(cairn_klog_feed(klog, HEAD, sizeof HEAD - 1, &err), CAIRN_OK);
    assert_int_equal(cairn_klog_flush(klog, &err), CAIRN_E_IO);
    cairn_klog_free(klog);
}

/* Whichever allocation fails: the reader says so, and frees what it has. */
static void lack_of_memory_is_an_error(void **state)
{
    (void)state;
    static const char log[] = HEAD "t:   [k00] f+0x1/0x2\nt: user backtrace (raw user PCs):\n"
                                   "t:   [u00] 0x0000000000401136\nBUG: x\nCall Trace:\n"
                                   " g+0x1/0x2\n";
    int code = CAIRN_E_NOMEM;
    long n = 0;
    for (; code == CAIRN_E_NOMEM && n < 1000; n++) {
        struct cairn_klog *klog = NULL;
        struct cairn_err err;
        cairn_alloc_fail_after(n);
        code = cairn_klog_new(NULL, NULL, &klog, &err);
        for (size_t at = 0; code == CAIRN_OK && at < sizeof log - 1; at += 5)
            code = cairn_klog_feed(klog, log + at,
                                   sizeof log - 1 - at < 5 ? sizeof log - 1 - at : 5, &err);
        if (code == CAIRN_OK)
            code = cairn_klog_flush(klog, &err);
        cairn_klog_free(klog);
        cairn_alloc_fail_after(-1);
    }
    assert_int_equal(code, CAIRN_OK);
    assert_true(n > 5);
}

static void a_log_is_recognized(void **state)
{
    (void)state;
    static const char *const logs[] = {
        "t: pid=7 comm=x\n",
        "[    0.000000] Linux version 6.1\n[    0.000000] Command line: x\n",
        "<6>[    1.000000] a\n<6>[    1.000001] b\n",
        "6,1,2,-;a\n6,2,3,-;b\n",
        "Nov 28 20:11:46 host kernel: a\nNov 28 20:11:46 host kernel: b\n",
        "[<0>] f+0x1/0x2\n",
        "prog[12]: segfault at 0 ip 0000000000401136 sp 00007ffe error 6 in p[401000+1000]\n",
    };
    static const char *const others[] = {
        "",
        "main;f;g 12\nmain;h 3\n",
        "0x401136;0x401140 7\n",
        "#0: 0x7f8a5c1234 libsample.so+0x1234 (make_buffer)\n",
        "11-28 20:11:46.123  412  430 I tracker : #0: 0x7f8a5c1234 libsample.so+0x1234\n",
        ("[    1.000000] a: #0: 0x7f8a5c1234 libx.so+0x1234\n"
         "[    1.000001] a: #1: 0x7f8a5c1238 libx.so+0x1238\n"),
        "swapper 0 [000] 1.123: cycles: \n\t7f12 f (x)\n",
    };
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++)
        if (!cairn_klog_recognize(logs[i], strlen(logs[i])))
            fail_msg("not recognized: %s", logs[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (cairn_klog_recognize(others[i], strlen(others[i])))
            fail_msg("taken for a log: %s", others[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dump_is_read_with_any_line_end),
        cmocka_unit_test(NUL_bytes_are_no_part_of_a_line),
        cmocka_unit_test(glued_and_cut_lines_are_taken_apart),
        cmocka_unit_test(missing_lines_are_marked),
        cmocka_unit_test(a_thread_may_dump_twice),
        cmocka_unit_test(a_caller_column_or_a_number_tells_dumps_apart),
        cmocka_unit_test(equal_dumps_are_of_one_thread_or_the_other),
        cmocka_unit_test(lines_that_fit_two_dumps_are_left_out),
        cmocka_unit_test(each_boot_begins_anew),
        cmocka_unit_test(long_lines_and_many_open_dumps_are_bounded_and_counted),
        cmocka_unit_test(a_refusal_ends_the_reading),
        cmocka_unit_test(lack_of_memory_is_an_error),
        cmocka_unit_test(a_log_is_recognized),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
