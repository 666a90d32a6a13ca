/* SPDX-License-Identifier: MIT */
#include "push/url.h"

#include "tests/support/test.h"

static void check_shown(const char *url, const char *wanted)
{
    struct cairn_buffer b = {0};
    cairn_push_url_show(&b, url);
    assert_string_equal(cairn_buffer_text(&b), wanted);
    cairn_buffer_done(&b);
}

static void test_no_secret_is_shown(void **state)
{
    (void)state;
    check_shown("https://h:4040/a", "https://h:4040/a");
    check_shown("https://user:secret@h/a", "https://h/a");
    check_shown("https://user:se/cr@et@h/a", "https://h/a");
    check_shown("user:secret@h", "h");
    check_shown("https://h/a?token=secret#x", "https://h/a");
}

static void test_what_a_url_may_hold(void **state)
{
    static const char *const wrong[] = {"",
                                        "h:4040",
                                        "ftp://h",
                                        "http://",
                                        "http://:1",
                                        "http://u:p@h/",
                                        "http://h/?q",
                                        "http://h/#f",
                                        "http://h/\n",
                                        "HTTP://h"};
    struct cairn_err err;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(cairn_push_url_check(wrong[i], &err), CAIRN_E_ARG);
    assert_int_equal(cairn_push_url_check("http://[::1]:4040/x", &err), CAIRN_OK);
}

static void test_origins(void **state)
{
    (void)state;
    assert_true(cairn_push_url_same_origin("http://h/a", "http://H:80/b"));
    assert_true(cairn_push_url_same_origin("https://[::1]/a", "https://[::1]:443"));
    assert_false(cairn_push_url_same_origin("http://h/a", "https://h/a"));
    assert_false(cairn_push_url_same_origin("http://h:1/a", "http://h:2/a"));
    assert_false(cairn_push_url_same_origin("http://h/a", "http://h.evil/a"));
    assert_false(cairn_push_url_same_origin("http://h/a", "http://u@h/a"));
    assert_false(cairn_push_url_same_origin("http://h/a", "file:///h"));
}

static void check_endpoint(const char *url, enum cairn_push_store store, const char *wanted)
{
    struct cairn_buffer b = {0};
    assert_int_equal(cairn_push_url_store(url), store);
    cairn_push_url_endpoint(&b, url, store);
    assert_string_equal(cairn_buffer_text(&b), wanted);
    cairn_buffer_done(&b);
}

static void test_stores(void **state)
{
    (void)state;
    check_endpoint("http://h:4040", CAIRN_PUSH_PYROSCOPE, "http://h:4040/ingest");
    check_endpoint("http://h/p/ingest/", CAIRN_PUSH_PYROSCOPE, "http://h/p/ingest");
    check_endpoint("http://h:4318/", CAIRN_PUSH_OTLP, "http://h:4318/v1development/profiles");
    check_endpoint("http://h:4040/v1development/profiles", CAIRN_PUSH_OTLP,
                   "http://h:4040/v1development/profiles");
    assert_int_equal(cairn_push_url_store("http://h:9"), CAIRN_PUSH_AUTO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_secret_is_shown),
        cmocka_unit_test(test_what_a_url_may_hold),
        cmocka_unit_test(test_origins),
        cmocka_unit_test(test_stores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
