/* SPDX-License-Identifier: MIT */
/* What options say: lists, expressions, times, filter files; and where they are wrong. */
#include <stdlib.h>
#include <time.h>

#include <cairn/select.h>

#include "select/list.h"
#include "select/pattern.h"
#include "select/span.h"
#include "select/windows.h"
#include "support/test.h"

static void assert_refused(enum cairn_select_kind kind, const char *text, const char *part)
{
    struct cairn_select *select;
    struct cairn_err err = {0};
    assert_ok(cairn_select_new(&select, &err), err);
    assert_true(cairn_select_add(select, kind, 0, text, &err) < 0);
    if (!strstr(err.msg, part))
        fail_msg("\"%s\" lacks \"%s\"", err.msg, part);
    cairn_select_free(select);
}

static void a_list_names_numbers_and_spans(void **state)
{
    (void)state;
    struct cairn_select_list list = {0};
    assert_int_equal(cairn_select_list_add(&list, "1,4-7", NULL), CAIRN_OK);
    assert_int_equal(cairn_select_list_add(&list, "12", NULL), CAIRN_OK);
    const int64_t in[] = {1, 4, 5, 7, 12}, out[] = {0, 2, 3, 8, 11, 13, -1};
    for (size_t i = 0; i < sizeof in / sizeof *in; i++)
        assert_true(cairn_select_list_has(&list, in[i]));
    for (size_t i = 0; i < sizeof out / sizeof *out; i++)
        assert_false(cairn_select_list_has(&list, out[i]));
    cairn_select_list_done(&list);
}

static void a_wrong_list_names_its_column(void **state)
{
    (void)state;
    assert_refused(CAIRN_SELECT_PID, "", "column 1");
    assert_refused(CAIRN_SELECT_PID, "12,", "column 4");
    assert_refused(CAIRN_SELECT_PID, "12;13", "column 3");
    assert_refused(CAIRN_SELECT_CPU, "1-x", "column 3");
    assert_refused(CAIRN_SELECT_CPU, "0,7-4", "column 3");
    assert_refused(CAIRN_SELECT_TID, "1,99999999999999999999", "column 3");
}

static void expressions_match_anywhere(void **state)
{
    (void)state;
    struct cairn_select_patterns patterns = {0};
    assert_int_equal(cairn_select_patterns_add(&patterns, "^io-[0-9]+$", NULL), CAIRN_OK);
    assert_int_equal(cairn_select_patterns_add(&patterns, "ork", NULL), CAIRN_OK);
    assert_string_equal(cairn_select_patterns_find(&patterns, "io-12")->text, "^io-[0-9]+$");
    assert_string_equal(cairn_select_patterns_find(&patterns, "worker")->text, "ork");
    assert_null(cairn_select_patterns_find(&patterns, "io-12b"));
    cairn_select_patterns_done(&patterns);
}

static void long_names_are_asked_by_their_start(void **state)
{
    (void)state;
    struct cairn_select_patterns patterns = {0};
    char name[CAIRN_SELECT_NAME_BYTES_MAX + 3];
    memset(name, 'a', sizeof name);
    name[sizeof name - 1] = 0;
    name[CAIRN_SELECT_NAME_BYTES_MAX - 1] = 'b';
    name[CAIRN_SELECT_NAME_BYTES_MAX] = 'c';
    assert_int_equal(cairn_select_patterns_add(&patterns, "c", NULL), CAIRN_OK);
    assert_null(cairn_select_patterns_find(&patterns, name));
    assert_int_equal(cairn_select_patterns_add(&patterns, "b$", NULL), CAIRN_OK);
    assert_non_null(cairn_select_patterns_find(&patterns, name));
    cairn_select_patterns_done(&patterns);
}

static void a_wrong_expression_names_its_column(void **state)
{
    (void)state;
    assert_refused(CAIRN_SELECT_THREAD, "", "empty");
    assert_refused(CAIRN_SELECT_THREAD, "a(b", "column 2");
    assert_refused(CAIRN_SELECT_PROCESS, "abc[", "column 4");
    assert_refused(CAIRN_SELECT_HIDE, "(ab)c\\", "column 6");
    assert_refused(CAIRN_SELECT_MERGE_THREADS, "(x)a[", "column 5");
}

static void place(const char *text, const struct cairn_select_times *times, int64_t low,
                  int64_t high)
{
    struct cairn_select_spans spans = {0};
    struct cairn_err err = {0};
    int64_t got_low, got_high;
    assert_ok(cairn_select_spans_add(&spans, text, &err), err);
    assert_ok(cairn_select_span_place(&spans.items[0], times, &got_low, &got_high, &err), err);
    assert_int_equal(got_low, low);
    assert_int_equal(got_high, high);
    cairn_select_spans_done(&spans);
}

static void seconds_count_from_the_start(void **state)
{
    (void)state;
    const struct cairn_select_times times = {.start_ns = 5000000000};
    place("1.5-3", &times, 6500000000, 8000000000);
    place("0-200ms", &times, 5000000000, 5200000000);
    place("7us-1s", &times, 5000007000, 6000000000);
    place("0.000000001-9ns", &times, 5000000001, 5000000009);
    place("-3", &times, INT64_MIN, 8000000000);
    place("2-", &times, 7000000000, INT64_MAX);
}

static void a_wrong_time_names_its_column(void **state)
{
    (void)state;
    assert_refused(CAIRN_SELECT_TIME, "", "column 1");
    assert_refused(CAIRN_SELECT_TIME, "-", "column 2");
    assert_refused(CAIRN_SELECT_TIME, "5", "column 2");
    assert_refused(CAIRN_SELECT_TIME, "1-2x", "column 4");
    assert_refused(CAIRN_SELECT_TIME, "1.-2", "column 3");
    assert_refused(CAIRN_SELECT_TIME, "3-1", "ends before it begins");
    assert_refused(CAIRN_SELECT_TIME, "12:61-13:00", "column");
    assert_refused(CAIRN_SELECT_TIME, "2026-13-01T10:00-11:00", "column");
    assert_refused(CAIRN_SELECT_TIME, "99999999999999-1", "column");
}

/* 2023-11-14 22:13:20 UTC. */
static const int64_t start_ns = INT64_C(1700000000) * 1000000000;

static void clock_times_are_of_the_day_of_the_start(void **state)
{
    (void)state;
    const int64_t second = 1000000000, hour = 3600 * second;
    const struct cairn_select_times times = {.start_ns = start_ns,
                                             .first_ns = start_ns,
                                             .last_ns = start_ns + 4 * hour,
                                             .is_wall = true};
    int64_t day = start_ns - 22 * hour - 13 * 60 * second - 20 * second;
    setenv("TZ", "UTC", 1);
    tzset();
    place("22:14-22:15:00.5", &times, day + 22 * hour + 14 * 60 * second,
          day + 22 * hour + 15 * 60 * second + second / 2);
    /* Over midnight, and wholly behind it. */
    place("23:00-01:00", &times, day + 23 * hour, day + 25 * hour);
    place("00:30-01:00", &times, day + 24 * hour + hour / 2, day + 25 * hour);
    /* Before the start, of the same day. */
    place("20:00-23:00", &times, day + 20 * hour, day + 23 * hour);
    place("2023-11-15T00:30-2023-11-15 02:00", &times, day + 24 * hour + hour / 2, day + 26 * hour);
    place("0001-01-01T00:00-9999-12-31T23:59", &times, INT64_MIN, INT64_MAX);
}

static void clock_times_need_a_clock(void **state)
{
    (void)state;
    const struct cairn_select_times times = {.start_ns = 5};
    struct cairn_select_spans spans = {0};
    struct cairn_err err = {0};
    int64_t low, high;
    assert_ok(cairn_select_spans_add(&spans, "12:00-12:01", &err), err);
    assert_int_equal(cairn_select_span_place(&spans.items[0], &times, &low, &high, &err),
                     CAIRN_E_ARG);
    assert_non_null(strstr(err.msg, "not clock times"));
    cairn_select_spans_done(&spans);
}

static void a_filter_file_holds_windows(void **state)
{
    (void)state;
    struct cairn_select_windows windows = {0};
    struct cairn_err err = {0};
    /* The examples of simpleperf's documentation, mixed; a second BEGIN changes nothing. */
    const char *text = "CLOCK realtime\r\n"
                       "PROCESS_BEGIN 1 1000\nPROCESS_BEGIN 2 2000\nPROCESS_BEGIN 1 1500\n"
                       "\n  PROCESS_END 1\t3000\nPROCESS_END 2 4000\nPROCESS_END 3 4000\n"
                       "THREAD_BEGIN 7 5000";
    assert_ok(cairn_select_windows_parse(&windows, text, &err), err);
    assert_true(windows.is_realtime);
    static const struct {
        enum cairn_select_scope scope;
        uint32_t id;
        uint64_t ns;
        bool holds;
    } rows[] = {
        {CAIRN_SELECT_GLOBAL, 0, 1, true},           {CAIRN_SELECT_OF_PROCESS, 1, 999, false},
        {CAIRN_SELECT_OF_PROCESS, 1, 1000, true},    {CAIRN_SELECT_OF_PROCESS, 1, 2999, true},
        {CAIRN_SELECT_OF_PROCESS, 1, 3000, false},   {CAIRN_SELECT_OF_PROCESS, 2, 1500, false},
        {CAIRN_SELECT_OF_PROCESS, 2, 3999, true},    {CAIRN_SELECT_OF_PROCESS, 3, 3000, false},
        {CAIRN_SELECT_OF_THREAD, 7, 4999, false},    {CAIRN_SELECT_OF_THREAD, 7, 1u << 31, true},
        {CAIRN_SELECT_OF_THREAD, 8, 1u << 31, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(cairn_select_windows_hold(&windows, rows[i].scope, rows[i].id, rows[i].ns),
                         rows[i].holds);
    cairn_select_windows_done(&windows);
}

static void windows_in_any_order_are_joined(void **state)
{
    (void)state;
    struct cairn_select_windows windows = {0};
    struct cairn_err err = {0};
    assert_ok(cairn_select_windows_parse(&windows,
                                         "GLOBAL_BEGIN 50\nGLOBAL_END 60\nGLOBAL_BEGIN 10\n"
                                         "GLOBAL_END 30\nGLOBAL_BEGIN 20\nGLOBAL_END 25\n",
                                         &err),
              err);
    assert_int_equal(windows.n, 2);
    assert_true(cairn_select_windows_hold(&windows, CAIRN_SELECT_GLOBAL, 0, 28));
    assert_false(cairn_select_windows_hold(&windows, CAIRN_SELECT_GLOBAL, 0, 40));
    assert_true(cairn_select_windows_hold(&windows, CAIRN_SELECT_GLOBAL, 0, 50));
    cairn_select_windows_done(&windows);
}

static void a_wrong_filter_file_names_its_line(void **state)
{
    (void)state;
    assert_refused(CAIRN_SELECT_TIME_FILE, "", "no stretch of time");
    assert_refused(CAIRN_SELECT_TIME_FILE, "GLOBAL_END 5\n", "no stretch of time");
    assert_refused(CAIRN_SELECT_TIME_FILE, "\nGLOBAL_START 5\n", "line 2: expected CLOCK");
    assert_refused(CAIRN_SELECT_TIME_FILE, "CLOCK boot\n", "line 1: expected CLOCK");
    assert_refused(CAIRN_SELECT_TIME_FILE, "GLOBAL_BEGIN\n", "line 1");
    assert_refused(CAIRN_SELECT_TIME_FILE, "PROCESS_BEGIN 5000000000 1\n", "line 1");
    assert_refused(CAIRN_SELECT_TIME_FILE, "THREAD_BEGIN 1 2 3\n", "line 1");
    assert_refused(CAIRN_SELECT_TIME_FILE, "GLOBAL_BEGIN 9\nGLOBAL_END 9\n",
                   "line 2: expected an end");
    assert_refused(CAIRN_SELECT_TIME_FILE, "GLOBAL_BEGIN -1\n", "nanoseconds");
}

static void the_rest_is_checked_too(void **state)
{
    (void)state;
    assert_refused(CAIRN_SELECT_EVENT, "", "empty");
    assert_refused(CAIRN_SELECT_CUT, "0", "expected a number");
    assert_refused(CAIRN_SELECT_CUT, "3x", "expected a number");
    assert_refused(CAIRN_SELECT_N_KINDS, "", "no such kind");
    struct cairn_select *select;
    struct cairn_err err = {0};
    assert_ok(cairn_select_new(&select, &err), err);
    assert_int_equal(cairn_select_add(select, CAIRN_SELECT_HIDE, 1, "x", &err), CAIRN_E_ARG);
    assert_int_equal(cairn_select_needs(select), 0);
    assert_ok(cairn_select_add(select, CAIRN_SELECT_CUT, 0, "3", &err), err);
    assert_int_equal(cairn_select_needs(select), CAIRN_SELECT_NEEDS_TIMES);
    assert_ok(cairn_select_add(select, CAIRN_SELECT_CPU, 1, "3", &err), err);
    assert_ok(cairn_select_add(select, CAIRN_SELECT_HIDE, 0, "3", &err), err);
    assert_int_equal(cairn_select_needs(select),
                     CAIRN_SELECT_NEEDS_TIMES | CAIRN_SELECT_NEEDS_CPUS | CAIRN_SELECT_NEEDS_NAMES);
    cairn_select_free(select);
    cairn_select_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_names_numbers_and_spans),
        cmocka_unit_test(a_wrong_list_names_its_column),
        cmocka_unit_test(expressions_match_anywhere),
        cmocka_unit_test(long_names_are_asked_by_their_start),
        cmocka_unit_test(a_wrong_expression_names_its_column),
        cmocka_unit_test(seconds_count_from_the_start),
        cmocka_unit_test(a_wrong_time_names_its_column),
        cmocka_unit_test(clock_times_are_of_the_day_of_the_start),
        cmocka_unit_test(clock_times_need_a_clock),
        cmocka_unit_test(a_filter_file_holds_windows),
        cmocka_unit_test(windows_in_any_order_are_joined),
        cmocka_unit_test(a_wrong_filter_file_names_its_line),
        cmocka_unit_test(the_rest_is_checked_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
