/* SPDX-License-Identifier: MIT */
#include "base/function_start.h"

#include "support/test.h"

static void what_is_put_is_read_back(void **state)
{
    (void)state;
    static const uint64_t offs[] = {0, 0x1230, UINT64_MAX};
    for (size_t i = 0; i < sizeof offs / sizeof *offs; i++) {
        struct cairn_buffer text = {0};
        size_t size = 0;
        uint64_t off = 1;
        cairn_function_start_put(&text, "a b+0x1.so", offs[i]);
        assert_true(cairn_function_start_read(cairn_buffer_text(&text), text.size, &size, &off));
        assert_int_equal(size, strlen("a b+0x1.so"));
        assert_int_equal(off, offs[i]);
        cairn_buffer_done(&text);
    }
}

static void the_text_is_this_one(void **state)
{
    (void)state;
    struct cairn_buffer text = {0};
    cairn_function_start_put(&text, "libfoo.so", 0x1230);
    assert_string_equal(cairn_buffer_text(&text), "libfoo.so+0x1230 [function]");
    cairn_buffer_done(&text);
}

static void other_texts_are_none(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "main",
        " [function]",
        "+0x12 [function]",
        "a+0x [function]",
        "a+0xg [function]",
        "a+12 [function]",
        "a+0x12",
        "a+0x12 [function] ",
        "a+0x12  [function]",
        "a+0x12345678901234567 [function]",
        "f [function]",
    };
    size_t size = 7;
    uint64_t off = 7;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(cairn_function_start_read(texts[i], strlen(texts[i]), &size, &off));
    assert_int_equal(size, 7);
    assert_int_equal(off, 7);
}

static void the_mark_is_left_out(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t bare;
    } cases[] = {
        {"a+0x12 [function]", 6}, {"x [function]", 1}, {" [function]", 11}, {"a+0x12", 6}, {"", 0},
        {"a [function] ", 13}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(cairn_function_start_bare(cases[i].text, strlen(cases[i].text)),
                         cases[i].bare);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_put_is_read_back),
        cmocka_unit_test(the_text_is_this_one),
        cmocka_unit_test(other_texts_are_none),
        cmocka_unit_test(the_mark_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
