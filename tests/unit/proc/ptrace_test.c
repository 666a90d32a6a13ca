/* SPDX-License-Identifier: MIT */
/* Real children are traced. Each is told what to do by a function and dies with this program. */
#include "proc/ptrace.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "proc/process.h"
#include "support/apart.h"
#include "support/child.h"
#include "support/test.h"

enum { TIMEOUT_MS = 5000, PATIENCE_MS = 10000 };

/* Shared with the children. */
static struct {
    atomic_int ready, signals, threads, leave;
    atomic_uint_fast64_t turns;
} * shared;

static int share(void **state)
{
    (void)state;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED;
}

static int clear(void **state)
{
    (void)state;
    memset((void *)shared, 0, sizeof *shared);
    return 0;
}

static pid_t start(void (*fn)(void))
{
    pid_t child = test_fork();
    if (child == 0) {
        fn();
        _exit(0);
    }
    for (int i = 0; !atomic_load(&shared->ready) && i < PATIENCE_MS; i++)
        usleep(1000);
    assert_true(atomic_load(&shared->ready));
    return child;
}

static struct cairn_tracer *trace(pid_t child, unsigned flags)
{
    struct cairn_tracer *tracer = NULL;
    struct cairn_err err;
    int code = cairn_tracer_new(child, flags, &tracer, &err);
    if (code == CAIRN_E_ACCESS || (code == CAIRN_E_IO && err.os_errno == ENOSYS)) {
        print_message("skipped: ptrace is forbidden here: %s (%s)\n", err.msg, err.hint);
        test_kill(child);
        skip();
    }
    if (code < 0)
        fail_msg("%s", err.msg);
    return tracer;
}

/* Serves until `done` says so; false after PATIENCE_MS. */
static bool serve_until(struct cairn_tracer *tracer, bool (*done)(struct cairn_tracer *))
{
    for (int i = 0; i < PATIENCE_MS; i++) {
        cairn_tracer_serve(tracer);
        if (done(tracer))
            return true;
        usleep(1000);
    }
    return false;
}

static bool all_ended(struct cairn_tracer *tracer)
{
    return !cairn_tracer_serve(tracer);
}

APART static void spin(void)
{
    atomic_store(&shared->ready, 1);
    while (!atomic_load_explicit(&shared->leave, memory_order_relaxed))
        atomic_fetch_add_explicit(&shared->turns, 1, memory_order_relaxed);
}

static void a_running_thread_is_stopped_where_it_runs(void **state)
{
    (void)state;
    pid_t child = start(spin);
    struct cairn_tracer *tracer = trace(child, 0);
    struct cairn_err err;
    struct cairn_regs regs;
    assert_fails(cairn_tracer_regs(tracer, child, &regs, &err), CAIRN_E_ARG, err, "not stopped");
    for (int i = 0; i < 50; i++) {
        assert_ok(cairn_tracer_stop(tracer, child, TIMEOUT_MS, &err), err);
        assert_ok(cairn_tracer_stop(tracer, child, TIMEOUT_MS, &err), err); /* twice is fine */
        uint64_t turns = atomic_load(&shared->turns);
        assert_ok(cairn_tracer_regs(tracer, child, &regs, &err), err);
        uint64_t entry = (uint64_t)(uintptr_t)spin; /* the same in parent and child */
        assert_true(regs.ip >= entry && regs.ip < entry + 4096);
        assert_true(regs.sp != 0);
        assert_int_equal(regs.width, sizeof(void *));
        cairn_tracer_serve(tracer); /* must not let it go on */
        assert_true(turns == atomic_load(&shared->turns));
        assert_ok(cairn_tracer_resume(tracer, child, &err), err);
        for (int wait = 0; turns == atomic_load(&shared->turns) && wait < PATIENCE_MS; wait++)
            usleep(100);
        assert_true(turns != atomic_load(&shared->turns));
    }
    assert_fails(cairn_tracer_resume(tracer, child, &err), CAIRN_E_ARG, err, "not stopped");
    cairn_tracer_free(tracer);
    atomic_store(&shared->leave, 1); /* it lives on without us */
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void count_signal(int number)
{
    (void)number;
    atomic_fetch_add(&shared->signals, 1);
}

static void spin_and_count_signals(void)
{
    signal(SIGUSR1, count_signal);
    spin();
}

static void every_signal_reaches_the_program_once(void **state)
{
    (void)state;
    enum { N = 40 };
    pid_t child = start(spin_and_count_signals);
    struct cairn_tracer *tracer = trace(child, 0);
    struct cairn_err err;
    for (int i = 0; i < N; i++) {
        int before = atomic_load(&shared->signals);
        if (i % 2) { /* one waits while we stop it, one comes while it runs */
            kill(child, SIGUSR1);
            assert_ok(cairn_tracer_stop(tracer, child, TIMEOUT_MS, &err), err);
        } else {
            assert_ok(cairn_tracer_stop(tracer, child, TIMEOUT_MS, &err), err);
            kill(child, SIGUSR1);
        }
        assert_ok(cairn_tracer_resume(tracer, child, &err), err);
        for (int wait = 0; atomic_load(&shared->signals) == before && wait < PATIENCE_MS; wait++) {
            cairn_tracer_serve(tracer);
            usleep(100);
        }
        assert_int_equal(atomic_load(&shared->signals), before + 1);
    }
    atomic_store(&shared->leave, 1);
    assert_true(serve_until(tracer, all_ended));
    assert_int_equal(atomic_load(&shared->signals), N);
    assert_int_equal(cairn_tracer_exit_status(tracer), 0);
    cairn_tracer_free(tracer);
}

static bool is_held(struct cairn_tracer *tracer)
{
    const struct cairn_tracee *tracees;
    return cairn_tracer_threads(tracer, &tracees) == 1 && tracees->held;
}

static bool is_not_held(struct cairn_tracer *tracer)
{
    return !is_held(tracer);
}

static void sigstop_holds_until_sigcont(void **state)
{
    (void)state;
    pid_t child = start(spin);
    struct cairn_tracer *tracer = trace(child, 0);
    struct cairn_err err;
    struct cairn_regs regs;
    kill(child, SIGSTOP);
    assert_true(serve_until(tracer, is_held));
    uint64_t turns = atomic_load(&shared->turns);
    assert_ok(cairn_tracer_stop(tracer, child, TIMEOUT_MS, &err), err);
    assert_ok(cairn_tracer_regs(tracer, child, &regs, &err), err);
    assert_ok(cairn_tracer_resume(tracer, child, &err), err);
    usleep(20000);
    cairn_tracer_serve(tracer);
    assert_true(turns == atomic_load(&shared->turns)); /* resume keeps a group stop */
    kill(child, SIGCONT);
    assert_true(serve_until(tracer, is_not_held));
    for (int wait = 0; turns == atomic_load(&shared->turns) && wait < PATIENCE_MS; wait++) {
        cairn_tracer_serve(tracer);
        usleep(1000);
    }
    assert_true(turns != atomic_load(&shared->turns));
    cairn_tracer_free(tracer);
    test_kill(child);
}

static void a_program_held_by_sigstop_stays_so_when_we_leave(void **state)
{
    (void)state;
    pid_t child = start(spin);
    struct cairn_tracer *tracer = trace(child, 0);
    kill(child, SIGSTOP);
    assert_true(serve_until(tracer, is_held));
    cairn_tracer_free(tracer);
    struct cairn_process_status status = {0};
    for (int wait = 0; status.state != 'T' && wait < PATIENCE_MS; wait++) {
        assert_int_equal(cairn_process_status(child, &status, NULL), CAIRN_OK);
        usleep(100);
    }
    assert_int_equal(status.state, 'T');
    assert_int_equal(status.tracer_pid, 0);
    test_kill(child);
}

static void *count_thread(void *unused)
{
    atomic_fetch_add(&shared->threads, 1);
    while (!atomic_load(&shared->leave))
        usleep(1000);
    return unused;
}

enum { THREADS = 8 };

static void start_threads_and_wait(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS / 2; i++)
        pthread_create(&threads[i], NULL, count_thread, NULL);
    while (atomic_load(&shared->threads) < THREADS / 2)
        usleep(100);
    atomic_store(&shared->ready, 1);
    while (atomic_load(&shared->ready) < 2)
        usleep(100);
    for (int i = THREADS / 2; i < THREADS; i++)
        pthread_create(&threads[i], NULL, count_thread, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static bool all_threads_run(struct cairn_tracer *tracer)
{
    const struct cairn_tracee *tracees;
    return atomic_load(&shared->threads) == THREADS &&
           cairn_tracer_threads(tracer, &tracees) >= THREADS + 1;
}

static void old_and_new_threads_are_traced(void **state)
{
    (void)state;
    pid_t child = start(start_threads_and_wait);
    struct cairn_tracer *tracer = trace(child, 0);
    const struct cairn_tracee *tracees;
    assert_true(cairn_tracer_threads(tracer, &tracees) >= THREADS / 2 + 1);
    atomic_store(&shared->ready, 2);
    assert_true(serve_until(tracer, all_threads_run));
    struct cairn_err err;
    struct cairn_regs regs;
    size_t n = cairn_tracer_threads(tracer, &tracees);
    int tids[64];
    assert_in_range(n, THREADS + 1, 64);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(tracees[i].pid, child);
        tids[i] = tracees[i].tid;
    }
    for (size_t i = 0; i < n; i++) {
        assert_ok(cairn_tracer_stop(tracer, tids[i], TIMEOUT_MS, &err), err);
        assert_ok(cairn_tracer_regs(tracer, tids[i], &regs, &err), err);
    }
    for (size_t i = 0; i < n; i++)
        assert_ok(cairn_tracer_resume(tracer, tids[i], &err), err);
    atomic_store(&shared->leave, 1);
    assert_true(serve_until(tracer, all_ended));
    assert_int_equal(cairn_tracer_exit_status(tracer), 0);
    assert_fails(cairn_tracer_stop(tracer, tids[1], TIMEOUT_MS, &err), CAIRN_E_MISSING, err,
                 "No such process");
    cairn_tracer_free(tracer);
}

static void fork_a_child_that_spins(void)
{
    atomic_store(&shared->ready, 1);
    while (atomic_load(&shared->ready) < 2)
        usleep(100);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        atomic_store(&shared->threads, getpid());
        spin();
        _exit(3);
    }
    int status;
    waitpid(child, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
}

static bool has_a_child(struct cairn_tracer *tracer)
{
    const struct cairn_tracee *tracees;
    size_t n = cairn_tracer_threads(tracer, &tracees);
    for (size_t i = 0; i < n; i++)
        if (atomic_load(&shared->threads) && tracees[i].pid == atomic_load(&shared->threads))
            return true;
    return false;
}

static void children_are_traced_on_demand(void **state)
{
    (void)state;
    pid_t child = start(fork_a_child_that_spins);
    struct cairn_tracer *tracer = trace(child, CAIRN_TRACER_CHILDREN);
    atomic_store(&shared->ready, 2);
    assert_true(serve_until(tracer, has_a_child));
    int grandchild = atomic_load(&shared->threads);
    struct cairn_err err;
    struct cairn_regs regs;
    assert_ok(cairn_tracer_stop(tracer, grandchild, TIMEOUT_MS, &err), err);
    assert_ok(cairn_tracer_regs(tracer, grandchild, &regs, &err), err);
    assert_ok(cairn_tracer_resume(tracer, grandchild, &err), err);
    atomic_store(&shared->leave, 1);
    assert_true(serve_until(tracer, all_ended));
    int status = cairn_tracer_exit_status(tracer);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3); /* its parent could wait for it */
    cairn_tracer_free(tracer);
}

static void children_are_left_alone_otherwise(void **state)
{
    (void)state;
    pid_t child = start(fork_a_child_that_spins);
    struct cairn_tracer *tracer = trace(child, 0);
    atomic_store(&shared->ready, 2);
    for (int i = 0; i < 100 || !atomic_load(&shared->turns); i++) {
        assert_in_range(i, 0, PATIENCE_MS);
        cairn_tracer_serve(tracer);
        usleep(1000);
    }
    const struct cairn_tracee *tracees;
    assert_int_equal(cairn_tracer_threads(tracer, &tracees), 1);
    atomic_store(&shared->leave, 1);
    assert_true(serve_until(tracer, all_ended));
    cairn_tracer_free(tracer);
}

static void *run_another_program(void *unused)
{
    usleep(20000);
    execl("/bin/sh", "sh", "-c", "exit 7", NULL);
    return unused;
}

/* execve() by a thread that is not the first: it takes over the pid, all others vanish. */
static void exec_from_a_thread(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, count_thread, NULL);
    atomic_store(&shared->ready, 1);
    while (atomic_load(&shared->ready) < 2)
        usleep(100);
    pthread_create(&threads[1], NULL, run_another_program, NULL);
    pthread_join(threads[1], NULL);
}

struct execs {
    int n, pid;
    char state; /* of the process, as /proc says */
};

static void note_exec(void *ctx, int pid)
{
    struct execs *execs = ctx;
    struct cairn_process_status status;
    execs->n++;
    execs->pid = pid;
    if (cairn_process_status(pid, &status, NULL) == CAIRN_OK)
        execs->state = status.state;
}

static void a_new_program_keeps_being_traced(void **state)
{
    (void)state;
    struct execs execs = {0};
    pid_t child = start(exec_from_a_thread);
    struct cairn_tracer *tracer = trace(child, 0);
    cairn_tracer_on_exec(tracer, note_exec, &execs);
    atomic_store(&shared->ready, 2);
    assert_true(serve_until(tracer, all_ended));
    int status = cairn_tracer_exit_status(tracer);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    assert_int_equal(execs.n, 1);
    assert_int_equal(execs.pid, child);
    assert_int_equal(execs.state, 't');
    cairn_tracer_free(tracer);
}

static void a_kill_is_seen_even_while_it_is_stopped(void **state)
{
    (void)state;
    pid_t child = start(spin);
    struct cairn_tracer *tracer = trace(child, 0);
    struct cairn_err err;
    assert_int_equal(cairn_tracer_exit_status(tracer), -1);
    assert_ok(cairn_tracer_stop(tracer, child, TIMEOUT_MS, &err), err);
    kill(child, SIGKILL);
    usleep(10000);
    cairn_tracer_resume(tracer, child, &err); /* may be too late */
    assert_true(serve_until(tracer, all_ended));
    int status = cairn_tracer_exit_status(tracer);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    cairn_tracer_free(tracer);
}

static void raise_without_end(void)
{
    signal(SIGUSR1, count_signal);
    atomic_store(&shared->ready, 1);
    for (;;)
        raise(SIGUSR1);
}

static void a_storm_of_signals_does_not_keep_us(void **state)
{
    (void)state;
    pid_t child = start(raise_without_end);
    struct cairn_tracer *tracer = trace(child, 0);
    int before = atomic_load(&shared->signals);
    for (int i = 0; atomic_load(&shared->signals) < before + 100; i++) {
        assert_in_range(i, 0, PATIENCE_MS);
        assert_true(cairn_tracer_serve(tracer));
        usleep(1000);
    }
    cairn_tracer_free(tracer);
    test_kill(child);
}

static void nap(void)
{
    atomic_store(&shared->ready, 1);
    for (;;)
        pause();
}

static void what_another_tracer_holds_is_refused_with_its_pid(void **state)
{
    (void)state;
    pid_t child = start(nap);
    cairn_tracer_free(trace(child, 0)); /* skips where ptrace is forbidden */
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t rival = fork();
    if (rival == 0) {
        long seized = ptrace(PTRACE_SEIZE, child, NULL, NULL);
        if (write(ends[1], &seized, sizeof seized) < 0)
            _exit(1);
        for (;;)
            pause();
    }
    long seized = -1;
    assert_int_equal(read(ends[0], &seized, sizeof seized), sizeof seized);
    struct cairn_tracer *tracer = NULL;
    struct cairn_err err = {0};
    int code = cairn_tracer_new(child, 0, &tracer, &err);
    test_kill(rival);
    test_kill(child);
    close(ends[0]);
    close(ends[1]);
    if (seized < 0) {
        print_message("skipped: a sibling may not be traced here\n");
        skip();
    }
    char expected[64];
    snprintf(expected, sizeof expected, "pid %d traces it already", rival);
    assert_int_equal(code, CAIRN_E_ACCESS);
    assert_contains(err.hint, expected);
    assert_null(tracer);
}

static void what_is_not_there_is_missing(void **state)
{
    (void)state;
    struct cairn_tracer *tracer = NULL;
    struct cairn_err err;
    assert_fails(cairn_tracer_new(0x3fffffff, 0, &tracer, &err), CAIRN_E_MISSING, err,
                 "pid 1073741823: No such process");
    assert_null(tracer);
    cairn_tracer_free(NULL);
}

static void lack_of_memory_leaves_the_program_alone(void **state)
{
    (void)state;
    pid_t child = start(spin);
    struct cairn_err err;
    int code = CAIRN_E_NOMEM;
    for (long n = 0; code == CAIRN_E_NOMEM && n < 50; n++) {
        struct cairn_tracer *tracer = NULL;
        cairn_alloc_fail_after(n);
        code = cairn_tracer_new(child, 0, &tracer, &err);
        cairn_alloc_fail_after(-1);
        cairn_tracer_free(tracer);
    }
    assert_true(code == CAIRN_OK || code == CAIRN_E_ACCESS);
    atomic_store(&shared->leave, 1);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

#define FRESH(test) cmocka_unit_test_setup(test, clear)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FRESH(a_running_thread_is_stopped_where_it_runs),
        FRESH(every_signal_reaches_the_program_once),
        FRESH(sigstop_holds_until_sigcont),
        FRESH(a_program_held_by_sigstop_stays_so_when_we_leave),
        FRESH(old_and_new_threads_are_traced),
        FRESH(children_are_traced_on_demand),
        FRESH(children_are_left_alone_otherwise),
        FRESH(a_new_program_keeps_being_traced),
        FRESH(a_kill_is_seen_even_while_it_is_stopped),
        FRESH(a_storm_of_signals_does_not_keep_us),
        FRESH(what_another_tracer_holds_is_refused_with_its_pid),
        FRESH(what_is_not_there_is_missing),
        FRESH(lack_of_memory_leaves_the_program_alone),
    };
    return cmocka_run_group_tests(tests, share, NULL);
}
