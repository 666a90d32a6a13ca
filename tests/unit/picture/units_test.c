/* SPDX-License-Identifier: MIT */
#include "picture/units.h"

#include "picture/out.h"
#include "support/test.h"

static void values_read_as_people_write_them(void **state)
{
    (void)state;
    static const struct {
        int64_t value;
        const char *type, *unit, *text;
    } rows[] = {
        {0, "samples", "count", "0 samples"},
        {1, "samples", "count", "1 sample"},
        {-1, "samples", "count", "-1 sample"},
        {1, "blocks", "count", "1 block"},
        {1, "allocations", "count", "1 allocation"},
        {1, "x", "events", "1 event"},
        {1, "alloc_objects", "count", "1 alloc_objects"},
        {1234567, "samples", "count", "1,234,567 samples"},
        {-12345, "samples", "count", "-12,345 samples"},
        {INT64_MIN, "x", "count", "-9,223,372,036,854,775,808 x"},
        {999, "cpu", "nanoseconds", "999 ns"},
        {1500, "cpu", "nanoseconds", "1.50 us"},
        {12345678, "cpu", "nanoseconds", "12.3 ms"},
        {2500000000, "cpu", "nanoseconds", "2.50 s"},
        {-2500000000, "cpu", "nanoseconds", "-2.50 s"},
        {512, "space", "bytes", "512 B"},
        {1500, "space", "bytes", "1.50 kB"},
        {999, "space", "bytes", "999 B"},
        {1 << 30, "space", "bytes", "1.07 GB"},
        {3, "locks", "contentions", "3 contentions"},
        {7, "", "", "7"},
        {7, "x", "a\x1b", "7 a\\x1b"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cairn_buffer b = {0};
        cairn_units_value(&b, rows[i].value, rows[i].type, rows[i].unit);
        assert_string_equal(cairn_buffer_text(&b), rows[i].text);
        cairn_buffer_done(&b);
    }
}

static void percents_have_three_digits(void **state)
{
    (void)state;
    static const struct {
        int64_t value, whole;
        const char *text;
    } rows[] = {{1, 3, "33.3%"}, {1, 32, "3.12%"}, {5, 5, "100.0%"}, {1, 0, "0.00%"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cairn_buffer b = {0};
        cairn_units_percent(&b, rows[i].value, rows[i].whole);
        assert_string_equal(cairn_buffer_text(&b), rows[i].text);
        cairn_buffer_done(&b);
    }
}

static int append(void *ctx, const void *bytes, size_t size)
{
    cairn_buffer_add(ctx, bytes, size);
    return 0;
}

/* RFC 4648, 10. */
static void base64_is_that_of_the_standard(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"", ""},
                                          {"f", "Zg=="},
                                          {"fo", "Zm8="},
                                          {"foo", "Zm9v"},
                                          {"foob", "Zm9vYg=="},
                                          {"fooba", "Zm9vYmE="},
                                          {"foobar", "Zm9vYmFy"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cairn_buffer got = {0};
        struct cairn_out out = {.write = append, .ctx = &got};
        struct cairn_err err;
        cairn_out_base64(&out, cairn_span_of(rows[i][0]));
        assert_ok(cairn_out_finish(&out, &err), err);
        assert_string_equal(cairn_buffer_text(&got), rows[i][1]);
        cairn_buffer_done(&got);
    }
}

static void base64_of_much_is_one_text(void **state)
{
    (void)state;
    enum { SIZE = 300001 };
    uint8_t *zeros = calloc(SIZE, 1);
    struct cairn_buffer got = {0};
    struct cairn_out out = {.write = append, .ctx = &got};
    struct cairn_err err;
    cairn_out_base64(&out, (struct cairn_span){zeros, SIZE});
    assert_ok(cairn_out_finish(&out, &err), err);
    assert_int_equal(got.size, (SIZE + 2) / 3 * 4);
    assert_int_equal(strspn((char *)got.data, "A"), got.size - 2);
    free(zeros);
    cairn_buffer_done(&got);
}

static int refuse(void *ctx, const void *bytes, size_t size)
{
    (void)bytes, (void)size;
    ++*(int *)ctx;
    return 1;
}

static void an_output_that_refuses_is_asked_once(void **state)
{
    (void)state;
    int calls = 0;
    struct cairn_out out = {.write = refuse, .ctx = &calls};
    struct cairn_err err;
    for (int i = 0; i < 100000; i++) {
        cairn_buffer_str(&out.text, "some text, ");
        cairn_out_pass(&out);
    }
    assert_fails(cairn_out_finish(&out, &err), CAIRN_E_IO, err, "took no more");
    assert_int_equal(calls, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_read_as_people_write_them),
        cmocka_unit_test(percents_have_three_digits),
        cmocka_unit_test(base64_is_that_of_the_standard),
        cmocka_unit_test(base64_of_much_is_one_text),
        cmocka_unit_test(an_output_that_refuses_is_asked_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
