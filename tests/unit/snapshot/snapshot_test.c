/* SPDX-License-Identifier: MIT */
/* Children that stand, run, or have ended, and what is seen of them. */
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/snapshot.h>

#include "base/alloc.h"
#include "support/apart.h"
#include "support/child.h"
#include "support/test.h"

enum { PATIENCE_MS = 5000, DEEP = 30, HUGE_FRAMES = 200, SAMPLED_FRAMES = 11 };

static volatile int sink;
static volatile int *spins; /* shared with the child, which has come to where it stays */

APART void snap_deepest(void);
APART int snap_deep(int n);
APART int snap_huge(int n);

void snap_deepest(void)
{
    while (sink >= 0)
        pause();
}

int snap_deep(int n)
{
    if (n == 0)
        snap_deepest();
    else
        sink += snap_deep(n - 1);
    return sink + n;
}

/* Some 800 kB of stack. */
int snap_huge(int n)
{
    volatile char room[4000];
    room[0] = (char)n;
    if (n == 0)
        snap_deepest();
    else
        sink += snap_huge(n - 1);
    return room[0] + sink;
}

static void be_deep(void)
{
    sink = snap_deep(DEEP);
}

static void be_huge(void)
{
    sink = snap_huge(HUGE_FRAMES);
}

static void spin(void)
{
    for (*spins = 1; *spins;)
        sink++;
}

/* Some 45 kB of stack: more than is copied at first, less than a sample may have. */
APART int snap_spin(int n);

int snap_spin(int n)
{
    volatile char room[4000];
    room[0] = (char)n;
    if (n == 0)
        spin();
    else
        sink += snap_spin(n - 1);
    return room[0] + sink;
}

static void spin_huge(void)
{
    sink = snap_spin(SAMPLED_FRAMES);
}

static void end(void)
{
}

static pid_t start(void (*fn)(void), char state)
{
    char path[64], text[512] = "", wanted[] = ") S ";
    wanted[2] = state;
    spins = mmap(NULL, sizeof *spins, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true((void *)spins != MAP_FAILED);
    pid_t child = test_fork();
    if (child == 0) {
        fn();
        _exit(0);
    }
    snprintf(path, sizeof path, "/proc/%d/stat", (int)child);
    for (int i = 0; i < PATIENCE_MS && !(strstr(text, wanted) && (state != 'R' || *spins)); i++) {
        FILE *f = fopen(path, "re");
        assert_non_null(f);
        assert_non_null(fgets(text, sizeof text, f));
        fclose(f);
        usleep(1000);
    }
    assert_contains(text, wanted);
    assert_true(state != 'R' || *spins);
    munmap((void *)spins, sizeof *spins);
    return child;
}

/* One look at a child with one thread; skipped where this machine forbids it. */
static struct cairn_snapshot *look(const struct cairn_snapshot_opts *opts,
                                   struct cairn_snapshot_thread *ret_thread)
{
    struct cairn_snapshot *snapshot;
    struct cairn_err err;
    int code = cairn_snapshot_new(opts, &snapshot, &err);
    if (code == CAIRN_E_ACCESS) {
        print_message("skipped: %s\n", err.msg);
        test_kill(opts->pid);
        skip();
    }
    assert_ok(code, err);
    assert_ok(cairn_snapshot_take(snapshot, &err), err);
    assert_int_equal(cairn_snapshot_threads(snapshot), 1);
    ret_thread->size = sizeof *ret_thread;
    assert_int_equal(cairn_snapshot_thread(snapshot, 0, ret_thread), CAIRN_OK);
    assert_int_equal(ret_thread->tid, opts->pid);
    return snapshot;
}

static void a_thread_that_sleeps_is_read_without_a_stop(void **state)
{
    (void)state;
    struct cairn_snapshot_thread thread;
    struct cairn_snapshot_opts opts = {.size = sizeof opts, .pid = start(be_deep, 'S')};
    opts.no_stop = 1;
    opts.way = CAIRN_SNAPSHOT_MEMORY;
    struct cairn_snapshot *snapshot = look(&opts, &thread);
    assert_int_equal(thread.way, CAIRN_SNAPSHOT_MEMORY);
    assert_int_equal(thread.held_ns, 0);
    assert_int_equal(thread.state, 'S');
    assert_true(thread.in_syscall);
    assert_true(thread.n_frames - thread.n_kernel > 0);
    cairn_snapshot_free(snapshot);
    test_kill(opts.pid);
}

static void a_thread_is_held_for_a_moment(void **state)
{
    (void)state;
    struct cairn_snapshot_thread thread;
    struct cairn_snapshot_opts opts = {.size = sizeof opts, .pid = start(be_deep, 'S')};
    opts.way = CAIRN_SNAPSHOT_PTRACE;
    struct cairn_snapshot *snapshot = look(&opts, &thread);
    assert_int_equal(thread.way, CAIRN_SNAPSHOT_PTRACE);
    assert_true(thread.held_ns > 0 && thread.asked_ns >= thread.held_ns);
    assert_true(thread.n_frames - thread.n_kernel > DEEP);
    cairn_snapshot_free(snapshot);
    test_kill(opts.pid);
}

static void a_stack_deeper_than_the_copy_is_read_again(void **state)
{
    (void)state;
    struct cairn_snapshot_thread thread;
    struct cairn_snapshot_opts opts = {.size = sizeof opts, .pid = start(be_huge, 'S')};
    opts.way = CAIRN_SNAPSHOT_PTRACE;
    struct cairn_snapshot *snapshot = look(&opts, &thread);
    assert_true(thread.n_frames - thread.n_kernel > HUGE_FRAMES);
    assert_int_equal(thread.end, CAIRN_END_OUTERMOST);
    cairn_snapshot_free(snapshot);
    opts.way = CAIRN_SNAPSHOT_NONE;
    opts.consistent = 1;
    snapshot = look(&opts, &thread);
    assert_true(thread.n_frames - thread.n_kernel > HUGE_FRAMES);
    cairn_snapshot_free(snapshot);
    test_kill(opts.pid);
}

static void a_thread_that_runs_is_stopped_or_has_no_stack(void **state)
{
    (void)state;
    struct cairn_snapshot_thread thread;
    struct cairn_snapshot_opts opts = {.size = sizeof opts, .pid = start(spin, 'R')};
    opts.no_stop = 1;
    struct cairn_snapshot *snapshot = look(&opts, &thread);
    assert_int_not_equal(thread.way, CAIRN_SNAPSHOT_PTRACE);
    if (thread.way == CAIRN_SNAPSHOT_NONE)
        assert_non_null(strstr(thread.reason, "runs") ? "" : strstr(thread.reason, "sampled"));
    cairn_snapshot_free(snapshot);
    opts.no_stop = 0;
    opts.way = CAIRN_SNAPSHOT_PTRACE;
    snapshot = look(&opts, &thread);
    assert_int_equal(thread.way, CAIRN_SNAPSHOT_PTRACE);
    assert_true(thread.n_frames - thread.n_kernel > 0);
    cairn_snapshot_free(snapshot);
    test_kill(opts.pid);
}

/* It may have to wait for a CPU, longer than anybody should wait for a stack. */
static void a_thread_that_runs_is_sampled_without_a_stop(void **state)
{
    (void)state;
    struct cairn_snapshot_thread thread;
    struct cairn_snapshot_opts opts = {.size = sizeof opts, .pid = start(spin_huge, 'R')};
    opts.no_stop = 1;
    opts.way = CAIRN_SNAPSHOT_SAMPLE;
    opts.stop_ms = PATIENCE_MS;
    struct cairn_snapshot *snapshot = look(&opts, &thread);
    if (strstr(thread.reason, "cannot be sampled") || strstr(thread.reason, "not sampled here")) {
        print_message("skipped: %s\n", thread.reason);
        cairn_snapshot_free(snapshot);
        test_kill(opts.pid);
        skip();
    }
    assert_string_equal(thread.reason, "");
    assert_int_equal(thread.way, CAIRN_SNAPSHOT_SAMPLE);
    assert_int_equal(thread.held_ns, 0);
    assert_int_equal(thread.end, CAIRN_END_OUTERMOST);
    assert_true(thread.n_frames - thread.n_kernel > SAMPLED_FRAMES);
    cairn_snapshot_free(snapshot);
    test_kill(opts.pid);
}

static void a_thread_that_sleeps_is_not_waited_for_by_sampling(void **state)
{
    (void)state;
    struct cairn_snapshot_thread thread;
    struct cairn_snapshot_opts opts = {.size = sizeof opts, .pid = start(be_deep, 'S')};
    opts.way = CAIRN_SNAPSHOT_SAMPLE;
    struct cairn_snapshot *snapshot = look(&opts, &thread);
    assert_int_equal(thread.way, CAIRN_SNAPSHOT_NONE);
    assert_non_null(strstr(thread.reason, "sleeps") ? "" : strstr(thread.reason, "not sampled"));
    cairn_snapshot_free(snapshot);
    test_kill(opts.pid);
}

static void a_zombie_says_so(void **state)
{
    (void)state;
    struct cairn_snapshot_thread thread;
    struct cairn_snapshot_opts opts = {.size = sizeof opts, .pid = start(end, 'Z')};
    struct cairn_snapshot *snapshot = look(&opts, &thread);
    assert_int_equal(thread.state, 'Z');
    assert_int_equal(thread.way, CAIRN_SNAPSHOT_NONE);
    assert_contains(thread.reason, "ended");
    cairn_snapshot_free(snapshot);
    test_kill(opts.pid);
}

static void looks_add_up_in_the_profile(void **state)
{
    (void)state;
    struct cairn_snapshot_thread thread;
    struct cairn_profile_stats stats = {.size = sizeof stats};
    struct cairn_snapshot_opts opts = {.size = sizeof opts, .pid = start(be_deep, 'S')};
    struct cairn_snapshot *snapshot = look(&opts, &thread);
    struct cairn_err err;
    assert_ok(cairn_snapshot_take(snapshot, &err), err);
    cairn_profile_stats(cairn_snapshot_profile(snapshot), &stats);
    assert_int_equal(stats.n_samples, 2);
    assert_int_equal(cairn_snapshot_threads(snapshot), 1);
    test_kill(opts.pid);
    assert_fails(cairn_snapshot_take(snapshot, &err), CAIRN_E_MISSING, err, "pid");
    cairn_snapshot_free(snapshot);
}

static void what_contradicts_itself_is_refused(void **state)
{
    (void)state;
    struct cairn_snapshot *snapshot;
    struct cairn_err err;
    struct cairn_snapshot_opts opts = {.size = sizeof opts};
    assert_fails(cairn_snapshot_new(&opts, &snapshot, &err), CAIRN_E_ARG, err, "pid");
    opts.pid = getpid();
    opts.core = "core";
    assert_fails(cairn_snapshot_new(&opts, &snapshot, &err), CAIRN_E_ARG, err, "pid");
    opts.core = NULL;
    opts.no_stop = opts.consistent = 1;
    assert_fails(cairn_snapshot_new(&opts, &snapshot, &err), CAIRN_E_ARG, err, "stop");
    opts.no_stop = 0;
    opts.way = CAIRN_SNAPSHOT_MEMORY;
    assert_fails(cairn_snapshot_new(&opts, &snapshot, &err), CAIRN_E_ARG, err, "ptrace");
}

static void memory_that_is_gone_is_told(void **state)
{
    (void)state;
    struct cairn_snapshot_opts opts = {.size = sizeof opts, .pid = start(be_deep, 'S')};
    struct cairn_snapshot_thread thread;
    struct cairn_err err;
    cairn_snapshot_free(look(&opts, &thread)); /* or skip */
    for (long n = 0; n < 2000; n += n < 100 ? 1 : 37) {
        struct cairn_snapshot *snapshot = NULL;
        cairn_alloc_fail_after(n);
        int code = cairn_snapshot_new(&opts, &snapshot, &err);
        if (code == CAIRN_OK)
            code = cairn_snapshot_take(snapshot, &err);
        cairn_alloc_fail_after(-1);
        if (code < 0)
            assert_true(err.msg[0] != 0);
        cairn_snapshot_free(snapshot);
    }
    test_kill(opts.pid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_sleeps_is_read_without_a_stop),
        cmocka_unit_test(a_thread_is_held_for_a_moment),
        cmocka_unit_test(a_stack_deeper_than_the_copy_is_read_again),
        cmocka_unit_test(a_thread_that_runs_is_stopped_or_has_no_stack),
        cmocka_unit_test(a_thread_that_runs_is_sampled_without_a_stop),
        cmocka_unit_test(a_thread_that_sleeps_is_not_waited_for_by_sampling),
        cmocka_unit_test(a_zombie_says_so),
        cmocka_unit_test(looks_add_up_in_the_profile),
        cmocka_unit_test(what_contradicts_itself_is_refused),
        cmocka_unit_test(memory_that_is_gone_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
