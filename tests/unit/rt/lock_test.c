/* SPDX-License-Identifier: MIT */
#include "rt/lock.h"

#include <pthread.h>
#include <sched.h>

#include "support/test.h"

enum { THREADS = 4, ROUNDS = 20000 };

static struct cairn_lock lock;
static uint64_t counter; /* guarded by the lock alone */

static void *count(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        cairn_lock_take(&lock);
        uint64_t seen = counter;
        if (i % 64 == 0)
            sched_yield();
        counter = seen + 1;
        cairn_lock_give(&lock);
    }
    return NULL;
}

static void one_at_a_time(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(counter, THREADS * ROUNDS);
    assert_int_equal(lock.word, 0);
}

static void *take_and_give(void *arg)
{
    (void)arg;
    cairn_lock_take(&lock);
    cairn_lock_give(&lock);
    return NULL;
}

static void who_left_it_behind_may_break_it_and_nobody_else(void **state)
{
    (void)state;
    pthread_t waits;
    cairn_lock_take(&lock);
    cairn_lock_number = 7;
    cairn_lock_break(&lock); /* taken by a thread without a number */
    assert_int_not_equal(lock.word, 0);
    cairn_lock_give(&lock);
    cairn_lock_take(&lock);
    cairn_lock_number = 8;
    cairn_lock_break(&lock);
    assert_int_not_equal(lock.word, 0);
    assert_int_equal(pthread_create(&waits, NULL, take_and_give, NULL), 0);
    cairn_lock_number = 7;
    cairn_lock_break(&lock);
    assert_int_equal(pthread_join(waits, NULL), 0);
    assert_int_equal(lock.word, 0);
    cairn_lock_number = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_at_a_time),
        cmocka_unit_test(who_left_it_behind_may_break_it_and_nobody_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
