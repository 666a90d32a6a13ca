/* SPDX-License-Identifier: MIT */
/* Other threads of this process by signal: parked, running, deaf, gone, many at once. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cairn/unwind.h>

#include "support/apart.h"
#include "support/test.h"
#include "unwind/thread_signal.h"

enum { SECOND_NS = 1000000000, DEPTH = 8, MANY = 12 };

struct parked {
    pthread_t thread;
    atomic_int tid;
    atomic_bool stop, deaf;
    int ends[2]; /* the thread reads until the other end is closed */
};

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * SECOND_NS + now.tv_nsec;
}

APART static int park_deep(struct parked *p, int depth)
{
    char byte;
    volatile int kept = depth;
    if (depth > 0)
        return park_deep(p, depth - 1) + kept;
    atomic_store(&p->tid, (int)syscall(SYS_gettid));
    while (read(p->ends[0], &byte, 1) < 0 && errno == EINTR)
        ;
    return kept;
}

static void *park(void *arg)
{
    struct parked *p = arg;
    if (p->deaf) {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, NULL);
    }
    park_deep(p, DEPTH);
    return NULL;
}

static void start(struct parked *p, void *(*run)(void *), bool deaf)
{
    *p = (struct parked){.deaf = deaf};
    assert_int_equal(pipe(p->ends), 0);
    assert_int_equal(pthread_create(&p->thread, NULL, run, p), 0);
    while (!atomic_load(&p->tid))
        sched_yield();
}

static void finish(struct parked *p)
{
    atomic_store(&p->stop, true);
    close(p->ends[1]);
    pthread_join(p->thread, NULL);
    close(p->ends[0]);
}

/* Of `n` addresses, those that return into park_deep(), all of which return to one or two places.
 */
static unsigned in_park_deep(const uintptr_t *ips, size_t n)
{
    unsigned most = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned same = 0;
        for (size_t k = 0; k < n; k++)
            same += ips[k] == ips[i];
        most = same > most ? same : most;
    }
    return most;
}

static void a_parked_thread_is_walked_to_its_start(void **state)
{
    (void)state;
    struct parked p;
    uint8_t how[64];
    uintptr_t ips[64], again[64];
    struct cairn_unwind_info info = {.size = sizeof info, .how = how};
    start(&p, park, false);
    usleep(50 * 1000); /* until it reads */
    errno = ENOENT;
    size_t n = cairn_unwind_thread(p.tid, SECOND_NS, ips, 64, &info);
    assert_int_equal(errno, ENOENT);
    assert_true(n >= DEPTH + 2);
    assert_int_equal(info.end, CAIRN_END_OUTERMOST);
    assert_int_equal(how[0], CAIRN_HOW_START);
    assert_int_equal(in_park_deep(ips, n), DEPTH);
    unsigned same = 0;
    for (int i = 0; i < 100;
         i++) { /* it goes back to where it was, if it is not on its way there */
        size_t again_n = cairn_unwind_thread(p.tid, SECOND_NS, again, 64, NULL);
        same += again_n == n && memcmp(again + 1, ips + 1, (n - 1) * sizeof *ips) == 0;
    }
    assert_in_range(same, sizeof(void *) == 4 ? 80 : 100, 100); /* arm has tables for calls alone */
    assert_int_equal(cairn_unwind_thread(p.tid, SECOND_NS, again, 3, &info), 3);
    assert_memory_equal(again, ips, 3 * sizeof *ips);
    assert_int_equal(info.end, CAIRN_END_MAX_FRAMES);
    finish(&p);
}

static void a_thread_that_blocks_the_signal_costs_the_timeout(void **state)
{
    (void)state;
    struct parked p;
    uintptr_t ips[64];
    struct cairn_unwind_info info = {.size = sizeof info};
    start(&p, park, true);
    int64_t before = now_ns();
    for (int i = 0; i < 40; i++) { /* more often than there are places for requests */
        assert_int_equal(cairn_unwind_thread(p.tid, 10 * 1000 * 1000, ips, 64, &info), 0);
        assert_int_equal(info.end, CAIRN_END_TIMEOUT);
    }
    int64_t took = now_ns() - before;
    assert_true(took >= 40 * 10 * 1000 * 1000);
    assert_true(took < 30LL * SECOND_NS);
    assert_int_equal(cairn_unwind_thread(p.tid, 0, ips, 64, &info), 0);
    finish(&p);
}

static void a_thread_that_is_gone_is_told_at_once(void **state)
{
    (void)state;
    struct parked p;
    uintptr_t ips[64];
    struct cairn_unwind_info info = {.size = sizeof info};
    start(&p, park, false);
    finish(&p);
    for (int i = 0; i < 1000 && kill(p.tid, 0) == 0; i++) /* the kernel may take its time */
        usleep(1000);
    int64_t before = now_ns();
    assert_int_equal(cairn_unwind_thread(p.tid, 20LL * SECOND_NS, ips, 64, &info), 0);
    assert_int_equal(info.end, CAIRN_END_NO_THREAD);
    assert_int_equal(cairn_unwind_thread(0, SECOND_NS, ips, 64, &info), 0);
    assert_int_equal(info.end, CAIRN_END_NO_THREAD);
    assert_int_equal(cairn_unwind_thread(-1, SECOND_NS, ips, 64, &info), 0);
    assert_int_equal(info.end, CAIRN_END_NO_THREAD);
    assert_true(now_ns() - before < 10LL * SECOND_NS);
}

static void *end_soon(void *arg)
{
    struct parked *p = arg;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    atomic_store(&p->tid, (int)syscall(SYS_gettid));
    usleep(30 * 1000);
    return NULL;
}

static void a_thread_that_ends_meanwhile_is_not_waited_for(void **state)
{
    (void)state;
    struct parked p;
    uintptr_t ips[64];
    struct cairn_unwind_info info = {.size = sizeof info};
    start(&p, end_soon, false);
    int64_t before = now_ns();
    assert_int_equal(cairn_unwind_thread(p.tid, 30LL * SECOND_NS, ips, 64, &info), 0);
    assert_int_equal(info.end, CAIRN_END_NO_THREAD);
    assert_true(now_ns() - before < 20LL * SECOND_NS);
    finish(&p);
}

/* Threads that come and go, capture and are captured, by each other. */
static void *capture_all(void *arg)
{
    struct parked *all = arg;
    uintptr_t ips[128];
    unsigned answers = 0;
    for (int round = 0; round < 30; round++)
        for (int i = 0; i < MANY; i++)
            answers += cairn_unwind_thread(all[i].tid, 5LL * SECOND_NS, ips, 128, NULL) > DEPTH;
    return (void *)(uintptr_t)answers;
}

static void many_ask_at_once(void **state)
{
    (void)state;
    static struct parked parked[MANY];
    pthread_t askers[4];
    for (int i = 0; i < MANY; i++)
        start(&parked[i], park, false);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&askers[i], NULL, capture_all, parked), 0);
    for (int i = 0; i < 4; i++) {
        void *answers;
        pthread_join(askers[i], &answers);
        assert_int_equal((uintptr_t)answers, 30 * MANY);
    }
    for (int i = 0; i < MANY; i++)
        finish(&parked[i]);
}

static void *spin(void *arg)
{
    struct parked *p = arg;
    uintptr_t ips[32];
    atomic_store(&p->tid, (int)syscall(SYS_gettid));
    while (!atomic_load(&p->stop))
        cairn_unwind_here(ips, 32, NULL); /* often interrupted within a capture */
    return NULL;
}

static void a_running_thread_is_walked_wherever_it_is(void **state)
{
    (void)state;
    struct parked p;
    uintptr_t ips[64];
    unsigned n = 0;
    start(&p, spin, false);
    for (int i = 0; i < 300; i++)
        n += cairn_unwind_thread(p.tid, 5LL * SECOND_NS, ips, 64, NULL) > 0;
    assert_int_equal(n, 300);
    assert_true(cairn_unwind_thread((int)syscall(SYS_gettid), SECOND_NS, ips, 64, NULL) > 0);
    finish(&p);
}

static void a_child_of_fork_may_ask_too(void **state)
{
    (void)state;
    uintptr_t ips[64];
    struct parked p;
    start(&p, park, true);
    assert_int_equal(cairn_unwind_thread(p.tid, 1000, ips, 64, NULL), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(cairn_unwind_thread((int)syscall(SYS_gettid), SECOND_NS, ips, 64, NULL) > 0 ? 0 : 1);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    finish(&p);
}

/* Of a child, in which the signals are as they were at the beginning: it is 0. */
static void assert_in_child(int (*run)(void))
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(run());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static int ask_myself(void)
{
    uintptr_t ips[64];
    struct cairn_unwind_info info = {.size = sizeof info};
    size_t n = cairn_unwind_thread((int)syscall(SYS_gettid), SECOND_NS, ips, 64, &info);
    return n > 0 ? 0 : 1 + info.end;
}

static volatile sig_atomic_t n_others;

static void other_handler(int number)
{
    (void)number;
    n_others++;
}

static bool has_other_handler(int number)
{
    struct sigaction there;
    return sigaction(number, NULL, &there) == 0 && there.sa_handler == other_handler;
}

static int with_a_handler_before(void)
{
    signal(SIGURG, other_handler);
    if (ask_myself() != 0 || !has_other_handler(SIGURG) || n_others != 0)
        return 1;
    raise(SIGURG);
    return n_others == 1 ? 0 : 3;
}

static int with_a_handler_behind(void)
{
    if (ask_myself() != 0)
        return 1;
    signal(SIGURG, other_handler);
    if (ask_myself() != 0 || !has_other_handler(SIGURG) || n_others != 0)
        return 2;
    raise(SIGURG);
    return n_others == 1 ? 0 : 3;
}

static int with_all_signals_taken(void)
{
    signal(SIGURG, other_handler);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        signal(number, other_handler);
    uintptr_t ips[64];
    struct cairn_unwind_info info = {.size = sizeof info};
    size_t n = cairn_unwind_thread((int)syscall(SYS_gettid), 1000 * 1000, ips, 64, &info);
    return n != 0 ? 10 : info.end != CAIRN_END_BUSY ? 20 + info.end : n_others;
}

static void handlers_of_the_program_stay_and_are_called_for_their_own(void **state)
{
    (void)state;
    assert_in_child(with_a_handler_before);
    assert_in_child(with_a_handler_behind);
    assert_in_child(with_all_signals_taken);
}

static void *open_ears(void *arg)
{
    struct parked *p = arg;
    sigset_t all;
    char byte;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    atomic_store(&p->tid, (int)syscall(SYS_gettid));
    while (read(p->ends[0], &byte, 1) < 0 && errno == EINTR)
        ;
    pthread_sigmask(SIG_UNBLOCK, &all, NULL);
    return NULL;
}

/* Ours is pending there when the program's comes. */
static int with_ours_pending(void)
{
    struct parked p;
    uintptr_t ips[64];
    signal(SIGURG, other_handler);
    start(&p, open_ears, false);
    for (int i = 0; i < 20; i++)
        if (cairn_unwind_thread(p.tid, 100 * 1000, ips, 64, NULL) != 0)
            return 1;
    pthread_kill(p.thread, SIGURG);
    finish(&p);
    return n_others == 1 ? 0 : 3;
}

static void a_signal_of_the_program_is_not_lost_behind_ours(void **state)
{
    (void)state;
    assert_in_child(with_ours_pending);
}

/* Of a real-time signal each that is sent is queued: none is sent where one is left. */
static void a_signal_that_is_left_is_told(void **state)
{
    (void)state;
    const int number = SIGRTMIN + 5, tid = (int)syscall(SYS_gettid);
    static char room[4096];
    const struct timespec no_time = {0, 0};
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, number);
    pthread_sigmask(SIG_BLOCK, &one, NULL);
    cairn_thread_signal_leave(number, tid);
    assert_false(cairn_thread_signal_is_left(number, tid, room, sizeof room)); /* it was taken */
    pthread_kill(pthread_self(), number);
    assert_false(cairn_thread_signal_is_left(number, tid, room, sizeof room)); /* it is not ours */
    cairn_thread_signal_leave(number, tid);
    bool is_left = cairn_thread_signal_is_left(number, tid, room, sizeof room);
#ifdef __x86_64__
    assert_true(is_left);
#endif
    if (!is_left)
        print_message("skipped: qemu-user keeps its guest's signals to itself\n");
    assert_false(cairn_thread_signal_is_left(number + 1, tid, room, sizeof room));
    assert_int_equal(sigtimedwait(&one, NULL, &no_time), number);
    cairn_thread_signal_leave(number, tid);
    assert_false(cairn_thread_signal_is_left(number, tid, room, sizeof room));
    cairn_thread_signal_leave(number, 1 << 22); /* no such thread */
    assert_false(cairn_thread_signal_is_left(number, 1 << 22, room, sizeof room));
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handlers_of_the_program_stay_and_are_called_for_their_own),
        cmocka_unit_test(a_signal_of_the_program_is_not_lost_behind_ours),
        cmocka_unit_test(a_signal_that_is_left_is_told),
        cmocka_unit_test(a_parked_thread_is_walked_to_its_start),
        cmocka_unit_test(a_thread_that_blocks_the_signal_costs_the_timeout),
        cmocka_unit_test(a_thread_that_is_gone_is_told_at_once),
        cmocka_unit_test(a_thread_that_ends_meanwhile_is_not_waited_for),
        cmocka_unit_test(many_ask_at_once),
        cmocka_unit_test(a_running_thread_is_walked_wherever_it_is),
        cmocka_unit_test(a_child_of_fork_may_ask_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
