/* SPDX-License-Identifier: MIT */
#include "base/table.h"

#include <cairn/error.h>

#include "base/alloc.h"
#include "support/test.h"

static void what_was_set_is_found(void **state)
{
    (void)state;
    struct cairn_table t = {0};
    uint32_t value = 7;
    assert_false(cairn_table_find(&t, 0, &value));
    assert_int_equal(value, 7);
    assert_int_equal(cairn_table_set(&t, 0, 0), CAIRN_OK);
    assert_int_equal(cairn_table_set(&t, UINT64_MAX, UINT32_MAX - 1), CAIRN_OK);
    assert_true(cairn_table_find(&t, 0, &value));
    assert_int_equal(value, 0);
    assert_true(cairn_table_find(&t, UINT64_MAX, &value));
    assert_int_equal(value, UINT32_MAX - 1);
    assert_int_equal(cairn_table_set(&t, 0, 5), CAIRN_OK);
    assert_true(cairn_table_find(&t, 0, &value));
    assert_int_equal(value, 5);
    assert_int_equal(t.n, 2);
    cairn_table_done(&t);
}

/* Keys as they come: code addresses, all multiples of a page, small numbers. */
static void many_keys_of_one_shape_are_kept_apart(void **state)
{
    (void)state;
    enum { N = 100000 };
    static const uint64_t strides[] = {1, 16, 4096, 1ull << 32, 1ull << 44};
    for (size_t s = 0; s < sizeof strides / sizeof *strides; s++) {
        struct cairn_table t = {0};
        uint32_t value;
        for (uint32_t i = 0; i < N; i++)
            assert_int_equal(cairn_table_set(&t, i * strides[s], i), CAIRN_OK);
        assert_int_equal(t.n, N);
        assert_true(t.n <= t.cap / 4 * 3);
        for (uint32_t i = 0; i < N; i++) {
            assert_true(cairn_table_find(&t, i * strides[s], &value));
            assert_int_equal(value, i);
            assert_false(cairn_table_find(&t, i * strides[s] + 0x1234567890123ull, &value));
        }
        cairn_table_done(&t);
    }
}

/* Keys come and go, few at a time: the others are found whatever lay between, and it never grows.
 */
static void what_was_removed_leaves_the_others_and_its_room(void **state)
{
    (void)state;
    enum { LIVE = 10, N = 100000 };
    struct cairn_table t = {0};
    uint32_t value;
    cairn_table_remove(&t, 5);
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(cairn_table_set(&t, i, i), CAIRN_OK);
        if (i < LIVE)
            continue;
        cairn_table_remove(&t, i - LIVE);
        cairn_table_remove(&t, i - LIVE);
        assert_int_equal(t.n, LIVE);
        assert_false(cairn_table_find(&t, i - LIVE, &value));
        for (uint32_t k = i - LIVE + 1; k <= i; k++) {
            assert_true(cairn_table_find(&t, k, &value));
            assert_int_equal(value, k);
        }
    }
    assert_int_equal(t.cap, 16);
    cairn_table_done(&t);
}

static void lack_of_memory_changes_nothing(void **state)
{
    (void)state;
    struct cairn_table t = {0};
    cairn_alloc_fail_after(0);
    assert_int_equal(cairn_table_set(&t, 1, 1), CAIRN_E_NOMEM);
    cairn_alloc_fail_after(1);
    uint32_t n = 0, value;
    while (cairn_table_set(&t, n, n) == CAIRN_OK)
        n++;
    assert_int_equal(cairn_table_set(&t, 0, 9), CAIRN_OK); /* replacing needs no room */
    cairn_alloc_fail_after(-1);
    assert_in_range(n, 12, 16);
    assert_int_equal(t.n, n);
    assert_false(cairn_table_find(&t, n, &value));
    for (uint32_t i = 1; i < n; i++) {
        assert_true(cairn_table_find(&t, i, &value));
        assert_int_equal(value, i);
    }
    assert_int_equal(cairn_table_set(&t, n, n), CAIRN_OK);
    cairn_table_done(&t);
}

static void a_hash_depends_on_every_byte_and_on_the_length(void **state)
{
    (void)state;
    uint8_t bytes[80];
    for (size_t size = 0; size < sizeof bytes; size++) {
        memset(bytes, 0, sizeof bytes);
        uint8_t *copy = test_copy(bytes, size);
        uint64_t hash = cairn_hash_bytes(copy, size);
        assert_true(hash == cairn_hash_bytes(bytes, size)); /* wherever the bytes lie */
        assert_false(hash == cairn_hash_bytes(bytes, size + 1));
        for (size_t i = 0; i < size; i++) {
            copy[i] = 1;
            assert_false(hash == cairn_hash_bytes(copy, size));
            copy[i] = 0;
        }
        free(copy);
    }
}

/* Buckets of the low bits, as tables use them: 64 of them, 1024 expected in each. */
static void hashes_are_spread_evenly(void **state)
{
    (void)state;
    unsigned by_number[64] = {0}, by_bytes[64] = {0};
    for (uint64_t i = 0; i < 65536; i++) {
        uint64_t address = 0x7f0000000000 + i * 16;
        by_number[cairn_hash_u64(address) & 63]++;
        by_bytes[cairn_hash_bytes(&address, sizeof address) & 63]++;
    }
    for (unsigned i = 0; i < 64; i++) {
        assert_in_range(by_number[i], 768, 1280);
        assert_in_range(by_bytes[i], 768, 1280);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_set_is_found),
        cmocka_unit_test(many_keys_of_one_shape_are_kept_apart),
        cmocka_unit_test(what_was_removed_leaves_the_others_and_its_room),
        cmocka_unit_test(lack_of_memory_changes_nothing),
        cmocka_unit_test(a_hash_depends_on_every_byte_and_on_the_length),
        cmocka_unit_test(hashes_are_spread_evenly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
