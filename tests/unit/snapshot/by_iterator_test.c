/* SPDX-License-Identifier: MIT */
/*
 * Stacks by the task iterator. Skipped, with cairn's own reason, where this machine or these rights
 * do not allow it; without them it is tested that the other ways take over.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/snapshot.h>

#include "support/apart.h"
#include "support/child.h"
#include "support/test.h"

enum { N_THREADS = 150, HUGE_FRAMES = 300, MANY_REGS = 16 };

static volatile int sink;
static int ready_fd;

APART void iterated_leaf(void);
APART int iterated_huge(int n);
APART void iterated_handler(int signal);

static void tell_ready(void)
{
    (void)!write(ready_fd, "", 1);
}

void iterated_leaf(void)
{
    tell_ready();
    while (sink >= 0)
        pause();
}

/* Some 1.2 MB of stack: more than is ever copied at once. */
int iterated_huge(int n)
{
    volatile char room[4000];
    room[0] = (char)n;
    if (n == 0)
        iterated_leaf();
    else
        sink += iterated_huge(n - 1);
    return room[0] + sink;
}

void iterated_handler(int signal)
{
    (void)signal;
    iterated_leaf();
}

static void be_huge(void)
{
    sink = iterated_huge(HUGE_FRAMES);
}

/* Sleeps in a handler that has a stack of its own. */
static void be_in_a_handler(void)
{
    static char other[64 << 10];
    const stack_t stack = {.ss_sp = other, .ss_size = sizeof other};
    struct sigaction action = {.sa_handler = iterated_handler, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
}

static void *sleep_in_thread(void *arg)
{
    iterated_leaf();
    return arg;
}

static void be_many(void)
{
    pthread_t thread;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, (size_t)64 << 10);
    for (unsigned i = 1; i < N_THREADS; i++)
        if (pthread_create(&thread, &attr, sleep_in_thread, NULL))
            _exit(1);
    iterated_leaf();
}

/* A child with so many threads, all of them asleep. */
static pid_t start(void (*fn)(void), unsigned n_threads)
{
    int fds[2];
    char byte;
    assert_int_equal(pipe(fds), 0);
    pid_t child = test_fork();
    if (child == 0) {
        ready_fd = fds[1];
        fn();
        _exit(0);
    }
    close(fds[1]);
    for (unsigned i = 0; i < n_threads; i++)
        assert_int_equal(read(fds[0], &byte, 1), 1);
    close(fds[0]);
    usleep(30000);
    return child;
}

static struct cairn_snapshot *look(pid_t child, enum cairn_snapshot_way way)
{
    const struct cairn_snapshot_opts opts = {.size = sizeof opts, .pid = child, .way = way};
    struct cairn_snapshot *snapshot;
    struct cairn_err err;
    int code = cairn_snapshot_new(&opts, &snapshot, &err);
    if (code == CAIRN_E_ACCESS || code == CAIRN_E_SUPPORT) {
        print_message("skipped: %s (%s)\n", err.msg, err.hint);
        test_kill(child);
        skip();
    }
    assert_ok(code, err);
    assert_ok(cairn_snapshot_take(snapshot, &err), err);
    return snapshot;
}

static struct cairn_snapshot_thread thread_of(const struct cairn_snapshot *snapshot, size_t index)
{
    struct cairn_snapshot_thread thread = {.size = sizeof thread};
    assert_int_equal(cairn_snapshot_thread(snapshot, index, &thread), CAIRN_OK);
    return thread;
}

static void every_thread_is_read_with_all_its_registers(void **state)
{
    (void)state;
    pid_t child = start(be_many, N_THREADS);
    struct cairn_snapshot *snapshot = look(child, CAIRN_SNAPSHOT_ITERATOR);
    assert_int_equal(cairn_snapshot_threads(snapshot), N_THREADS);
    for (size_t i = 0; i < N_THREADS; i++) {
        struct cairn_snapshot_thread thread = thread_of(snapshot, i);
        assert_int_equal(thread.way, CAIRN_SNAPSHOT_ITERATOR);
        assert_int_equal(thread.held_ns, 0);
        assert_int_equal(thread.end, CAIRN_END_OUTERMOST);
        assert_int_equal(thread.state, 'S');
        assert_true(thread.in_syscall);
        assert_true(__builtin_popcountll(thread.regs.known) >= MANY_REGS);
    }
    cairn_snapshot_free(snapshot);
    test_kill(child);
}

static void a_stack_deeper_than_any_copy_is_whole(void **state)
{
    (void)state;
    pid_t child = start(be_huge, 1);
    struct cairn_snapshot *snapshot = look(child, CAIRN_SNAPSHOT_ITERATOR);
    struct cairn_snapshot_thread thread = thread_of(snapshot, 0);
    assert_int_equal(thread.way, CAIRN_SNAPSHOT_ITERATOR);
    assert_int_equal(thread.end, CAIRN_END_OUTERMOST);
    assert_true(thread.n_frames - thread.n_kernel > HUGE_FRAMES);
    cairn_snapshot_free(snapshot);
    test_kill(child);
}

static void a_handler_with_its_own_stack_leads_back_to_the_other(void **state)
{
    (void)state;
    pid_t child = start(be_in_a_handler, 1);
    struct cairn_snapshot *snapshot = look(child, CAIRN_SNAPSHOT_ITERATOR);
    struct cairn_snapshot_thread thread = thread_of(snapshot, 0);
    struct cairn_snapshot_frame frame = {.size = sizeof frame};
    bool has_signal = false;
    for (size_t i = 0; cairn_snapshot_frame(snapshot, 0, i, &frame) == CAIRN_OK; i++)
        has_signal |= frame.signal != 0;
    assert_int_equal(thread.way, CAIRN_SNAPSHOT_ITERATOR);
    assert_int_equal(thread.end, CAIRN_END_OUTERMOST);
    assert_true(has_signal);
    cairn_snapshot_free(snapshot);
    test_kill(child);
}

static void it_comes_first_where_it_is_allowed(void **state)
{
    (void)state;
    pid_t child = start(be_many, N_THREADS);
    cairn_snapshot_free(look(child, CAIRN_SNAPSHOT_ITERATOR)); /* or skipped */
    struct cairn_snapshot *snapshot = look(child, CAIRN_SNAPSHOT_NONE);
    for (size_t i = 0; i < N_THREADS; i++)
        assert_int_equal(thread_of(snapshot, i).way, CAIRN_SNAPSHOT_ITERATOR);
    cairn_snapshot_free(snapshot);
    test_kill(child);
}

/* In a child, which gives up root before it looks at one of its own. */
static void without_the_right_the_next_way_is_taken(void **state)
{
    (void)state;
    pid_t watcher = fork();
    if (watcher == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(1);
        prctl(PR_SET_DUMPABLE, 1); /* which setuid(2) took away */
        pid_t child = start(be_many, N_THREADS);
        const struct cairn_snapshot_opts any = {.size = sizeof any, .pid = child, .no_stop = 1};
        struct cairn_snapshot_opts one = any;
        struct cairn_snapshot *snapshot = NULL;
        struct cairn_err err;
        one.way = CAIRN_SNAPSHOT_ITERATOR;
        int code = cairn_snapshot_new(&one, &snapshot, &err);
        bool refused = (code == CAIRN_E_ACCESS || code == CAIRN_E_SUPPORT) && !snapshot;
        if (cairn_snapshot_new(&any, &snapshot, &err) < 0) {
            kill(child, SIGKILL);
            _exit(err.code == CAIRN_E_ACCESS ? 77 : 2);
        }
        bool all = cairn_snapshot_take(snapshot, &err) == CAIRN_OK;
        for (size_t i = 0; all && i < N_THREADS; i++)
            all = thread_of(snapshot, i).way == CAIRN_SNAPSHOT_MEMORY;
        cairn_snapshot_free(snapshot);
        test_kill(child);
        _exit(refused && all ? 0 : 3);
    }
    int status;
    waitpid(watcher, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        print_message("skipped: an ordinary user may not look into its own children here\n");
        skip();
    }
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_thread_is_read_with_all_its_registers),
        cmocka_unit_test(a_stack_deeper_than_any_copy_is_whole),
        cmocka_unit_test(a_handler_with_its_own_stack_leads_back_to_the_other),
        cmocka_unit_test(it_comes_first_where_it_is_allowed),
        cmocka_unit_test(without_the_right_the_next_way_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
