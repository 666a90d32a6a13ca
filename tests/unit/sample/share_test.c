/* SPDX-License-Identifier: MIT */
#include "sample/share.h"

#include "tests/support/test.h"

static const uint64_t NS_PER_S = 1000000000;

static void a_process_starts_with_half_a_second(void **state)
{
    (void)state;
    struct cairn_share share = {0};
    assert_true(cairn_share_is_left(&share, 5 * NS_PER_S));
    cairn_share_spend(&share, NS_PER_S / 2 - 1);
    assert_true(cairn_share_is_left(&share, 5 * NS_PER_S));
    cairn_share_spend(&share, 1);
    assert_false(cairn_share_is_left(&share, 5 * NS_PER_S));
}

static void a_fifth_of_the_time_comes_back(void **state)
{
    (void)state;
    struct cairn_share share = {0};
    assert_true(cairn_share_is_left(&share, 5 * NS_PER_S));
    cairn_share_spend(&share, NS_PER_S); /* half a second too much: two and a half without a walk */
    assert_false(cairn_share_is_left(&share, 6 * NS_PER_S));
    assert_false(cairn_share_is_left(&share, 7 * NS_PER_S));
    assert_false(cairn_share_is_left(&share, 7 * NS_PER_S + NS_PER_S / 2));
    assert_true(cairn_share_is_left(&share, 8 * NS_PER_S));
}

static void no_more_than_half_a_second_is_saved(void **state)
{
    (void)state;
    struct cairn_share share = {0};
    assert_true(cairn_share_is_left(&share, NS_PER_S));
    assert_true(cairn_share_is_left(&share, 1000 * NS_PER_S));
    cairn_share_spend(&share, NS_PER_S / 2);
    assert_false(cairn_share_is_left(&share, 1000 * NS_PER_S));
    cairn_share_spend(&share, UINT64_MAX);
    assert_false(cairn_share_is_left(&share, 1001 * NS_PER_S));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_starts_with_half_a_second),
        cmocka_unit_test(a_fifth_of_the_time_comes_back),
        cmocka_unit_test(no_more_than_half_a_second_is_saved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
