/* SPDX-License-Identifier: MIT */
/* The header's turn: how a thread sees that what it has of the header is void. */
#include "heap/track.h"
#include "unit/heap/tracked.h"

static uint64_t entry_at(const void *block)
{
    return *cairn_heap_shadow_find(&cairn_heap_present()->shadow, cairn_heap_va(block));
}

static void what_changes_in_the_header_is_seen_by_the_next_block(void **state)
{
    (void)state;
    static char blocks[5][64] __attribute__((aligned(512))),
        high[4096] __attribute__((aligned(64)));
    struct cairn_heap_header *header = cairn_heap_present()->state.header;
    born(high, 4000); /* the blocks below make no new high-water mark */
    died(high);
    for (int i = 0; i < 2; i++)
        born(blocks[i], 8);
    const struct cairn_heap_own *own = cairn_heap_mine;
    assert_int_equal(own->idle, cairn_heap_turn_of(&header->turn));
    header->epoch = 5; /* as who sets a mark from outside does it */
    header->turn += CAIRN_HEAP_OTHERS_TURN;
    born(blocks[2], 8);
    assert_int_equal(cairn_heap_entry_epoch(entry_at(blocks[1])), 0);
    assert_int_equal(cairn_heap_entry_epoch(entry_at(blocks[2])), 5);
    atomic_fetch_and(&header->flags, ~(unsigned)CAIRN_HEAP_STACKS_ON);
    cairn_heap_next_turn(header);
    born(blocks[3], 8);
    uint32_t stack = number_at(blocks[3]);
    assert_false(is_of_caller(cairn_heap_present(), number_at(blocks[2])));
    assert_true(is_of_caller(cairn_heap_present(), stack));
    uint32_t peak = header->peak;
    atomic_fetch_add(&header->turn_and_peak, CAIRN_HEAP_NEXT_PEAK);
    assert_int_equal(header->peak, peak + 1);
    died(blocks[3]);
    assert_int_equal(own->shared->deltas[stack & own->mask].key,
                     (uint64_t)header->peak << 32 | stack);
    assert_int_equal(own->idle, cairn_heap_turn_of(&header->turn));
}

/* A program that writes zeros over its state, and a block of its own that reads so: it is not set
 * up for all that. */
static void zeros_in_the_header_are_no_turn(void **state)
{
    (void)state;
    static char blocks[2][64] __attribute__((aligned(128)));
    born(blocks[0], 8);
    struct cairn_heap_header *header = cairn_heap_present()->state.header;
    struct cairn_heap_own *own = cairn_heap_mine;
    struct cairn_heap_thread *shared = own->shared;
    header->turn = 0;
    own->idle = 0;
    own->shared = NULL;
    born(blocks[1], 8);
    died(blocks[0]);
    own->shared = shared;
    own->idle = own->ready;
    assert_int_equal(entry_at(blocks[0]), 0);
    assert_int_equal(number_at(blocks[1]), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
    const struct CMUnitTest tests[] = {
        TEST(what_changes_in_the_header_is_seen_by_the_next_block),
        TEST(zeros_in_the_header_are_no_turn),
    };
    return cmocka_run_group_tests(tests, make_temporary, remove_temporary);
}
