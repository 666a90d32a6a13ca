/* SPDX-License-Identifier: MIT */
#include "base/reader.h"

#include "base/address.h"
#include "support/test.h"

static struct cairn_reader over(const char *bytes, size_t size, bool swap)
{
    return cairn_reader_of((struct cairn_span){(const uint8_t *)bytes, size}, swap);
}

/* On a little-endian host; on the others `swap` means the other thing. */
static void integers_come_in_both_byte_orders(void **state)
{
    (void)state;
    static const char bytes[] = "\x01\x02\x03\x04\x05\x06\x07\x08";
    const bool other = __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__;
    struct cairn_reader r = over(bytes, 8, other);
    assert_int_equal(cairn_reader_u64(&r), 0x0807060504030201u);
    r = over(bytes, 8, !other);
    assert_int_equal(cairn_reader_u64(&r), 0x0102030405060708u);
    r = over(bytes, 8, !other);
    assert_int_equal(cairn_reader_u24(&r), 0x010203);
    assert_int_equal(cairn_reader_u8(&r), 4);
    assert_int_equal(cairn_reader_u16(&r), 0x0506);
    r = over(bytes, 8, other);
    assert_int_equal(cairn_reader_u24(&r), 0x030201);
    assert_int_equal(cairn_reader_u32(&r), 0x07060504);
    assert_false(r.failed);
}

static void a_read_past_the_end_gives_zero_and_latches(void **state)
{
    (void)state;
    uint8_t *bytes = test_copy("\xff\xff\xff", 3);
    struct cairn_reader r = cairn_reader_of((struct cairn_span){bytes, 3}, false);
    assert_int_equal(cairn_reader_u32(&r), 0);
    assert_true(r.failed);
    assert_int_equal(r.pos, 0);
    assert_int_equal(cairn_reader_u8(&r), 0); /* even what is there */
    assert_false(cairn_reader_more(&r));
    free(bytes);
}

static void a_size_that_wraps_is_refused(void **state)
{
    (void)state;
    struct cairn_reader r = over("abc", 3, false);
    cairn_reader_u8(&r);
    cairn_reader_skip(&r, UINT64_MAX);
    assert_true(r.failed);
    struct cairn_span slice, all = {(const uint8_t *)"abc", 3};
    assert_false(cairn_span_slice(all, 2, UINT64_MAX, &slice));
    assert_false(cairn_span_slice(all, UINT64_MAX, 2, &slice));
    assert_true(cairn_span_slice(all, 3, 0, &slice));
}

static void words_have_four_widths(void **state)
{
    (void)state;
    for (unsigned width = 0; width < 10; width++) {
        struct cairn_reader r = over("\1\0\0\0\0\0\0\0\0\0", 10, false);
        bool sound = width == 1 || width == 2 || width == 4 || width == 8;
        assert_int_equal(cairn_reader_word(&r, width), sound);
        assert_int_equal(r.failed, !sound);
    }
}

static void leb128_takes_ten_bytes_and_sixty_four_bits(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        bool sound;
        uint64_t value;
        int64_t signed_value;
    } cases[] = {
        {"\x00", 1, true, 0, 0},
        {"\x7f", 1, true, 127, -1},
        {"\x80\x7f", 2, true, 16256, -128},
        {"\xe5\x8e\x26", 3, true, 624485, 624485},
        {"\x80\x80\x00", 3, true, 0, 0},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, true, UINT64_MAX, -1},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, false, 0, 0},
        {"\x80", 1, false, 0, 0},
        {"", 0, false, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t *bytes = test_copy(cases[i].bytes, cases[i].size);
        struct cairn_span span = {bytes, cases[i].size};
        struct cairn_reader r = cairn_reader_of(span, false), s = r;
        assert_int_equal(cairn_reader_uleb(&r), cases[i].value);
        assert_int_equal(r.failed, !cases[i].sound);
        if (cases[i].size != 10) /* bit 63 of the signed one is told by the tenth byte's low bit */
            assert_true(cairn_reader_sleb(&s) == cases[i].signed_value);
        free(bytes);
    }
    struct cairn_reader r = over("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, false);
    cairn_reader_uleb(&r);
    assert_true(r.failed); /* bit 64 */
}

static void strings_must_end_inside(void **state)
{
    (void)state;
    uint8_t *bytes = test_copy("ab\0cd", 5);
    struct cairn_span span = {bytes, 5};
    struct cairn_reader r = cairn_reader_of(span, false);
    assert_string_equal(cairn_reader_str(&r), "ab");
    assert_string_equal(cairn_reader_str(&r), "");
    assert_true(r.failed);
    assert_string_equal(cairn_span_str(span, 1), "b");
    assert_null(cairn_span_str(span, 3));
    assert_null(cairn_span_str(span, 5));
    assert_null(cairn_span_str(span, UINT64_MAX));
    free(bytes);
}

static void seeking_and_padding_stay_inside(void **state)
{
    (void)state;
    struct cairn_reader r = over("abcdef", 6, false);
    cairn_reader_seek(&r, 5);
    cairn_reader_align(&r, 4);
    assert_int_equal(r.pos, 6);
    assert_false(r.failed);
    cairn_reader_seek(&r, 7);
    assert_true(r.failed);
    assert_int_equal(r.pos, 6);
}

static void a_return_address_is_looked_up_one_byte_earlier(void **state)
{
    (void)state;
    assert_int_equal(cairn_lookup_address(0x1000, CAIRN_ADDRESS_EXACT), 0x1000);
    assert_int_equal(cairn_lookup_address(0x1000, CAIRN_ADDRESS_RETURN), 0xfff);
    assert_int_equal(cairn_lookup_address(0, CAIRN_ADDRESS_RETURN), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_come_in_both_byte_orders),
        cmocka_unit_test(a_read_past_the_end_gives_zero_and_latches),
        cmocka_unit_test(a_size_that_wraps_is_refused),
        cmocka_unit_test(words_have_four_widths),
        cmocka_unit_test(leb128_takes_ten_bytes_and_sixty_four_bits),
        cmocka_unit_test(strings_must_end_inside),
        cmocka_unit_test(seeking_and_padding_stay_inside),
        cmocka_unit_test(a_return_address_is_looked_up_one_byte_earlier),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
