/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include "base/alloc.h"
#include "base/error.h"
#include "support/test.h"

struct heard {
    int n;
    enum cairn_log_level level;
    char text[20000];
};

static void hear(void *ctx, enum cairn_log_level level, const char *text)
{
    struct heard *heard = ctx;
    heard->n++;
    heard->level = level;
    strncpy(heard->text, text, sizeof heard->text - 1);
}

static struct heard heard;

static int forget(void **state)
{
    (void)state;
    heard = (struct heard){0};
    cairn_log_set(NULL, NULL, CAIRN_LOG_WARNING);
    return 0;
}

static void nobody_listens_by_default(void **state)
{
    (void)state;
    assert_false(cairn_log_wants(CAIRN_LOG_WARNING));
    cairn_log(CAIRN_LOG_WARNING, "x");
}

static void the_sink_hears_up_to_its_level(void **state)
{
    (void)state;
    cairn_log_set(hear, &heard, CAIRN_LOG_INFO);
    assert_true(cairn_log_wants(CAIRN_LOG_INFO));
    assert_false(cairn_log_wants(CAIRN_LOG_DEBUG));
    cairn_log(CAIRN_LOG_DEBUG, "table");
    assert_int_equal(heard.n, 0);
    cairn_log(CAIRN_LOG_INFO, "%s of %d", "one", 2);
    assert_int_equal(heard.n, 1);
    assert_int_equal(heard.level, CAIRN_LOG_INFO);
    assert_string_equal(heard.text, "one of 2");
}

static void a_line_is_one_line_and_harmless(void **state)
{
    (void)state;
    cairn_log_set(hear, &heard, CAIRN_LOG_WARNING);
    cairn_log(CAIRN_LOG_WARNING, "%s", "a\nb\x1b[2J");
    assert_string_equal(heard.text, "a\\x0ab\\x1b[2J");
}

static void a_long_line_is_cut_and_says_so(void **state)
{
    (void)state;
    static char text[10000];
    memset(text, '\n', sizeof text - 1);
    cairn_log_set(hear, &heard, CAIRN_LOG_WARNING);
    cairn_log(CAIRN_LOG_WARNING, "%s", text);
    size_t size = strlen(heard.text);
    assert_int_equal(size, 4 * (4095 - 3) + 3);
    assert_string_equal(heard.text + size - 3, "...");
}

static void an_error_comes_with_its_hint(void **state)
{
    (void)state;
    struct cairn_err err;
    cairn_fail(&err, CAIRN_E_MISSING, "no file");
    cairn_log_err(CAIRN_LOG_WARNING, &err);
    cairn_log_set(hear, &heard, CAIRN_LOG_WARNING);
    cairn_log_err(CAIRN_LOG_WARNING, &err);
    assert_string_equal(heard.text, "no file");
    cairn_hint(&err, "make one");
    cairn_log_err(CAIRN_LOG_WARNING, &err);
    assert_string_equal(heard.text, "no file (make one)");
    assert_int_equal(heard.n, 2);
}

static void without_memory_something_is_said_all_the_same(void **state)
{
    (void)state;
    cairn_log_set(hear, &heard, CAIRN_LOG_WARNING);
    cairn_alloc_fail_after(0);
    cairn_log(CAIRN_LOG_WARNING, "x");
    cairn_alloc_fail_after(-1);
    assert_int_equal(heard.n, 1);
    assert_string_equal(heard.text, "out of memory for a message");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(nobody_listens_by_default, forget),
        cmocka_unit_test_teardown(the_sink_hears_up_to_its_level, forget),
        cmocka_unit_test_teardown(a_line_is_one_line_and_harmless, forget),
        cmocka_unit_test_teardown(a_long_line_is_cut_and_says_so, forget),
        cmocka_unit_test_teardown(an_error_comes_with_its_hint, forget),
        cmocka_unit_test_teardown(without_memory_something_is_said_all_the_same, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
