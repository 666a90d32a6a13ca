/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include <locale.h>
#include <math.h>

#include "base/alloc.h"
#include "support/test.h"

static void write_document(struct cairn_json *j)
{
    cairn_json_open(j, NULL, '{');
    cairn_json_str(j, "name", "a\"<b>");
    cairn_json_str(j, "none", NULL);
    cairn_json_open(j, "rows", '[');
    cairn_json_u64(j, NULL, UINT64_MAX);
    cairn_json_i64(j, NULL, INT64_MIN);
    cairn_json_open(j, NULL, '{');
    cairn_json_close(j, '}');
    cairn_json_close(j, ']');
    cairn_json_hex(j, "at", 0x1f0);
    cairn_json_bool(j, "sound", true);
    cairn_json_real(j, "share", 12.5);
    cairn_json_close(j, '}');
}

static void a_document_has_one_member_a_line(void **state)
{
    (void)state;
    struct cairn_buffer b = {0};
    struct cairn_json j = {.out = &b};
    write_document(&j);
    assert_string_equal(cairn_buffer_text(&b), "{\n"
                                               "  \"name\": \"a\\\"\\u003cb\\u003e\",\n"
                                               "  \"none\": null,\n"
                                               "  \"rows\": [\n"
                                               "    18446744073709551615,\n"
                                               "    -9223372036854775808,\n"
                                               "    {}\n"
                                               "  ],\n"
                                               "  \"at\": \"0x1f0\",\n"
                                               "  \"sound\": true,\n"
                                               "  \"share\": 12.5\n"
                                               "}\n");
    cairn_buffer_done(&b);
}

static void compact_objects_are_one_line_each(void **state)
{
    (void)state;
    struct cairn_buffer b = {0};
    struct cairn_json j = {.out = &b, .compact = true};
    write_document(&j);
    cairn_json_open(&j, NULL, '[');
    cairn_json_close(&j, ']');
    assert_string_equal(cairn_buffer_text(&b),
                        "{\"name\":\"a\\\"\\u003cb\\u003e\",\"none\":null,"
                        "\"rows\":[18446744073709551615,-9223372036854775808,{}],"
                        "\"at\":\"0x1f0\",\"sound\":true,\"share\":12.5}\n[]\n");
    cairn_buffer_done(&b);
}

static void reals_are_short_and_know_no_locale(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *expected;
    } cases[] = {{0, "0"},
                 {-0.0, "0"},
                 {0.1, "0.1"},
                 {-1.5, "-1.5"},
                 {99.9999999, "100"},
                 {1.0 / 3, "0.333333"},
                 {0.000001, "0.000001"},
                 {-1e-9, "0"},
                 {123456789012.25, "123456789012.25"},
                 {1e15, "1000000000000000"},
                 {-1e20, "-100000000000000000000"},
                 {NAN, "null"},
                 {-INFINITY, "null"}};
    setlocale(LC_ALL, "de_DE.UTF-8"); /* where it is installed; else this changes nothing */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cairn_buffer b = {0};
        struct cairn_json j = {.out = &b};
        cairn_json_real(&j, NULL, cases[i].value);
        assert_string_equal(cairn_buffer_text(&b), cases[i].expected);
        cairn_buffer_done(&b);
    }
    setlocale(LC_ALL, "C");
}

static void fixed_decimals_are_exact_and_short(void **state)
{
    (void)state;
    static const struct {
        int64_t value;
        unsigned places;
        const char *expected;
    } cases[] = {{0, 3, "0"},
                 {1500, 3, "1.5"},
                 {-1, 6, "-0.000001"},
                 {1000, 3, "1"},
                 {1001, 3, "1.001"},
                 {7, 0, "7"},
                 {INT64_MAX, 18, "9.223372036854775807"},
                 {INT64_MIN, 6, "-9223372036854.775808"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cairn_buffer b = {0};
        struct cairn_json j = {.out = &b};
        cairn_json_fixed(&j, NULL, cases[i].value, cases[i].places);
        assert_string_equal(cairn_buffer_text(&b), cases[i].expected);
        cairn_buffer_done(&b);
    }
}

static void lack_of_memory_latches_wherever_it_happens(void **state)
{
    (void)state;
    bool failed = true;
    for (long n = 0; failed && n < 100; n++) {
        struct cairn_buffer b = {0};
        struct cairn_json j = {.out = &b};
        cairn_alloc_fail_after(n);
        write_document(&j);
        cairn_alloc_fail_after(-1);
        failed = b.failed;
        assert_int_equal(j.depth, 0);
        cairn_buffer_done(&b);
    }
    assert_false(failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_document_has_one_member_a_line),
        cmocka_unit_test(compact_objects_are_one_line_each),
        cmocka_unit_test(reals_are_short_and_know_no_locale),
        cmocka_unit_test(fixed_decimals_are_exact_and_short),
        cmocka_unit_test(lack_of_memory_latches_wherever_it_happens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
