/* SPDX-License-Identifier: MIT */
/* Numbers of stacks, of which a thread remembers some (heap/own.h, recent). */
#include "heap/track.h"
#include "unit/heap/tracked.h"

enum { DEPTH = 13, STACKS = 1 << DEPTH };
_Static_assert(STACKS > (int)CAIRN_HEAP_RECENT, "more than are remembered");

static void by(unsigned way, unsigned depth, void *block);

APART static void by_one(unsigned way, unsigned depth, void *block)
{
    by(way, depth, block);
    __asm__ volatile("" ::: "memory");
}

APART static void by_other(unsigned way, unsigned depth, void *block)
{
    by(way, depth, block);
    __asm__ volatile("nop" ::: "memory");
}

/* Through one function or the other, by each bit of `way`. */
APART static void by(unsigned way, unsigned depth, void *block)
{
    if (depth == 0)
        one_way(block);
    else
        (way >> (depth - 1) & 1 ? by_one : by_other)(way, depth - 1, block);
    __asm__ volatile("" ::: "memory");
}

static void more_stacks_than_are_remembered_keep_their_numbers(void **state)
{
    (void)state;
    static char blocks[2][STACKS][64];
    volatile int n_rounds = 2; /* or each has a place of its own */
    for (int round = 0; round < n_rounds; round++)
        for (unsigned way = 0; way < STACKS; way++)
            by(way, DEPTH, blocks[round][way]);
    bool *seen = calloc(STACKS * 2, sizeof(*seen));
    assert_non_null(seen);
    for (unsigned way = 0; way < STACKS; way++) {
        uint32_t number = number_at(blocks[0][way]);
        assert_in_range(number, 1, STACKS * 2 - 1);
        assert_false(seen[number]);
        seen[number] = true;
        assert_int_equal(number_at(blocks[1][way]), number);
    }
    free(seen);
}

static uint64_t n_lost(void)
{
    return cairn_heap_present()->state.header->loss_blocks[CAIRN_HEAP_LOSS_STACKS_FULL];
}

static void stacks_have_numbers_once_there_is_room(void **state)
{
    (void)state;
    static char blocks[5][64];
    struct cairn_heap_stacks *stacks = &cairn_heap_present()->stacks;
    uint32_t n = stacks->n;
    stacks->n = CAIRN_HEAP_MAX_STACKS + 1;
    volatile unsigned n_blocks = 5;
    for (unsigned i = 0; i < n_blocks; i++) {
        if (i == 4)
            stacks->n = n;
        by(i % 2, 2, blocks[i]);
        assert_int_equal(number_at(blocks[i]) != 0, i == 4);
    }
    assert_int_equal(n_lost(), 4);
}

static void a_lower_depth_cuts_stacks_that_were_whole(void **state)
{
    (void)state;
    static char blocks[4][64];
    volatile unsigned n_blocks = 4;
    for (unsigned i = 0; i < n_blocks; i++) {
        if (i == 2)
            atomic_store(&cairn_heap_present()->settings.depth, 2);
        by(i % 2 * 16, 5, blocks[i]);
    }
    assert_int_not_equal(number_at(blocks[0]), number_at(blocks[1]));
    assert_int_not_equal(number_at(blocks[0]), number_at(blocks[2]));
    assert_int_equal(number_at(blocks[2]), number_at(blocks[3]));
}

static void other_code_at_the_same_addresses_has_other_numbers(void **state)
{
    (void)state;
    static char blocks[4][64];
    volatile unsigned n_blocks = 4;
    for (unsigned i = 0; i < n_blocks; i++) {
        if (i == 2) {
            atomic_fetch_add(&cairn_heap_present()->stacks.seed, 1);
            cairn_heap_mine->generation--; /* as if a module had gone */
        }
        by(i % 2, 2, blocks[i]);
    }
    assert_int_not_equal(number_at(blocks[0]), number_at(blocks[2]));
    assert_int_not_equal(number_at(blocks[1]), number_at(blocks[3]));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
    const struct CMUnitTest tests[] = {
        TEST(more_stacks_than_are_remembered_keep_their_numbers),
        TEST(stacks_have_numbers_once_there_is_room),
        TEST(a_lower_depth_cuts_stacks_that_were_whole),
        TEST(other_code_at_the_same_addresses_has_other_numbers),
    };
    return cmocka_run_group_tests(tests, make_temporary, remove_temporary);
}
