/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <errno.h>
#include <stdio.h>

#include "base/alloc.h"
#include "support/test.h"

static void a_failure_is_one_statement(void **state)
{
    (void)state;
    struct cairn_err err;
    assert_int_equal(cairn_fail(&err, CAIRN_E_FORMAT, "note at 0x%x", 28), CAIRN_E_FORMAT);
    assert_int_equal(err.code, CAIRN_E_FORMAT);
    assert_string_equal(err.msg, "note at 0x1c");
    assert_string_equal(err.hint, "");
    assert_int_equal(cairn_fail(NULL, CAIRN_E_ARG, "x"), CAIRN_E_ARG);
}

static void the_code_follows_errno(void **state)
{
    (void)state;
    static const struct {
        int os_errno;
        enum cairn_code code;
    } cases[] = {{EACCES, CAIRN_E_ACCESS},  {EPERM, CAIRN_E_ACCESS}, {ENOENT, CAIRN_E_MISSING},
                 {ESRCH, CAIRN_E_MISSING},  {ENOMEM, CAIRN_E_NOMEM}, {ENOSPC, CAIRN_E_IO},
                 {ENOTDIR, CAIRN_E_MISSING}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cairn_err err;
        assert_int_equal(cairn_fail_os(&err, cases[i].os_errno, "f"), cases[i].code);
        assert_int_equal(err.os_errno, cases[i].os_errno);
        assert_int_equal(cairn_fail_os(NULL, cases[i].os_errno, "f"), cases[i].code);
    }
    struct cairn_err err;
    cairn_fail_os(&err, ENOENT, "%s", "x.so");
    assert_string_equal(err.msg, "x.so: No such file or directory");
}

static void whoever_passes_it_on_puts_a_name_before_it(void **state)
{
    (void)state;
    struct cairn_err err;
    cairn_fail(&err, CAIRN_E_FORMAT, "bad");
    assert_int_equal(cairn_fail_in(&err, CAIRN_E_FORMAT, "a.so"), CAIRN_E_FORMAT);
    assert_string_equal(err.msg, "a.so: bad");
    assert_int_equal(cairn_fail_in(NULL, CAIRN_E_FORMAT, "a.so"), CAIRN_E_FORMAT);
}

static void a_text_that_is_too_long_is_cut_and_says_so(void **state)
{
    (void)state;
    char name[600];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    struct cairn_err err;
    cairn_fail(&err, CAIRN_E_FORMAT, "bad");
    cairn_fail_in(&err, CAIRN_E_FORMAT, name);
    assert_int_equal(strlen(err.msg), sizeof err.msg - 1);
    assert_string_equal(err.msg + sizeof err.msg - 4, "...");
    cairn_fail_os(&err, ENOENT, "%s", name);
    assert_int_equal(strlen(err.msg), sizeof err.msg - 1);
    cairn_hint(&err, "%s", name);
    assert_int_equal(strlen(err.hint), sizeof err.hint - 1);
    cairn_hint(NULL, "x");
}

static void the_line_for_a_log_is_escaped_and_measured(void **state)
{
    (void)state;
    struct cairn_err err;
    cairn_fail(&err, CAIRN_E_FORMAT, "a\x1b[31m\nb");
    cairn_hint(&err, "try %s", "this");
    static const char expected[] = "a\\x1b[31m\\x0ab (try this)";
    char line[128], small[5];
    assert_int_equal(cairn_err_line(&err, line, sizeof line), sizeof expected - 1);
    assert_string_equal(line, expected);
    assert_int_equal(cairn_err_line(&err, small, sizeof small), sizeof expected - 1);
    assert_string_equal(small, "a\\x1");
    assert_int_equal(cairn_err_line(&err, NULL, 0), sizeof expected - 1);
}

static void without_memory_the_line_is_the_code(void **state)
{
    (void)state;
    struct cairn_err err;
    assert_int_equal(cairn_fail_memory(&err), CAIRN_E_NOMEM);
    char line[64];
    cairn_alloc_fail_after(0);
    cairn_err_line(&err, line, sizeof line);
    cairn_alloc_fail_after(-1);
    assert_string_equal(line, "CAIRN_E_NOMEM");
}

static void every_code_has_its_name(void **state)
{
    (void)state;
    assert_string_equal(cairn_code_name(CAIRN_OK), "CAIRN_OK");
    for (int code = CAIRN_E_STOPPED; code < 0; code++) {
        assert_memory_equal(cairn_code_name((enum cairn_code)code), "CAIRN_E_", 8);
        assert_string_not_equal(cairn_code_name((enum cairn_code)code), "CAIRN_E_?");
    }
    assert_string_equal(cairn_code_name((enum cairn_code) - 99), "CAIRN_E_?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_is_one_statement),
        cmocka_unit_test(the_code_follows_errno),
        cmocka_unit_test(whoever_passes_it_on_puts_a_name_before_it),
        cmocka_unit_test(a_text_that_is_too_long_is_cut_and_says_so),
        cmocka_unit_test(the_line_for_a_log_is_escaped_and_measured),
        cmocka_unit_test(without_memory_the_line_is_the_code),
        cmocka_unit_test(every_code_has_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
