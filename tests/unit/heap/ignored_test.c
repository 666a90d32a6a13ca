/* SPDX-License-Identifier: MIT */
/* Blocks that are born in a scope of __lsan_disable(): stacks of their own, which say so. */
#include <string.h>
#include <sys/wait.h>

#include "unit/heap/tracked.h"

/* As lsan.c does it, but for who is told: all threads. */
static void set_disabled(uint32_t n)
{
    cairn_heap_disabled = n;
    cairn_heap_next_turn(cairn_heap_present()->state.header);
}

static struct cairn_heap_log log_of(uint32_t stack)
{
    const struct cairn_tracked_heap *heap = cairn_heap_present();
    struct cairn_heap_log log;
    uint64_t at = cairn_heap_stacks_at(&heap->stacks, stack)->log;
    const char *chunk = cairn_heap_state_at(&heap->state, (uint32_t)(at >> CAIRN_HEAP_CHUNK_BITS));
    memcpy(&log, chunk + (at & (CAIRN_HEAP_CHUNK - 1)), sizeof log);
    return log;
}

/* Blocks of one place: outside, inside twice, and outside again. The counter is volatile, for a
 * loop that is unrolled has several places. */
static void bear(char blocks[4][64])
{
    static const uint32_t scopes[] = {0, 1, 1, 0};
    for (volatile int i = 0; i < 4; i++) {
        set_disabled(scopes[i]);
        one_way(blocks[i]);
    }
}

static void they_have_a_stack_of_their_own(void **state)
{
    (void)state;
    static char blocks[4][64];
    bear(blocks);
    uint32_t plain = number_at(blocks[0]), ignored = number_at(blocks[1]);
    assert_int_not_equal(plain, ignored);
    assert_int_equal(number_at(blocks[2]), ignored);
    assert_int_equal(number_at(blocks[3]), plain);
    struct cairn_heap_log own = log_of(ignored), of_plain = log_of(plain);
    assert_int_equal(own.flags, of_plain.flags | CAIRN_HEAP_LOG_IGNORED);
    assert_int_equal(own.base, plain);
    assert_int_equal(own.n, 0);
    assert_int_equal(own.n_shared, of_plain.n_shared + of_plain.n);
    assert_int_equal(own.end, of_plain.end);
    for (int i = 0; i < 4; i++)
        died(blocks[i]);
    assert_int_equal(cairn_heap_present()->state.header->loss_blocks[CAIRN_HEAP_LOSS_UNKNOWN], 0);
}

static void without_stacks_the_caller_is_theirs_too(void **state)
{
    (void)state;
    static char blocks[4][64];
    struct cairn_heap_header *header = cairn_heap_present()->state.header;
    atomic_fetch_and(&header->flags, ~(unsigned)CAIRN_HEAP_STACKS_ON);
    bear(blocks);
    struct cairn_heap_log own = log_of(number_at(blocks[1]));
    assert_int_equal(own.flags, CAIRN_HEAP_LOG_CALLER | CAIRN_HEAP_LOG_IGNORED);
    assert_int_equal(own.base, number_at(blocks[0]));
    assert_int_equal(own.n_shared, 1);
}

static void a_block_without_a_stack_is_ignored_as_well(void **state)
{
    (void)state;
    struct cairn_tracked_heap *heap = cairn_heap_present();
    uint32_t number = cairn_heap_stacks_ignored(&heap->stacks, &heap->state, &heap->modules, 0);
    assert_int_not_equal(number, 0);
    assert_int_equal(log_of(number).flags, CAIRN_HEAP_LOG_CALLER | CAIRN_HEAP_LOG_IGNORED);
    assert_int_equal(log_of(number).n + log_of(number).n_shared, 0);
    assert_int_equal(cairn_heap_stacks_ignored(&heap->stacks, &heap->state, &heap->modules, 0),
                     number);
}

static void a_child_of_fork_is_in_the_scope_still(void **state)
{
    (void)state;
    static char block[64];
    int status;
    set_disabled(1);
    pid_t child = fork();
    if (child == 0) {
        one_way(block);
        _exit(log_of(number_at(block)).flags & CAIRN_HEAP_LOG_IGNORED ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    set_disabled(0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
    const struct CMUnitTest tests[] = {
        TEST(they_have_a_stack_of_their_own),
        TEST(without_stacks_the_caller_is_theirs_too),
        TEST(a_block_without_a_stack_is_ignored_as_well),
        TEST(a_child_of_fork_is_in_the_scope_still),
    };
    return cmocka_run_group_tests(tests, make_temporary, remove_temporary);
}
