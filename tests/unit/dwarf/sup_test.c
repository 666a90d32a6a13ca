/* SPDX-License-Identifier: MIT */
#include "dwarf/sup.h"

#include "support/test.h"

static struct cairn_span span_of(const char *bytes, size_t size)
{
    return (struct cairn_span){(const uint8_t *)bytes, size};
}

static void an_altlink_is_a_path_and_an_id(void **state)
{
    static const char bytes[] = "../.dwz/common\0\x12\x34\x56";
    (void)state;
    struct cairn_dwarf_sup sup;
    struct cairn_err err;
    assert_ok(cairn_dwarf_read_altlink(span_of(bytes, sizeof bytes - 1), &sup, &err), err);
    assert_string_equal(sup.name, "../.dwz/common");
    assert_int_equal(sup.id.size, 3);
    assert_memory_equal(sup.id.data, "\x12\x34\x56", 3);
    assert_false(sup.is_sup);
}

static void an_altlink_without_path_or_id_is_damaged(void **state)
{
    (void)state;
    struct cairn_dwarf_sup sup;
    struct cairn_err err;
    assert_int_equal(cairn_dwarf_read_altlink(span_of("abc", 3), &sup, &err), CAIRN_E_FORMAT);
    assert_int_equal(cairn_dwarf_read_altlink(span_of("abc", 4), &sup, &err), CAIRN_E_FORMAT);
    assert_int_equal(cairn_dwarf_read_altlink(span_of("\0abc", 4), &sup, &err), CAIRN_E_FORMAT);
    assert_int_equal(cairn_dwarf_read_altlink(span_of(NULL, 0), &sup, &err), CAIRN_E_FORMAT);
}

static void both_sides_of_debug_sup_are_read(void **state)
{
    static const char user[] = "\5\0\0common\0\2\x12\x34", file[] = "\5\0\1\0\2\x12\x34";
    (void)state;
    struct cairn_dwarf_sup sup;
    struct cairn_err err;
    bool swap = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    assert_ok(cairn_dwarf_read_sup(span_of(user, sizeof user - 1), swap, &sup, &err), err);
    assert_string_equal(sup.name, "common");
    assert_int_equal(sup.id.size, 2);
    assert_false(sup.is_sup);
    assert_ok(cairn_dwarf_read_sup(span_of(file, sizeof file - 1), swap, &sup, &err), err);
    assert_true(sup.is_sup);
    for (size_t n = 0; n < sizeof user - 1; n++)
        assert_int_equal(cairn_dwarf_read_sup(span_of(user, n), swap, &sup, &err), CAIRN_E_FORMAT);
    assert_int_equal(cairn_dwarf_read_sup(span_of("\4\0\0c\0\0", 6), swap, &sup, &err),
                     CAIRN_E_FORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_altlink_is_a_path_and_an_id),
        cmocka_unit_test(an_altlink_without_path_or_id_is_damaged),
        cmocka_unit_test(both_sides_of_debug_sup_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
