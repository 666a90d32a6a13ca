/* SPDX-License-Identifier: MIT */
#include "base/arena.h"

#include "base/alloc.h"
#include "support/test.h"

static void blocks_are_aligned_zero_and_apart(void **state)
{
    (void)state;
    struct cairn_arena arena = {0};
    uint8_t *blocks[500];
    for (size_t i = 0; i < 500; i++) {
        blocks[i] = cairn_arena_alloc(&arena, i * 7);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % 16, 0);
        for (size_t at = 0; at < i * 7; at++)
            assert_int_equal(blocks[i][at], 0);
        memset(blocks[i], (int)i, i * 7);
    }
    for (size_t i = 0; i < 500; i++)
        for (size_t at = 0; at < i * 7; at++)
            assert_int_equal(blocks[i][at], (uint8_t)i);
    cairn_arena_done(&arena);
}

static void texts_are_copied_with_their_end(void **state)
{
    (void)state;
    struct cairn_arena arena = {0};
    char *text = cairn_arena_text(&arena, "stone and more", 5);
    assert_string_equal(text, "stone");
    assert_string_equal(cairn_arena_text(&arena, NULL, 0), "");
    assert_int_equal(arena.used_bytes, 7);
    cairn_arena_done(&arena);
}

static void a_huge_block_does_not_waste_what_is_left_of_a_chunk(void **state)
{
    (void)state;
    struct cairn_arena arena = {0};
    char *before = cairn_arena_alloc(&arena, 16);
    char *huge = cairn_arena_alloc(&arena, 8 << 20);
    assert_non_null(huge);
    memset(huge, 1, 8 << 20);
    assert_ptr_equal(cairn_arena_alloc(&arena, 16), before + 16);
    cairn_arena_done(&arena);
}

static void an_arena_can_be_used_again(void **state)
{
    (void)state;
    struct cairn_arena arena = {0};
    cairn_arena_done(&arena);
    assert_non_null(cairn_arena_alloc(&arena, 1));
    cairn_arena_done(&arena);
    assert_int_equal(arena.used_bytes, 0);
    assert_non_null(cairn_arena_alloc(&arena, 1));
    cairn_arena_done(&arena);
}

static void lack_of_memory_gives_null_and_changes_nothing(void **state)
{
    (void)state;
    struct cairn_arena arena = {0};
    assert_null(cairn_arena_alloc(&arena, SIZE_MAX));
    assert_null(cairn_arena_text(&arena, "x", SIZE_MAX));
    assert_non_null(cairn_arena_alloc(&arena, 4000));
    cairn_alloc_fail_after(0);
    assert_null(cairn_arena_alloc(&arena, 4000));
    cairn_alloc_fail_after(-1);
    assert_int_equal(arena.used_bytes, 4000);
    assert_non_null(cairn_arena_alloc(&arena, 4000));
    cairn_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_aligned_zero_and_apart),
        cmocka_unit_test(texts_are_copied_with_their_end),
        cmocka_unit_test(a_huge_block_does_not_waste_what_is_left_of_a_chunk),
        cmocka_unit_test(an_arena_can_be_used_again),
        cmocka_unit_test(lack_of_memory_gives_null_and_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
