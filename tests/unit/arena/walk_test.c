/* SPDX-License-Identifier: MIT */
/* The walk over a small image of each layout, whole and damaged. */
#include "base/alloc.h"
#include "support/arenaimage.h"
#include "support/test.h"

static struct test_arena t;
static struct cairn_arena_walk walk;
static struct cairn_err err;

static int setup(void **state)
{
    (void)state;
    memset(&t, 0, sizeof t);
    test_arena_make(&t, false);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    cairn_arena_walk_done(&walk);
    return 0;
}

static void assert_has(const struct cairn_arena_block *block)
{
    for (size_t i = 0; i < walk.n; i++)
        if (walk.blocks[i].va == block->va) {
            assert_int_equal(walk.blocks[i].bytes, block->bytes);
            return;
        }
    fail_msg("0x%llx is missing", (unsigned long long)block->va);
}

static void assert_all_live(void)
{
    for (size_t i = 0; i < t.n_live; i++)
        assert_has(&t.live[i]);
    assert_int_equal(walk.n, t.n_live);
}

static uint64_t in(enum test_arena_part part, uint64_t at)
{
    return t.regions[part].low + at;
}

static void each_live_block_is_found_and_no_other(void **state)
{
    (void)state;
    assert_ok(test_arena_walk(&t, &walk, &err), err);
    assert_all_live();
    assert_int_equal(walk.unread_bytes, 0);
    assert_int_equal(walk.n_arenas, 2);
    assert_false(walk.is_ring_cut);
    assert_int_equal(walk.n_caches, 1);
    assert_int_equal(walk.n_cached, 3);
}

static void plain_links_and_short_heads_of_older_versions_too(void **state)
{
    (void)state;
    memset(&t, 0, sizeof t);
    test_arena_make(&t, true);
    assert_ok(test_arena_walk(&t, &walk, &err), err);
    assert_all_live();
    assert_int_equal(walk.unread_bytes, 0);
}

static void a_head_that_was_overwritten_costs_what_is_around_it(void **state)
{
    (void)state;
    test_arena_put(&t, in(TEST_ARENA_BREAK, TEST_ARENA_DAMAGED + 8), UINT64_C(0x4141414141414141));
    assert_ok(test_arena_walk(&t, &walk, &err), err);
    assert_true(walk.unread_bytes >= 0x50 && walk.unread_bytes <= 0x200);
    assert_int_equal(walk.n, t.n_live - 1);
}

/* The address of the top in the main arena, and the size of the top itself. */
static void a_top_that_was_overwritten_hides_no_block(void **state)
{
    (void)state;
    const uint64_t at = in(TEST_ARENA_DATA, TEST_ARENA_MAIN + 0x60);
    uint64_t top;
    memcpy(&top, test_arena_at(&t, at, sizeof top), sizeof top);
    const uint64_t places[] = {at, top + 8};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        memset(&t, 0, sizeof t);
        test_arena_make(&t, false);
        test_arena_put(&t, places[i], UINT64_C(0x4141414141414140));
        cairn_arena_walk_done(&walk);
        assert_ok(test_arena_walk(&t, &walk, &err), err);
        assert_all_live();
        assert_true(walk.unread_bytes > 0 && walk.unread_bytes <= 0x4000);
    }
}

static uint64_t reads_until_move;

static bool read_while_top_moves(void *context, uint64_t va, void *out, size_t size)
{
    if (reads_until_move-- == 0) {
        const uint64_t top = in(TEST_ARENA_BREAK, TEST_ARENA_DAMAGED - 0x50);
        test_arena_put(&t, in(TEST_ARENA_DATA, TEST_ARENA_MAIN + 0x60), top);
        test_arena_put(&t, top + 8, t.regions[TEST_ARENA_BREAK].high - top + 1);
    }
    return test_arena_read(context, va, out, size);
}

static void a_top_that_moves_down_at_any_time_leaves_the_sums_sound(void **state)
{
    (void)state;
    const struct cairn_arena_space space = {read_while_top_moves, &t, t.regions, TEST_ARENA_PARTS};
    for (uint64_t i = 0; i < 400; i++) {
        memset(&t, 0, sizeof t);
        test_arena_make(&t, false);
        test_arena_put(&t, in(TEST_ARENA_BREAK, TEST_ARENA_DAMAGED + 8), 0);
        reads_until_move = i;
        cairn_arena_walk_done(&walk);
        assert_ok(cairn_arena_walk(&space, &walk, &err), err);
        assert_true(walk.unread_bytes <= walk.heap_bytes);
    }
}

static void what_is_missing_of_mapped_chunks_is_told(void **state)
{
    (void)state;
    test_arena_put(&t, in(TEST_ARENA_MAPPED, 0x1008), 0);
    assert_ok(test_arena_walk(&t, &walk, &err), err);
    assert_int_equal(walk.unread_bytes, 0x2000);
    assert_int_equal(walk.n, t.n_live - 1);
}

static void a_ring_that_loops_ends(void **state)
{
    (void)state;
    uint64_t arena = in(TEST_ARENA_HEAP, 0x30);
    test_arena_put(&t, arena + 0x870, arena);
    assert_ok(test_arena_walk(&t, &walk, &err), err);
    assert_all_live();
}

/* What stands in the link: nothing, text, an unmapped place, places in blocks. */
static void a_ring_that_was_overwritten_hides_no_arena(void **state)
{
    (void)state;
    const uint64_t links[] = {0, UINT64_C(0x4141414141414141), 0x7ffffc000030,
                              in(TEST_ARENA_MAPPED, 0x1010), in(TEST_ARENA_BREAK, 0x340)};
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        memset(&t, 0, sizeof t);
        test_arena_make(&t, false);
        test_arena_put(&t, in(TEST_ARENA_DATA, TEST_ARENA_MAIN + 0x870), links[i]);
        cairn_arena_walk_done(&walk);
        assert_ok(test_arena_walk(&t, &walk, &err), err);
        assert_all_live();
        assert_true(walk.is_ring_cut);
        assert_true(walk.unread_bytes <= walk.heap_bytes);
    }
}

static void an_arena_at_another_place_is_told_in_bytes(void **state)
{
    (void)state;
    uint64_t other = in(TEST_ARENA_MAPPED, 0x5000 - 0x898);
    test_arena_put(&t, in(TEST_ARENA_HEAP, 0x30 + 0x870), other);
    test_arena_put(&t, other + 0x870, in(TEST_ARENA_DATA, TEST_ARENA_MAIN));
    test_arena_put(&t, other + 0x888, 0x7000);
    assert_ok(test_arena_walk(&t, &walk, &err), err);
    assert_int_equal(walk.unread_bytes, 0x7000);
    assert_int_equal(walk.n_arenas, 2);
}

static void a_heap_that_belongs_to_no_arena_is_told_in_bytes(void **state)
{
    (void)state;
    test_arena_put(&t, in(TEST_ARENA_HEAP, 0), 0);
    assert_ok(test_arena_walk(&t, &walk, &err), err);
    assert_int_equal(walk.unread_bytes, 0x4000);
    assert_int_equal(walk.n, t.n_live - 2);
}

static void a_cache_that_loops_ends(void **state)
{
    (void)state;
    uint64_t first = in(TEST_ARENA_BREAK, 0x2d0);
    test_arena_link(&t, first, first);
    assert_ok(test_arena_walk(&t, &walk, &err), err);
    assert_int_equal(walk.n, t.n_live + 1);
}

static void heaps_that_loop_end(void **state)
{
    (void)state;
    uint64_t heap = in(TEST_ARENA_HEAP, 0), top;
    /* The arena says that it lies elsewhere, and the heap's head leads to itself. */
    memcpy(&top, test_arena_at(&t, heap + 0x30 + 0x60, 8), sizeof top);
    test_arena_put(&t, heap + 8, heap);
    assert_ok(test_arena_walk(&t, &walk, &err), err);
    assert_all_live();
}

static void a_part_of_the_program_between_two_of_the_heap_is_passed(void **state)
{
    (void)state;
    /* Two fences end the first part of it, where the free chunk was. */
    const uint64_t none = in(TEST_ARENA_BREAK, TEST_ARENA_DAMAGED + 0x50);
    for (uint64_t at = 0; at < 0x100; at += 8)
        test_arena_put(&t, none + at, 0);
    test_arena_put(&t, none + 8, 0x11);
    test_arena_put(&t, none + 24, 0x11);
    assert_ok(test_arena_walk(&t, &walk, &err), err);
    assert_all_live();
    assert_int_equal(walk.unread_bytes, 0);
}

static void memory_without_an_arena_is_told(void **state)
{
    (void)state;
    memset(t.bytes[TEST_ARENA_DATA], 0, TEST_ARENA_PART);
    assert_fails(test_arena_walk(&t, &walk, &err), CAIRN_E_MISSING, err, "no arena");
}

static void reads_may_fail_at_any_time(void **state)
{
    (void)state;
    assert_ok(test_arena_walk(&t, &walk, &err), err);
    const uint64_t n_reads = t.n_reads;
    assert_true(n_reads < 20000);
    for (uint64_t i = 0; i < n_reads; i++) {
        cairn_arena_walk_done(&walk);
        t.reads_left = i;
        int result = test_arena_walk(&t, &walk, &err);
        assert_true(result == CAIRN_OK || result == CAIRN_E_MISSING);
        assert_true(walk.n <= t.n_live + 3);
    }
}

static void no_memory_is_an_error(void **state)
{
    (void)state;
    int result = CAIRN_E_NOMEM;
    for (long n = 0; result == CAIRN_E_NOMEM; n++) {
        cairn_alloc_fail_after(n);
        result = test_arena_walk(&t, &walk, &err);
        cairn_alloc_fail_after(-1);
    }
    assert_ok(result, err);
    assert_all_live();
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(each_live_block_is_found_and_no_other),
        CASE(plain_links_and_short_heads_of_older_versions_too),
        CASE(a_head_that_was_overwritten_costs_what_is_around_it),
        CASE(a_top_that_was_overwritten_hides_no_block),
        CASE(a_top_that_moves_down_at_any_time_leaves_the_sums_sound),
        CASE(what_is_missing_of_mapped_chunks_is_told),
        CASE(a_ring_that_loops_ends),
        CASE(a_ring_that_was_overwritten_hides_no_arena),
        CASE(an_arena_at_another_place_is_told_in_bytes),
        CASE(a_heap_that_belongs_to_no_arena_is_told_in_bytes),
        CASE(a_cache_that_loops_ends),
        CASE(heaps_that_loop_end),
        CASE(a_part_of_the_program_between_two_of_the_heap_is_passed),
        CASE(memory_without_an_arena_is_told),
        CASE(reads_may_fail_at_any_time),
        CASE(no_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
