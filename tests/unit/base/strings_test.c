/* SPDX-License-Identifier: MIT */
#include "base/strings.h"

#include <stdio.h>

#include "base/alloc.h"
#include "support/test.h"

static void each_text_has_one_number(void **state)
{
    (void)state;
    struct cairn_strings s = {0};
    uint32_t a = cairn_strings_add_str(&s, "malloc"), b = cairn_strings_add_str(&s, "free");
    assert_int_not_equal(a, b);
    assert_int_equal(cairn_strings_add(&s, "malloc_more", 6), a);
    assert_string_equal(cairn_strings_get(&s, a), "malloc");
    assert_int_equal(cairn_strings_size(&s, a), 6);
    assert_int_equal(s.n, 3); /* number 0 is "" */
    cairn_strings_done(&s);
}

static void number_zero_is_the_empty_text(void **state)
{
    (void)state;
    struct cairn_strings s = {0};
    assert_string_equal(cairn_strings_get(&s, 0), "");
    assert_int_equal(cairn_strings_add(&s, NULL, 0), 0);
    assert_int_equal(cairn_strings_add_str(&s, NULL), 0);
    assert_int_equal(cairn_strings_add_str(&s, ""), 0);
    assert_int_equal(cairn_strings_add(&s, "\0x", 2), 0);
    assert_int_equal(cairn_strings_add_str(&s, "x"), 1);
    assert_string_equal(cairn_strings_get(&s, 0), "");
    assert_int_equal(cairn_strings_size(&s, 0), 0);
    assert_string_equal(cairn_strings_get(&s, UINT32_MAX), "");
    assert_int_equal(cairn_strings_size(&s, 2), 0);
    cairn_strings_done(&s);
}

static void a_nul_ends_the_text(void **state)
{
    (void)state;
    struct cairn_strings s = {0};
    assert_int_equal(cairn_strings_add(&s, "ab\0cd", 5), cairn_strings_add_str(&s, "ab"));
    cairn_strings_done(&s);
}

static void pointers_hold_while_the_pool_grows(void **state)
{
    (void)state;
    enum { N = 200000 };
    struct cairn_strings s = {0};
    const char *first = cairn_strings_get(&s, cairn_strings_add_str(&s, "first"));
    char text[32];
    for (unsigned i = 0; i < N; i++) {
        int size = snprintf(text, sizeof text, "f%u", i);
        assert_int_equal(cairn_strings_add(&s, text, (size_t)size), i + 2);
    }
    for (unsigned i = 0; i < N; i++) {
        snprintf(text, sizeof text, "f%u", i);
        assert_int_equal(cairn_strings_add_str(&s, text), i + 2);
        assert_string_equal(cairn_strings_get(&s, i + 2), text);
    }
    assert_ptr_equal(first, cairn_strings_get(&s, 1));
    assert_string_equal(first, "first");
    cairn_strings_done(&s);
}

/* Whatever allocation fails: the pool answers for all it took before, and takes more later. */
static void lack_of_memory_at_any_place_loses_nothing(void **state)
{
    (void)state;
    enum { N = 500 };
    char text[256];
    memset(text, 'x', sizeof text);
    for (long countdown = 0; countdown < 20; countdown++) {
        struct cairn_strings s = {0};
        uint32_t n_taken = 0;
        cairn_alloc_fail_after(countdown);
        for (uint32_t i = 0; i < N; i++) {
            snprintf(text, 16, "%u", i);
            text[15] = 'x';
            uint32_t number = cairn_strings_add_str(&s, text);
            if (number == UINT32_MAX)
                break;
            assert_int_equal(number, ++n_taken);
        }
        cairn_alloc_fail_after(-1);
        for (uint32_t i = 0; i < N; i++) {
            snprintf(text, 16, "%u", i);
            assert_int_equal(cairn_strings_add_str(&s, text), i + 1);
            assert_string_equal(cairn_strings_get(&s, i + 1), text);
        }
        cairn_strings_done(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_text_has_one_number),
        cmocka_unit_test(number_zero_is_the_empty_text),
        cmocka_unit_test(a_nul_ends_the_text),
        cmocka_unit_test(pointers_hold_while_the_pool_grows),
        cmocka_unit_test(lack_of_memory_at_any_place_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
