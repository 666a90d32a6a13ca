/* SPDX-License-Identifier: MIT */
#include "proc/threads.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "support/test.h"

enum { N = 3 };

static pthread_barrier_t started, done;
static int tids[N];

static void *wait_under_a_name(void *number)
{
    int i = *(const int *)number;
    static const char *const names[N] = {"worker", "odd) S 1 (name", ""};
    tids[i] = gettid();
    prctl(PR_SET_NAME, names[i]);
    pthread_barrier_wait(&started);
    pthread_barrier_wait(&done);
    return NULL;
}

static pthread_t threads[N];
static int numbers[N];

static int start_threads(void **state)
{
    (void)state;
    pthread_barrier_init(&started, NULL, N + 1);
    pthread_barrier_init(&done, NULL, N + 1);
    for (int i = 0; i < N; i++) {
        numbers[i] = i;
        if (pthread_create(&threads[i], NULL, wait_under_a_name, &numbers[i]) != 0)
            return -1;
    }
    pthread_barrier_wait(&started);
    return 0;
}

static int end_threads(void **state)
{
    (void)state;
    pthread_barrier_wait(&done);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

static void all_threads_are_listed_in_order(void **state)
{
    (void)state;
    struct cairn_threads list = {0};
    struct cairn_err err;
    assert_ok(cairn_threads_read(getpid(), &list, &err), err);
    assert_true(list.n >= N + 1); /* a sanitizer may run one of its own */
    size_t n_found = 0;
    for (size_t i = 0; i < list.n; i++) {
        assert_true(i == 0 || list.tids[i - 1] < list.tids[i]);
        for (int k = 0; k < N; k++)
            n_found += list.tids[i] == tids[k];
        n_found += list.tids[i] == getpid();
    }
    assert_int_equal(n_found, N + 1);
    cairn_threads_done(&list);
    cairn_threads_done(&list);
}

static void a_thread_is_called_what_it_calls_itself(void **state)
{
    (void)state;
    char name[CAIRN_COMM_SIZE];
    cairn_thread_name(getpid(), tids[0], name);
    assert_string_equal(name, "worker");
    cairn_thread_name(getpid(), tids[1], name);
    assert_string_equal(name, "odd) S 1 (name");
    cairn_thread_name(getpid(), tids[2], name);
    assert_string_equal(name, "");
    prctl(PR_SET_NAME, "two\nlines\n");
    cairn_thread_name(getpid(), getpid(), name);
    assert_string_equal(name, "two\nlines\n");
    cairn_thread_name(getpid(), 0x3fffffff, name);
    assert_string_equal(name, "");
}

static void the_state_and_the_times_are_read_behind_any_name(void **state)
{
    (void)state;
    struct cairn_thread_stat first, second, other;
    struct cairn_err err;
    int tries = 0;
    do /* it sleeps, or is on its way there */
        assert_ok(cairn_thread_stat(getpid(), tids[1], &other, &err), err);
    while (other.state != 'S' && ++tries < 100000);
    assert_int_equal(other.state, 'S');
    assert_ok(cairn_thread_stat(getpid(), getpid(), &first, &err), err);
    assert_int_equal(first.state, 'R');
    assert_true(first.start_ticks > 0 && first.start_ticks <= other.start_ticks);
    clock_t until = clock() + CLOCKS_PER_SEC / 10;
    while (clock() < until)
        ;
    assert_ok(cairn_thread_stat(getpid(), getpid(), &second, &err), err);
    assert_true(second.user_ticks + second.system_ticks > first.user_ticks + first.system_ticks);
    assert_int_equal(second.start_ticks, first.start_ticks);
    assert_fails(cairn_thread_stat(getpid(), 0x3fffffff, &first, &err), CAIRN_E_MISSING, err,
                 "No such process");
}

static void what_is_not_there_is_missing(void **state)
{
    (void)state;
    struct cairn_threads list = {0};
    struct cairn_err err;
    assert_fails(cairn_threads_read(0x3fffffff, &list, &err), CAIRN_E_MISSING, err,
                 "pid 1073741823: No such process");
    cairn_alloc_fail_after(0);
    int code = cairn_threads_read(getpid(), &list, &err);
    cairn_alloc_fail_after(-1);
    assert_int_equal(code, CAIRN_E_NOMEM);
    assert_null(list.tids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_threads_are_listed_in_order),
        cmocka_unit_test(a_thread_is_called_what_it_calls_itself),
        cmocka_unit_test(the_state_and_the_times_are_read_behind_any_name),
        cmocka_unit_test(what_is_not_there_is_missing),
    };
    return cmocka_run_group_tests(tests, start_threads, end_threads);
}
