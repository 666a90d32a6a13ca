/* SPDX-License-Identifier: MIT */
/* What comes while a call is under way: handlers of signals, and those that never return to it; and
 * calls that make and unmake mappings. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include "heap/fork.h"
#include "heap/map_calls.h"
#include "rt/pages.h"
#include "unit/heap/tracked.h"

/* More than the kernel's frame for a signal takes: as far out lies a call that was interrupted. */
enum { FAR = 4096, LONG = 5000000 /* microseconds */ };

static sigjmp_buf out;

static void leave_by_longjmp(int number)
{
    (void)number;
    siglongjmp(out, 1);
}

static void every_so_often(suseconds_t microseconds)
{
    struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* Blocks of our own, for the real malloc would not survive it. */
APART static void churn_until_left(char (*blocks)[64], int n)
{
    static volatile int round;
    for (;; round++) {
        int i = (int)((unsigned)round % (unsigned)n);
        died(blocks[i]);
        i % 2 ? one_way(blocks[i]) : other_way(blocks[i]);
        if (i % 16 == 0)
            born(blocks[(i + 1) % n], 5 << 20);
    }
}

static void a_call_left_by_longjmp_costs_no_stacks(void **state)
{
    (void)state;
    enum { N = 400, TIMES = 300 };
    static char blocks[N][64], last[64];
    static volatile int times;
    const struct sigaction action = {.sa_handler = leave_by_longjmp},
                           none = {.sa_handler = SIG_IGN};
    struct sigaction before;
    sigaction(SIGALRM, &action, &before);
    times = 0;
    if (sigsetjmp(out, 1) == 0)
        every_so_often(200);
    if (++times < TIMES)
        churn_until_left(blocks, N);
    every_so_often(0);
    sigaction(SIGALRM, &none, NULL);
    sigaction(SIGALRM, &before, NULL);
    one_way(last);
    assert_int_not_equal(number_at(last), 0);
    assert_true(cairn_heap_is_idle(cairn_heap_mine));
}

static void once_after(suseconds_t microseconds)
{
    struct itimerval timer = {{0, 0}, {microseconds / 1000000, microseconds % 1000000}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* Whether a block gets its stack, if what comes so late leaves the call. */
static bool has_stack_within(suseconds_t microseconds)
{
    static char block[64];
    static volatile bool has;
    has = false;
    if (sigsetjmp(out, 1) == 0) {
        once_after(microseconds);
        one_way(block);
        has = number_at(block) != 0;
    }
    once_after(0);
    return has;
}

/* The fastest of some, so that what is left at about then was at its end. */
static suseconds_t microseconds_of_a_first_call(void)
{
    suseconds_t least = LONG;
    for (int i = 0; i < 8; i++) {
        struct timespec from, to;
        cairn_heap_start_anew();
        clock_gettime(CLOCK_MONOTONIC, &from);
        has_stack_within(LONG);
        clock_gettime(CLOCK_MONOTONIC, &to);
        suseconds_t took = (to.tv_sec - from.tv_sec) * 1000000 + (to.tv_nsec - from.tv_nsec) / 1000;
        least = took < least ? took : least;
        cairn_heap_state_remove(&cairn_heap_present()->state);
    }
    return least;
}

/* It makes the state of the process, and what the thread has, and takes locks for both. Left at
 * any of many moments of it. */
static void a_first_call_left_by_longjmp_is_made_again(void **state)
{
    (void)state;
    enum { MOMENTS = 80 };
    const struct sigaction action = {.sa_handler = leave_by_longjmp};
    struct sigaction before;
    unsigned n_left = 0;
    sigaction(SIGALRM, &action, &before);
    const suseconds_t took = microseconds_of_a_first_call();
    for (volatile int i = 0; i < MOMENTS; i++) {
        cairn_heap_start_anew();
        n_left += !has_stack_within(1 + 2 * took * i / MOMENTS);
        assert_true(has_stack_within(LONG));
        assert_true(cairn_heap_is_idle(cairn_heap_mine));
        cairn_heap_state_remove(&cairn_heap_present()->state);
    }
    sigaction(SIGALRM, &before, NULL);
    assert_in_range(n_left, MOMENTS / 4, MOMENTS);
}

/* What a handler does while a call is under way is not taken for one that comes after it. */
static void a_handler_within_a_call_finds_it_under_way(void **state)
{
    (void)state;
    /* Of one leaf, for a handler cannot make one. */
    static char blocks[3][64] __attribute__((aligned(256)));
    char *first = blocks[0], *inner = blocks[1], *after = blocks[2];
    one_way(first);
    struct cairn_heap_own *own = cairn_heap_mine;
    const uintptr_t interrupted = (uintptr_t)__builtin_frame_address(0) + FAR;
    own->idle = interrupted;
    one_way(inner);
    assert_int_equal(number_at(inner), 0);
    assert_int_equal(own->idle, interrupted);
    own->idle = cairn_heap_sp();
    one_way(after);
    assert_int_not_equal(number_at(after), 0);
    assert_true(cairn_heap_is_idle(own));
}

static volatile uint32_t number_on_other_stack;
static char handled[2][64] __attribute__((aligned(128)));

static void allocate_in_handler(int number)
{
    (void)number;
    one_way(handled[1]);
    number_on_other_stack = number_at(handled[1]);
}

static void a_handler_on_a_stack_of_its_own_is_within_the_call(void **state)
{
    (void)state;
    static char room[1 << 16];
    const stack_t other = {.ss_sp = room, .ss_size = sizeof(room)}, none = {.ss_flags = SS_DISABLE};
    const struct sigaction action = {.sa_handler = allocate_in_handler, .sa_flags = SA_ONSTACK};
    struct sigaction before;
    one_way(handled[0]);
    sigaltstack(&other, NULL);
    sigaction(SIGUSR1, &action, &before);
    uintptr_t under_way[] = {16, UINTPTR_MAX / 32 * 16}; /* below it, and above */
    for (int i = 0; i < 2; i++) {
        cairn_heap_mine->idle = under_way[i];
        number_on_other_stack = 1;
        raise(SIGUSR1);
        assert_int_equal(number_on_other_stack, 0);
        assert_int_equal(cairn_heap_mine->idle, under_way[i]);
    }
    /* That which was under way in a handler there, which is no more. */
    cairn_heap_mine->idle = (uintptr_t)room + sizeof(room) / 2;
    one_way(handled[0]);
    assert_true(cairn_heap_is_idle(cairn_heap_mine));
    sigaction(SIGUSR1, &before, NULL);
    sigaltstack(&none, NULL);
}

static volatile sig_atomic_t n_handled;

static void allocate_large(int number)
{
    (void)number;
    born(handled[0], 5 << 20);
    n_handled++;
}

/* It has no blocks, so that nothing is to be copied for it. */
static void *fork_without_copy(void *arg)
{
    cairn_heap_fork_prepare();
    cairn_heap_fork_parent();
    return arg;
}

static void a_signal_while_a_fork_copies_comes_behind_it(void **state)
{
    (void)state;
    const struct sigaction action = {.sa_handler = allocate_large};
    struct sigaction before;
    sigaction(SIGUSR1, &action, &before);
    one_way(handled[0]);
    died(handled[0]);
    cairn_heap_present()->settings.fork_copy = true;
    n_handled = 0;
    alarm(10); /* ends it where a lock is waited for */
    cairn_heap_fork_prepare();
    raise(SIGUSR1);
    assert_int_equal(n_handled, 0);
    cairn_heap_fork_parent();
    usleep(1000);
    alarm(0);
    assert_int_equal(n_handled, 1);
    assert_int_not_equal(number_at(handled[0]), 0);
    /* One that forks within a call has no copy, and leaves that of another thread alone. */
    cairn_heap_fork_prepare();
    assert_int_not_equal(cairn_heap_present()->state.lock.word, 0);
    pthread_t other;
    pthread_create(&other, NULL, fork_without_copy, NULL);
    pthread_join(other, NULL);
    assert_int_not_equal(cairn_heap_present()->state.lock.word, 0);
    cairn_heap_fork_parent();
    assert_int_equal(cairn_heap_present()->state.lock.word, 0);
    sigaction(SIGUSR1, &before, NULL);
}

APART static void begin_map(struct cairn_heap_map_call *call)
{
    cairn_heap_map_begin(call, &(struct cairn_local_frame_at)CAIRN_HEAP_CALLER);
    __asm__ volatile("" ::: "memory");
}

static void mappings_are_told_call_by_call(void **state)
{
    (void)state;
    const struct cairn_heap_header *header = cairn_heap_present()->state.header;
    const struct cairn_heap_maps *maps = &cairn_heap_present()->maps;
    struct cairn_heap_map_call call;
    begin_map(&call);
    cairn_heap_map_made(&call, 0x10000, 5000, CAIRN_HEAP_MAP_FILE);
    cairn_heap_map_made(&call, 0x20000, 5000, CAIRN_HEAP_MAP_BREAK);
    cairn_heap_map_made(&call, 0x30000, 0, CAIRN_HEAP_MAP_MEMORY); /* nothing */
    cairn_heap_map_end(&call);
    assert_true(cairn_heap_is_idle(cairn_heap_mine));
    assert_int_equal(maps->lock.word, 0);
    assert_int_equal(header->live_maps, 2);
    size_t page = cairn_pages_size();
    assert_int_equal(header->live_map_bytes, 5000 + (5000 + page - 1) / page * page);
    assert_int_not_equal(maps->chunks[0][0].stack, 0);
    /* It keeps what it was, at its new place; a second view does not end the first. */
    const struct cairn_heap_range moved = {.from = 0x10000, .to = 0x11388},
                                  again = {.from = 0x50000, .to = 0x50000};
    begin_map(&call);
    cairn_heap_map_moved(&call, &moved, 0x50000, 3 * page);
    cairn_heap_map_moved(&call, &again, 0x90000, page);
    cairn_heap_map_end(&call);
    assert_int_equal(cairn_heap_maps_kind(maps, 0x10000, CAIRN_HEAP_MAP_BREAK),
                     CAIRN_HEAP_MAP_BREAK);
    assert_int_equal(cairn_heap_maps_kind(maps, 0x50000, CAIRN_HEAP_MAP_BREAK),
                     CAIRN_HEAP_MAP_FILE);
    assert_int_equal(cairn_heap_maps_kind(maps, 0x90000, CAIRN_HEAP_MAP_BREAK),
                     CAIRN_HEAP_MAP_FILE);
    begin_map(&call);
    cairn_heap_map_gone(&call, 0x1000, UINTPTR_MAX - 0x1000);
    cairn_heap_map_end(&call);
    assert_int_equal(header->live_maps, 0);
    /* In a handler that interrupts a call of this thread, it can only be counted. */
    struct cairn_heap_own *own = cairn_heap_mine;
    own->idle = (uintptr_t)__builtin_frame_address(0) + FAR;
    begin_map(&call);
    cairn_heap_map_lock(&call);
    cairn_heap_map_made(&call, 0x10000, 5000, CAIRN_HEAP_MAP_FILE);
    cairn_heap_map_end(&call);
    assert_int_equal(header->loss_blocks[CAIRN_HEAP_LOSS_MAPPING], 1);
    assert_int_equal(header->live_maps, 0);
    own->idle = own->ready;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
    const struct CMUnitTest tests[] = {
        TEST(a_call_left_by_longjmp_costs_no_stacks),
        TEST(a_first_call_left_by_longjmp_is_made_again),
        TEST(a_handler_within_a_call_finds_it_under_way),
        TEST(a_handler_on_a_stack_of_its_own_is_within_the_call),
        TEST(a_signal_while_a_fork_copies_comes_behind_it),
        TEST(mappings_are_told_call_by_call),
    };
    return cmocka_run_group_tests(tests, make_temporary, remove_temporary);
}
