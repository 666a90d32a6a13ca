/* SPDX-License-Identifier: MIT */
#include "rt/pairs.h"

#include "rt/array.h"
#include "support/test.h"

static void pairs_are_sorted_and_found(void **state)
{
    (void)state;
    enum { MOST = 200 };
    struct cairn_pair pairs[MOST];
    uint64_t random = 1;
    for (size_t n = 0; n <= MOST; n++) {
        for (size_t i = 0; i < n; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            pairs[i] = (struct cairn_pair){random >> 57, i};
        }
        cairn_pairs_sort(pairs, n);
        for (size_t i = 1; i < n; i++)
            assert_true(pairs[i - 1].key < pairs[i].key ||
                        (pairs[i - 1].key == pairs[i].key && pairs[i - 1].value < pairs[i].value));
        for (uint64_t key = 0; key < 130; key++) {
            size_t at = cairn_pairs_find(pairs, n, key);
            assert_true(at == n || pairs[at].key >= key);
            assert_true(at == 0 || pairs[at - 1].key < key);
        }
    }
}

static void arrays_grow_and_keep(void **state)
{
    (void)state;
    struct cairn_array array = {0};
    for (uint32_t i = 0; i < 100000; i++) {
        uint32_t *item = cairn_array_add(&array, 1, sizeof(*item));
        assert_non_null(item);
        assert_int_equal(*item, 0);
        *item = i;
    }
    for (uint32_t i = 0; i < 100000; i++)
        assert_int_equal(((uint32_t *)array.items)[i], i);
    assert_null(cairn_array_add(&array, SIZE_MAX, 1));
    assert_null(cairn_array_add(&array, SIZE_MAX / 2, 4));
    assert_int_equal(array.n, 100000);
    cairn_array_done(&array);
    assert_null(array.items);
    cairn_array_done(&array);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_are_sorted_and_found),
        cmocka_unit_test(arrays_grow_and_keep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
