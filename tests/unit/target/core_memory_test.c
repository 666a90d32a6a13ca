/* SPDX-License-Identifier: MIT */
/* Memory of a core file in parts that touch, leave holes, and end with the address space. */
#include "target/core_memory.h"

#include "support/test.h"

static const uint8_t bytes[64] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
static struct cairn_core_part parts[] = {
    {0x1000, {bytes, 8}},
    {0x1008, {bytes + 8, 8}},
    {0x2000, {bytes, 4}},
    {UINT64_MAX - 7, {bytes, 8}},
};
static const struct cairn_core_target core = {.parts = parts, .n_parts = 4};

static void what_is_there_is_read_and_no_more(void **state)
{
    (void)state;
    uint8_t got[32] = {0};
    assert_int_equal(cairn_core_memory_read(&core, 0x1004, got, 8), 8); /* of two parts */
    assert_memory_equal(got, bytes + 4, 8);
    assert_int_equal(cairn_core_memory_read(&core, 0x1000, got, sizeof got), 16);
    assert_memory_equal(got, bytes, 16);
    assert_int_equal(cairn_core_memory_read(&core, 0x2003, got, 2), 1);
    assert_int_equal(cairn_core_memory_read(&core, 0x1fff, got, 2), 0);
    assert_int_equal(cairn_core_memory_read(&core, 0x2004, got, 2), 0);
    assert_int_equal(cairn_core_memory_read(&core, 0, got, sizeof got), 0);
    assert_int_equal(cairn_core_memory_read(&core, UINT64_MAX, got, sizeof got), 1);
    assert_int_equal(got[0], 8);
    assert_int_equal(cairn_core_memory_read(&core, 0x1000, got, 0), 0);
}

static void assert_next(uint64_t va, uint64_t end, size_t size_max, uint64_t from, uint64_t to)
{
    uint64_t got_from, got_to;
    assert_true(cairn_core_memory_next(&core, va, end, size_max, &got_from, &got_to));
    assert_int_equal(got_from, from);
    assert_int_equal(got_to, to);
}

static void runs_are_found_and_end_where_asked(void **state)
{
    (void)state;
    uint64_t from, to;
    assert_next(0, UINT64_MAX, 100, 0x1000, 0x1008);
    assert_next(0x1003, UINT64_MAX, 100, 0x1003, 0x1008);
    assert_next(0x1008, UINT64_MAX, 3, 0x1008, 0x100b);
    assert_next(0x1010, UINT64_MAX, 100, 0x2000, 0x2004);
    assert_next(0x1010, 0x2002, 100, 0x2000, 0x2002);
    assert_next(0x2004, UINT64_MAX, 100, UINT64_MAX - 7, UINT64_MAX);
    assert_false(cairn_core_memory_next(&core, 0x1010, 0x2000, 100, &from, &to));
    assert_false(cairn_core_memory_next(&core, 0x1000, 0x1000, 100, &from, &to));
    const struct cairn_core_target none = {0};
    assert_false(cairn_core_memory_next(&none, 0, UINT64_MAX, 100, &from, &to));
    assert_null(cairn_core_memory_part(&none, 0x1000));
}

/* As no kernel writes them: what is said to be there can be read. */
static void parts_that_overlap_agree(void **state)
{
    (void)state;
    struct cairn_core_part over[] = {
        {0x1000, {bytes, 16}}, {0x1000, {bytes, 4}}, {0x1008, {bytes, 2}}};
    const struct cairn_core_target odd = {.parts = over, .n_parts = 3};
    uint8_t got[16];
    uint64_t va = 0, from, to;
    size_t n = 0;
    for (; cairn_core_memory_next(&odd, va, UINT64_MAX, 100, &from, &to); va = to, n++) {
        assert_true(from >= va && to > from);
        assert_int_equal(cairn_core_memory_read(&odd, from, got, (size_t)(to - from)), to - from);
    }
    assert_int_equal(n, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_there_is_read_and_no_more),
        cmocka_unit_test(runs_are_found_and_end_where_asked),
        cmocka_unit_test(parts_that_overlap_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
