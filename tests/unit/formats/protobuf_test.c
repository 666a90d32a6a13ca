/* SPDX-License-Identifier: MIT */
#include "formats/protobuf.h"

#include "support/test.h"

static struct cairn_reader over(const void *bytes, size_t size)
{
    return cairn_reader_of((struct cairn_span){bytes, size}, false);
}

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    struct cairn_buffer b = {0};
    cairn_pb_uint(&b, 1, 0); /* zero is what absence means */
    cairn_pb_uint(&b, 2, 300);
    cairn_pb_uint(&b, 3, UINT64_MAX);
    cairn_pb_bytes(&b, 4, cairn_span_of("text"));
    cairn_pb_bytes(&b, 5, (struct cairn_span){0});
    struct cairn_reader r = over(b.data, b.size);
    struct cairn_pb_field field;
    assert_true(cairn_pb_next(&r, &field));
    assert_int_equal(field.number, 2);
    assert_int_equal(field.value, 300);
    assert_true(cairn_pb_next(&r, &field));
    assert_true(field.value == UINT64_MAX);
    assert_true(cairn_pb_next(&r, &field));
    assert_memory_equal(field.bytes.data, "text", 4);
    assert_true(cairn_pb_next(&r, &field));
    assert_int_equal(field.bytes.size, 0);
    assert_false(cairn_pb_next(&r, &field));
    assert_false(r.failed);
    cairn_buffer_done(&b);
}

static void fixed_sizes_are_read_though_nobody_here_writes_them(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {1 << 3 | 1, 8, 7, 6, 5, 4, 3, 2, 1, 2 << 3 | 5, 4, 3, 2, 1};
    struct cairn_reader r = over(bytes, sizeof bytes);
    struct cairn_pb_field field;
    assert_true(cairn_pb_next(&r, &field));
    assert_true(field.value == 0x0102030405060708u);
    assert_true(cairn_pb_next(&r, &field));
    assert_true(field.value == 0x01020304u);
    assert_int_equal(field.pos, 9);
}

static void damage_ends_the_message(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        uint8_t bytes[12];
        size_t size;
    } cases[] = {
        {"a tag that ends early", {0x80}, 1},
        {"a number that ends early", {0x08, 0x80}, 2},
        {"a number of eleven bytes",
         {0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01},
         12},
        {"more bytes than there are", {0x0a, 5, 'a'}, 3},
        {"a length near the end of the range",
         {0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
         11},
        {"four bytes cut", {0x0d, 1, 2, 3}, 4},
        {"eight bytes cut", {0x09, 1, 2, 3, 4, 5, 6, 7}, 8},
        {"a group", {0x0b}, 1},
        {"wire type 7", {0x0f}, 1},
        {"field 0", {0x00, 0x00}, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cairn_reader r = over(cases[i].bytes, cases[i].size);
        struct cairn_pb_field field;
        if (cairn_pb_next(&r, &field) || !r.failed)
            fail_msg("%s was read", cases[i].what);
    }
}

static size_t numbers_of(const void *bytes, size_t size, uint64_t *ret_values, bool *ret_failed)
{
    struct cairn_pb_field field = {.wire = CAIRN_PB_BYTES, .bytes = {bytes, size}};
    struct cairn_reader packed;
    bool started = false;
    size_t n = 0;
    *ret_failed = false;
    while (n < 8 && cairn_pb_number(&field, &packed, &started, ret_failed, &ret_values[n]))
        n++;
    return n;
}

static void packed_numbers_come_one_by_one(void **state)
{
    (void)state;
    uint64_t values[8];
    bool failed;
    assert_int_equal(numbers_of("\x01\xac\x02\x00", 4, values, &failed), 3);
    assert_int_equal(values[1], 300);
    assert_false(failed);
    assert_int_equal(numbers_of("", 0, values, &failed), 0);
    assert_false(failed);
    assert_int_equal(numbers_of("\x01\xac", 2, values, &failed), 1);
    assert_true(failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(fixed_sizes_are_read_though_nobody_here_writes_them),
        cmocka_unit_test(damage_ends_the_message),
        cmocka_unit_test(packed_numbers_come_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
