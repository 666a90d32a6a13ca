/* SPDX-License-Identifier: MIT */
#include "trace/filter.h"

#include <string.h>

#include "support/test.h"

static const uint64_t args[CAIRN_CALL_ARGS] = {0xffffff9c, 0x1000, 0101, 0644};

static struct cairn_trace_filter_subject subject(void)
{
    return (struct cairn_trace_filter_subject){.args = args,
                                               .texts = {NULL, "/dev/null"},
                                               .comm = "cat",
                                               .pid = 7,
                                               .tid = 8,
                                               .uid = 1000,
                                               .has_result = true,
                                               .ret = -2,
                                               .duration_ns = 20000000};
}

static bool holds(const char *text)
{
    const struct cairn_trace_filter_subject of = subject();
    struct cairn_trace_filter filter;
    struct cairn_syscall call;
    struct cairn_err err = {0};
    bool no_field;
    assert_true(cairn_call_find("openat", &call));
    if (cairn_trace_filter_parse(text, &call, &filter, &no_field, &err) < 0)
        fail_msg("%s: %s", text, err.msg);
    return cairn_trace_filter_holds(&filter, &of);
}

static void comparisons_and_words_hold_as_they_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool holds;
    } rows[] = {
        {"", true},
        {"ret < 0", true},
        {"ret == -2", true},
        {"errno == ENOENT", true},
        {"errno == EACCES", false},
        {"path ~ \"/dev/*\"", true},
        {"path ~ \"/tmp/*\"", false},
        {"path == \"/dev/null\"", true},
        {"path != \"/dev/null\"", false},
        {"dirfd == AT_FDCWD", true},
        {"dirfd < 0", true},
        {"flags & O_CREAT", true},
        {"flags & O_TRUNC", false},
        {"mode == 0644", true},
        {"duration > 10ms", true},
        {"duration > 1s", false},
        {"comm == \"cat\" && uid == 1000", true},
        {"comm == \"cat\" && uid == 0", false},
        {"uid == 0 || pid == 7", true},
        {"!(uid == 0 || pid == 7)", false},
        {"uid == 0 && pid == 0 || tid == 8", true}, /* && binds closer */
        {"arg2 == 65", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (holds(rows[i].text) != rows[i].holds)
            fail_msg("%s: expected %d", rows[i].text, rows[i].holds);
}

static void a_wrong_filter_names_the_column(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"ret <", "filter: column 6: expected a number or a name"},
        {"ret 0", "filter: column 5: expected one of =="},
        {"nothing == 1", "filter: column 1: openat has no field \"nothing\""},
        {"ret == 1 uid", "filter: column 10: expected && or || or the end"},
        {"(ret == 1", "filter: column 10: expected )"},
        {"path == 1", "filter: column 9: expected a \"text\""},
        {"path == \"x", "filter: column 11: the text has no closing \""},
        {"ret ~ \"x\"", "filter: column 7: ~ compares texts"},
        {"ret == 99999999999999999999999", "filter: column 8: expected a number"},
        {"ret == 1 &&", "filter: column 12: ends where a field is expected"},
    };
    struct cairn_syscall call;
    assert_true(cairn_call_find("openat", &call));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cairn_trace_filter filter;
        struct cairn_err err = {0};
        bool no_field;
        assert_true(cairn_trace_filter_parse(rows[i].text, &call, &filter, &no_field, &err) < 0);
        if (strncmp(err.msg, rows[i].message, strlen(rows[i].message)) != 0)
            fail_msg("%s: \"%s\", expected \"%s\"", rows[i].text, err.msg, rows[i].message);
        assert_int_equal(no_field, i == 2);
    }
}

static void parentheses_are_bounded(void **state)
{
    (void)state;
    char text[256];
    struct cairn_syscall call;
    struct cairn_trace_filter filter;
    bool no_field;
    memset(text, '(', sizeof text);
    text[sizeof text - 1] = '\0';
    (void)cairn_call_find("openat", &call);
    assert_true(cairn_trace_filter_parse(text, &call, &filter, &no_field, NULL) < 0);
    memset(text, '!', sizeof text - 1);
    assert_true(cairn_trace_filter_parse(text, &call, &filter, &no_field, NULL) < 0);
}

/* Numbers and names of threads go to the kernel; patterns, texts and || stay. */
static void the_kernel_gets_what_it_can_compare(void **state)
{
    (void)state;
    const struct cairn_trace_filter_subject of = subject();
    struct cairn_bpf_term terms[CAIRN_TRACE_TERMS_MAX];
    struct cairn_trace_filter filter;
    struct cairn_syscall call;
    bool no_field;
    assert_true(cairn_call_find("openat", &call));
    assert_int_equal(
        cairn_trace_filter_parse("errno == ENOENT && comm == \"cat\" && path ~ \"/tmp/*\"", &call,
                                 &filter, &no_field, NULL),
        CAIRN_OK);
    assert_int_equal(cairn_trace_filter_terms(&filter, true, terms, CAIRN_TRACE_TERMS_MAX), 2);
    assert_int_equal(terms[0].field, CAIRN_TRACE_RET);
    assert_int_equal((int64_t)terms[0].value[0], -2);
    assert_int_equal(terms[1].field, CAIRN_TRACE_COMM);
    assert_memory_equal(terms[1].value, "cat\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
    assert_true(cairn_trace_filter_has_rest(&filter));
    assert_false(cairn_trace_filter_holds(&filter, &of));
    assert_int_equal(
        cairn_trace_filter_parse("ret < 0 && uid == 1", &call, &filter, &no_field, NULL), CAIRN_OK);
    assert_int_equal(cairn_trace_filter_terms(&filter, true, terms, CAIRN_TRACE_TERMS_MAX), 2);
    assert_false(cairn_trace_filter_has_rest(&filter));
    assert_int_equal(
        cairn_trace_filter_parse("ret < 0 || uid == 1", &call, &filter, &no_field, NULL), CAIRN_OK);
    assert_int_equal(cairn_trace_filter_terms(&filter, true, terms, CAIRN_TRACE_TERMS_MAX), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparisons_and_words_hold_as_they_are_read),
        cmocka_unit_test(a_wrong_filter_names_the_column),
        cmocka_unit_test(parentheses_are_bounded),
        cmocka_unit_test(the_kernel_gets_what_it_can_compare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
