/* SPDX-License-Identifier: MIT */
#include "rt/thread.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "child.h"
#include "support/test.h"

enum { ROUNDS = 200, AT_ONCE = 20, WORDS = 4096 };

struct block {
    struct cairn_thread_head head;
    uintptr_t words[WORDS];
};

static struct cairn_thread_blocks blocks = {.bytes = sizeof(struct block)};
static atomic_uint n_dirty, n_shared, n_missing;

/* A fresh block is zero, and nobody else has it while its owner lives. */
CAIRN_THREAD_BLOCK_ACCESS static void *use_a_block(void *arg)
{
    (void)arg;
    struct block *block = cairn_thread_claim(&blocks);
    if (!block) {
        n_missing++;
        return NULL;
    }
    for (size_t i = 0; i < WORDS; i++)
        n_dirty += block->words[i] != 0;
    for (size_t i = 0; i < WORDS; i += 7)
        block->words[i] = (uintptr_t)&block;
    sched_yield();
    for (size_t i = 0; i < WORDS; i += 7)
        n_shared += block->words[i] != (uintptr_t)&block;
    return NULL;
}

static void threads_that_ended_leave_their_blocks(void **state)
{
    (void)state;
    pthread_t threads[AT_ONCE];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < AT_ONCE; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, use_a_block, NULL), 0);
        for (int i = 0; i < AT_ONCE; i++)
            pthread_join(threads[i], NULL);
    }
    assert_int_equal(n_missing, 0);
    assert_int_equal(n_dirty, 0);
    assert_int_equal(n_shared, 0);
    /* 4000 threads, 20 at once: a thread that was joined may still be seen for a moment. */
    assert_in_range(cairn_thread_count(&blocks), 1, 6 * AT_ONCE);
}

static void a_child_owns_nothing_of_its_parents(void **state)
{
    (void)state;
    static struct cairn_thread_blocks own = {.bytes = sizeof(struct block)};
    struct block *block = cairn_thread_claim(&own);
    assert_non_null(block);
    block->words[5] = 1;
    pid_t child = fork();
    if (child == 0) {
        struct block *again = block->head.owner == 0 ? cairn_thread_claim(&own) : NULL;
        _exit(!again || again->words[5] != 0 || again->head.owner == 0);
    }
    assert_wiped_in(child);
    assert_int_equal(block->words[5], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_that_ended_leave_their_blocks),
        cmocka_unit_test(a_child_owns_nothing_of_its_parents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
