/* SPDX-License-Identifier: MIT */
#include "base/buffer.h"

#include "base/alloc.h"
#include "support/test.h"

static void write_all_kinds(struct cairn_buffer *b)
{
    cairn_buffer_str(b, "a");
    cairn_buffer_char(b, ' ');
    cairn_buffer_u64(b, UINT64_MAX);
    cairn_buffer_char(b, ' ');
    cairn_buffer_hex(b, 0xdeadbeef00ffu);
    cairn_buffer_printf(b, " %s-%d", "text that is somewhat longer than the rest", -1);
    cairn_buffer_add(b, "\0x", 2);
}

static void appends_text_numbers_and_bytes(void **state)
{
    (void)state;
    static const char expected[] =
        "a 18446744073709551615 deadbeef00ff text that is somewhat longer than the rest--1\0x";
    struct cairn_buffer b = {0};
    assert_string_equal(cairn_buffer_text(&b), "");
    write_all_kinds(&b);
    assert_false(b.failed);
    assert_int_equal(b.size, sizeof expected - 1);
    assert_memory_equal(b.data, expected, sizeof expected); /* the NUL behind it too */
    cairn_buffer_clear(&b);
    assert_string_equal(cairn_buffer_text(&b), "");
    cairn_buffer_u64(&b, 0);
    cairn_buffer_hex(&b, 0);
    cairn_buffer_add(&b, NULL, 0);
    assert_string_equal(cairn_buffer_text(&b), "00");
    cairn_buffer_done(&b);
}

static void little_endian_numbers_are_appended_and_set(void **state)
{
    (void)state;
    static const uint8_t expected[] = {0x04, 0x03, 0x0b, 0x0a, 0xff, 0, 0, 0, 0, 0, 0, 0x80};
    struct cairn_buffer b = {0};
    cairn_buffer_le(&b, 0x01020304, 4);
    cairn_buffer_le(&b, UINT64_C(0x80000000000000ff), 8);
    cairn_buffer_set_le(&b, 2, 0x0a0b, 2);
    assert_int_equal(b.size, sizeof expected);
    assert_memory_equal(b.data, expected, sizeof expected);
    b.failed = true;
    cairn_buffer_set_le(&b, 0, 0, 8);
    assert_memory_equal(b.data, expected, sizeof expected);
    cairn_buffer_done(&b);
}

static void a_failure_latches_wherever_it_happens(void **state)
{
    (void)state;
    for (long n = 0;; n++) {
        struct cairn_buffer b = {0};
        cairn_alloc_fail_after(n);
        write_all_kinds(&b);
        cairn_alloc_fail_after(-1);
        bool failed = b.failed;
        size_t size = b.size;
        cairn_buffer_str(&b, "later");
        assert_int_equal(b.size, failed ? size : size + 5);
        cairn_buffer_done(&b);
        if (!failed)
            break;
        assert_in_range(n, 0, 100);
    }
}

static void an_impossible_size_fails(void **state)
{
    (void)state;
    struct cairn_buffer b = {0};
    cairn_buffer_char(&b, 'x');
    assert_false(cairn_buffer_reserve(&b, SIZE_MAX));
    assert_true(b.failed);
    cairn_buffer_clear(&b);
    assert_false(b.failed);
    assert_false(cairn_buffer_reserve(&b, SIZE_MAX - 1));
    cairn_buffer_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appends_text_numbers_and_bytes),
        cmocka_unit_test(little_endian_numbers_are_appended_and_set),
        cmocka_unit_test(a_failure_latches_wherever_it_happens),
        cmocka_unit_test(an_impossible_size_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
