/* SPDX-License-Identifier: MIT */
#include "reach/blocks.h"

#include "base/alloc.h"
#include "support/test.h"

static void add(struct cairn_reach_blocks *b, uint64_t va, uint64_t size)
{
    struct cairn_err err;
    assert_ok(cairn_reach_blocks_add(b, va, size, &err), err);
}

static void seal(struct cairn_reach_blocks *b)
{
    struct cairn_err err;
    assert_ok(cairn_reach_blocks_seal(b, &err), err);
}

static void assert_before(const struct cairn_reach_blocks *b, uint64_t va, uint64_t expected_va,
                          uint64_t expected_size)
{
    uint32_t index;
    struct cairn_reach_block block, same;
    if (!expected_va) {
        assert_false(cairn_reach_blocks_before(b, va, &index, &block));
        return;
    }
    assert_true(cairn_reach_blocks_before(b, va, &index, &block));
    assert_int_equal(block.va, expected_va);
    assert_int_equal(block.size, expected_size);
    same = cairn_reach_blocks_get(b, index);
    assert_int_equal(same.va, expected_va);
    assert_int_equal(same.size, expected_size);
}

static void the_block_before_an_address_is_found(void **state)
{
    (void)state;
    struct cairn_reach_blocks b = {0};
    add(&b, 0x10010, 24);
    add(&b, 0x10030, 0x9000); /* over many pages */
    add(&b, 0x20000, 0);
    add(&b, 0x7f0000000000, 40); /* another area */
    seal(&b);
    assert_before(&b, 0x1000f, 0, 0);
    assert_before(&b, 0x10010, 0x10010, 24);
    assert_before(&b, 0x1002f, 0x10010, 24);
    assert_before(&b, 0x10030, 0x10030, 0x9000);
    assert_before(&b, 0x18000, 0x10030, 0x9000);
    assert_before(&b, 0x1ffff, 0x10030, 0x9000);
    assert_before(&b, 0x20000, 0x20000, 0);
    assert_before(&b, 0x20001, 0, 0);
    assert_before(&b, 0x7effffffffff, 0, 0);
    assert_before(&b, 0x7f0000000028, 0x7f0000000000, 40);
    assert_before(&b, 0x7f0000000029, 0, 0);
    assert_before(&b, UINT64_MAX, 0, 0);
    cairn_reach_blocks_done(&b);
}

static void every_block_of_many_is_found(void **state)
{
    (void)state;
    enum { N = 100000 };
    struct cairn_reach_blocks b = {0};
    for (uint64_t i = 0; i < N; i++)
        add(&b, 0x100000 + i * 48 + (i / 1000) * 100000 / 8 * 8, 40);
    seal(&b);
    for (uint32_t i = 0; i < N; i++) {
        uint32_t index;
        struct cairn_reach_block block, got = cairn_reach_blocks_get(&b, i);
        for (uint64_t off = 0; off < 48; off += 13) {
            if (i + 1 == N && off > 40)
                continue;
            assert_true(cairn_reach_blocks_before(&b, got.va + off, &index, &block));
            assert_int_equal(index, i);
        }
    }
    cairn_reach_blocks_done(&b);
}

static void what_cannot_be_a_block_is_refused(void **state)
{
    (void)state;
    struct cairn_reach_blocks b = {0};
    add(&b, 0, 8);
    add(&b, 0x1004, 8);
    add(&b, 0x2000, 8);
    add(&b, 0x2000, 8);
    add(&b, 0x1ff8, 8);
    seal(&b);
    assert_int_equal(b.n, 1);
    assert_int_equal(b.n_refused, 4);
    cairn_reach_blocks_done(&b);
}

static void a_block_ends_where_the_next_begins(void **state)
{
    (void)state;
    const uint64_t lie = UINT64_C(1) << 60;
    struct cairn_reach_blocks b = {0};
    add(&b, 0x1000, lie);
    add(&b, 0x1100, lie);
    add(&b, 0x500000000000, UINT64_MAX);
    seal(&b);
    assert_int_equal(b.n_cut, 2);
    assert_int_equal(b.n_areas, 2);
    assert_before(&b, 0x10ff, 0x1000, 0x100);
    assert_before(&b, 0x400000000000, 0x1100, 0x500000000000 - 0x1100);
    assert_before(&b, UINT64_MAX, 0x500000000000, UINT64_MAX - 0x500000000000);
    cairn_reach_blocks_done(&b);
}

static void no_memory_is_an_error(void **state)
{
    (void)state;
    for (long left = 0, failed = 1; failed; left++) {
        struct cairn_reach_blocks b = {0};
        failed = 0;
        cairn_alloc_fail_after(left);
        for (uint64_t i = 1; i < 6 && !failed; i++)
            failed = cairn_reach_blocks_add(&b, i << 36, UINT64_C(1) << 35, NULL) < 0;
        failed = failed || cairn_reach_blocks_seal(&b, NULL) < 0;
        cairn_alloc_fail_after(-1);
        cairn_reach_blocks_done(&b);
        assert_true(left < 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_block_before_an_address_is_found),
        cmocka_unit_test(every_block_of_many_is_found),
        cmocka_unit_test(what_cannot_be_a_block_is_refused),
        cmocka_unit_test(a_block_ends_where_the_next_begins),
        cmocka_unit_test(no_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
