/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cairn/unwind.h>

#include "base/alloc.h"
#include "base/error.h"
#include "bpf/threads.h"
#include "bpf/walker.h"
#include "support/apart.h"
#include "support/test.h"

enum {
    TIMES = 5,
    ROUNDS = 20000,
    SLEEP_MS = 20,
    FRAMES_MAX = 256,
    STACKS_MAX = 4096,
    ROWS_MAX = 4096
};

struct row {
    struct cairn_bpf_slept_key key;
    struct cairn_bpf_sum sum;
};

/* What came of one run. */
struct seen {
    struct {
        uint64_t hash;
        uint32_t tid, id;
        unsigned n, n_kernel, end;
        uint64_t frames[FRAMES_MAX];
    } stacks[STACKS_MAX];
    size_t n_stacks;
    struct row slept[ROWS_MAX], asleep[ROWS_MAX];
    size_t n_slept, n_asleep;
    uint64_t n_unseen;
};

struct sleeper {
    uintptr_t truth[FRAMES_MAX];
    int n_truth, tid;
    int from, to; /* of a pipe: a byte for each time; -1: a timer */
};

static int on_stack(void *ctx, const struct cairn_bpf_stack *stack, const uint64_t *frames)
{
    struct seen *seen = ctx;
    size_t n = (size_t)stack->n + stack->n_kernel;
    if (seen->n_stacks == STACKS_MAX || n > FRAMES_MAX)
        return CAIRN_OK;
    size_t i = seen->n_stacks++;
    seen->stacks[i].hash = stack->hash;
    seen->stacks[i].tid = stack->tid;
    seen->stacks[i].id = stack->id;
    seen->stacks[i].n = stack->n;
    seen->stacks[i].n_kernel = stack->n_kernel;
    seen->stacks[i].end = stack->end;
    memcpy(seen->stacks[i].frames, frames, n * sizeof *frames);
    return CAIRN_OK;
}

static int keep(struct row *rows, size_t *n, const struct cairn_bpf_slept_key *key,
                const struct cairn_bpf_sum *sum)
{
    if (*n < ROWS_MAX)
        rows[(*n)++] = (struct row){*key, *sum};
    return CAIRN_OK;
}

static int on_slept(void *ctx, const struct cairn_bpf_slept_key *key,
                    const struct cairn_bpf_sum *sum)
{
    struct seen *seen = ctx;
    return keep(seen->slept, &seen->n_slept, key, sum);
}

static int on_asleep(void *ctx, const struct cairn_bpf_slept_key *key,
                     const struct cairn_bpf_sum *sum)
{
    struct seen *seen = ctx;
    return keep(seen->asleep, &seen->n_asleep, key, sum);
}

static struct cairn_walker *walker_or_skip(void)
{
    static const struct cairn_off_cpu_opts off = {0};
    const struct cairn_walker_opts opts = {.off_cpu = &off};
    struct cairn_walker *walker;
    struct cairn_err err = {0};
    int code = cairn_walker_new(NULL, &walker, &err);
    if (code < 0) {
        print_message("skipped: %s\n", err.msg);
        assert_true(code == CAIRN_E_ACCESS || code == CAIRN_E_SUPPORT);
        skip();
    }
    cairn_walker_free(walker);
    assert_ok(cairn_walker_new(&opts, &walker, &err), err); /* who takes the one takes this */
    return walker;
}

static void begin(struct cairn_walker *walker, int pid)
{
    struct cairn_err err = {0};
    struct cairn_off_cpu *off = cairn_walker_off_cpu(walker);
    assert_non_null(off);
    cairn_walker_look(walker, pid, true);
    assert_int_equal(cairn_off_cpu_add(off, pid, false), 0);
    assert_ok(cairn_off_cpu_start(off, &err), err);
}

static void end(struct cairn_walker *walker, struct seen *seen)
{
    struct cairn_off_cpu *off = cairn_walker_off_cpu(walker);
    struct timespec now;
    bool forgotten;
    cairn_off_cpu_stop(off);
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    assert_int_equal(cairn_walker_take(walker, on_stack, seen), CAIRN_OK);
    assert_int_equal(cairn_off_cpu_slept(off, on_slept, seen, &forgotten), CAIRN_OK);
    assert_int_equal(cairn_off_cpu_asleep(off, now_ns, on_asleep, seen), CAIRN_OK);
    assert_false(forgotten);
    seen->n_unseen = cairn_off_cpu_unseen(off);
    assert_int_equal(cairn_off_cpu_lost(off), seen->n_unseen);
}

APART static void sleep_often(struct sleeper *sleeper)
{
    const struct timespec pause = {.tv_nsec = SLEEP_MS * 1000000};
    char byte;
    sleeper->n_truth = (int)cairn_unwind_here(sleeper->truth, FRAMES_MAX, NULL);
    for (int i = 0; i < TIMES; i++)
        if (sleeper->from < 0)
            nanosleep(&pause, NULL);
        else
            assert_int_equal(read(sleeper->from, &byte, 1), 1);
}

static void *run_sleeper(void *arg)
{
    struct sleeper *sleeper = arg;
    __atomic_store_n(&sleeper->tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
    sleep_often(sleeper);
    return NULL;
}

static void wait_until_asleep(int tid)
{
    char path[64], line[256];
    do {
        snprintf(path, sizeof path, "/proc/%d/stat", tid);
        FILE *file = fopen(path, "re");
        assert_non_null(file);
        assert_non_null(fgets(line, sizeof line, file));
        fclose(file);
    } while (strrchr(line, ')')[2] != 'S');
}

/* A byte whenever the sleeper sleeps. */
static void wake_often(struct sleeper *sleeper)
{
    int tid;
    while (!(tid = __atomic_load_n(&sleeper->tid, __ATOMIC_ACQUIRE)))
        sched_yield();
    for (int i = 0; i < TIMES; i++) {
        wait_until_asleep(tid);
        assert_int_equal(write(sleeper->to, "x", 1), 1);
    }
}

/* Do the outer frames of that stack equal those of the walk of the own thread? */
static bool is_true(const struct seen *seen, const struct cairn_bpf_slept_key *key,
                    const struct sleeper *sleeper)
{
    for (size_t i = 0; i < seen->n_stacks; i++) {
        if (seen->stacks[i].hash != key->hash || seen->stacks[i].tid != key->tid)
            continue;
        int n = 0, all = (int)seen->stacks[i].n;
        while (n < all && n < sleeper->n_truth &&
               seen->stacks[i].frames[all - 1 - n] == sleeper->truth[sleeper->n_truth - 1 - n])
            n++;
        return seen->stacks[i].end == CAIRN_END_OUTERMOST && n >= sleeper->n_truth - 1;
    }
    return false;
}

/* For a failure's log: what was seen of a thread. */
static void print_rows(const struct seen *seen, int tid)
{
    for (size_t i = 0; i < seen->n_slept; i++) {
        const struct row *row = &seen->slept[i];
        if (row->key.tid == (uint32_t)tid)
            print_message("why %d, by interrupt %d, by process %u: %llu times, %llu us\n",
                          row->key.why, row->key.by_interrupt, row->key.waker_pid,
                          (unsigned long long)row->sum.n,
                          (unsigned long long)row->sum.value / 1000);
    }
}

static void what_a_timer_ends_is_measured_and_whole(void **state)
{
    (void)state;
    struct cairn_walker *walker = walker_or_skip();
    struct seen *seen = cairn_alloc(1, sizeof *seen);
    struct sleeper sleeper = {.from = -1};
    uint64_t n = 0, n_slept = 0, ns = 0;
    begin(walker, getpid());
    run_sleeper(&sleeper);
    end(walker, seen);
    for (size_t i = 0; i < seen->n_slept; i++) {
        const struct row *row = &seen->slept[i];
        if (row->key.tid != (uint32_t)sleeper.tid)
            continue;
        if (row->key.why == CAIRN_BPF_OFF_SLEEP && row->key.by_interrupt) {
            assert_int_equal(row->key.waker_pid, 0);
            assert_true(is_true(seen, &row->key, &sleeper));
            n_slept += row->sum.n;
        } else if (row->key.why != CAIRN_BPF_OFF_PREEMPTED &&
                   (row->key.why != CAIRN_BPF_OFF_SLEEP || row->key.waker_pid)) {
            continue;
        }
        /* On its way to sleep it may have lost the CPU, and been woken before it had it again; and
         * of some wakings the kernel tells nobody. */
        n += row->sum.n;
        ns += row->sum.value;
    }
    print_rows(seen, sleeper.tid);
    assert_true(n_slept >= 1);
    /* The kernel may lose a switch while other tests take their programs off: that is told. */
    uint64_t n_seen = TIMES - seen->n_unseen;
    for (size_t i = 0; i < seen->n_asleep; i++)
        n_seen -= seen->asleep[i].key.tid == (uint32_t)sleeper.tid;
    assert_true(n >= n_seen);
    /* The timer begins while the thread is yet on its way off the CPU. */
    assert_true(ns >= n_seen * SLEEP_MS * 1000000 / 4 * 3);
    cairn_free(seen);
    cairn_walker_free(walker);
}

struct stopper {
    struct cairn_off_cpu *off;
    int to, tid;
};

static int note_tid(void *ctx, const struct cairn_bpf_slept_key *key,
                    const struct cairn_bpf_sum *sum)
{
    int *wanted = ctx;
    (void)sum;
    if (key->tid == (uint32_t)*wanted && key->why == CAIRN_BPF_OFF_SLEEP)
        *wanted = 0;
    return CAIRN_OK;
}

/* /proc calls a thread asleep that is still on its way off the CPU. */
static void await_noted(struct cairn_off_cpu *off, int tid)
{
    while (tid)
        assert_int_equal(cairn_off_cpu_asleep(off, UINT64_MAX, note_tid, &tid), CAIRN_OK);
}

static void *stop_and_wake(void *arg)
{
    struct stopper *stopper = arg;
    const struct timespec pause = {.tv_nsec = 20000000};
    await_noted(stopper->off, stopper->tid);
    nanosleep(&pause,
              NULL); /* it may have been a short sleep on the way to the one that is meant */
    await_noted(stopper->off, stopper->tid);
    cairn_off_cpu_stop(stopper->off);
    assert_int_equal(write(stopper->to, "x", 1), 1);
    return NULL;
}

/* What ends a sleep is taken off by another thread, and put on again by the one that slept. */
static void an_end_that_was_not_seen_is_counted_as_lost(void **state)
{
    (void)state;
    const struct timespec pause = {.tv_nsec = 1000000};
    struct cairn_walker *walker = walker_or_skip();
    struct stopper stopper = {.off = cairn_walker_off_cpu(walker), .tid = (int)syscall(SYS_gettid)};
    struct cairn_err err = {0};
    pthread_t thread;
    char byte;
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    stopper.to = pipes[1];
    assert_int_equal(cairn_off_cpu_lost(stopper.off), 0);
    begin(walker, getpid());
    assert_int_equal(pthread_create(&thread, NULL, stop_and_wake, &stopper), 0);
    assert_int_equal(read(pipes[0], &byte, 1), 1);
    pthread_join(thread, NULL);
    assert_ok(cairn_off_cpu_start(stopper.off, &err), err);
    nanosleep(&pause, NULL);
    assert_true(cairn_off_cpu_lost(stopper.off) > 0);
    close(pipes[0]);
    close(pipes[1]);
    cairn_walker_free(walker);
}

static void who_wakes_is_told_by_number_and_name(void **state)
{
    (void)state;
    struct cairn_walker *walker = walker_or_skip();
    struct seen *seen = cairn_alloc(1, sizeof *seen);
    int pipes[2];
    pthread_t thread;
    uint64_t n = 0;
    assert_int_equal(pipe(pipes), 0);
    struct sleeper sleeper = {.from = pipes[0], .to = pipes[1]};
    prctl(PR_SET_NAME, "waking");
    begin(walker, getpid());
    assert_int_equal(pthread_create(&thread, NULL, run_sleeper, &sleeper), 0);
    wake_often(&sleeper);
    pthread_join(thread, NULL);
    end(walker, seen);
    for (size_t i = 0; i < seen->n_slept; i++) {
        const struct row *row = &seen->slept[i];
        if (row->key.tid != (uint32_t)sleeper.tid || row->key.waker_pid != (uint32_t)getpid())
            continue;
        assert_string_equal(row->key.waker, "waking");
        assert_int_equal(row->key.waker_tid, syscall(SYS_gettid));
        assert_int_equal(row->key.why, CAIRN_BPF_OFF_SLEEP);
        n += is_true(seen, &row->key, &sleeper) ? row->sum.n : 0;
    }
    assert_true(n >= 1);
    close(pipes[0]);
    close(pipes[1]);
    cairn_free(seen);
    cairn_walker_free(walker);
}

struct player {
    int cpu, from, to, tid;
};

static void *play(void *arg)
{
    struct player *player = arg;
    cpu_set_t one;
    char byte = 'x';
    CPU_ZERO(&one);
    CPU_SET(player->cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    player->tid = (int)syscall(SYS_gettid);
    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(write(player->to, &byte, 1), 1);
        assert_int_equal(read(player->from, &byte, 1), 1);
    }
    return NULL;
}

/* Two CPUs that the process may use. */
static bool find_cpus(int ret_cpus[2])
{
    cpu_set_t all;
    int n = 0;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    for (int i = 0; i < CPU_SETSIZE && n < 2; i++)
        if (CPU_ISSET(i, &all))
            ret_cpus[n++] = i;
    return n == 2;
}

/* Each wakes the other while it is on its way to sleep, on the other CPU. */
static void who_wakes_at_once_is_told_too(void **state)
{
    (void)state;
    struct cairn_walker *walker = walker_or_skip();
    struct seen *seen = cairn_alloc(1, sizeof *seen);
    pthread_t threads[2];
    uint64_t n = 0, n_told = 0;
    int cpus[2], there[2], back[2];
    if (!find_cpus(cpus)) {
        print_message("skipped: one CPU alone\n");
        cairn_walker_free(walker);
        cairn_free(seen);
        skip();
    }
    assert_int_equal(pipe(there) | pipe(back), 0);
    struct player players[2] = {{.cpu = cpus[0], .from = back[0], .to = there[1]},
                                {.cpu = cpus[1], .from = there[0], .to = back[1]}};
    begin(walker, getpid());
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, play, &players[i]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    end(walker, seen);
    for (size_t i = 0; i < seen->n_slept; i++) {
        const struct row *row = &seen->slept[i];
        bool is_one =
            row->key.tid == (uint32_t)players[0].tid || row->key.tid == (uint32_t)players[1].tid;
        if (!is_one || row->key.why != CAIRN_BPF_OFF_SLEEP)
            continue;
        n += row->sum.n;
        n_told += row->key.waker_pid ? row->sum.n : 0;
    }
    print_message("%llu of %llu were told\n", (unsigned long long)n_told, (unsigned long long)n);
    assert_true(n_told >= 1);
    assert_true((n - n_told) * 300 <= n + 300); /* of some the kernel tells nobody */
    for (int i = 0; i < 2; i++) {
        close(there[i]);
        close(back[i]);
    }
    cairn_free(seen);
    cairn_walker_free(walker);
}

static void who_still_sleeps_is_told_at_the_end_and_a_child_is_a_target_too(void **state)
{
    (void)state;
    struct cairn_walker *walker = walker_or_skip();
    struct seen *seen = cairn_alloc(1, sizeof *seen);
    int pipes[2], said[2], status;
    char byte;
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(pipe(said), 0);
    begin(walker, getpid());
    pid_t child = fork();
    if (child == 0) {
        close(pipes[1]);
        (void)!write(said[1], "x", 1);
        _exit(read(pipes[0], &byte, 1) == 0);
    }
    assert_int_equal(read(said[0], &byte, 1), 1);
    wait_until_asleep(child);
    usleep(SLEEP_MS * 1000);
    end(walker, seen);
    bool found = false;
    for (size_t i = 0; i < seen->n_asleep; i++)
        if (seen->asleep[i].key.tid == (uint32_t)child) {
            found = true;
            assert_int_equal(seen->asleep[i].key.waker_tid, 0);
            assert_true(seen->asleep[i].sum.value >= (uint64_t)SLEEP_MS * 1000000);
        }
    assert_true(found);
    close(pipes[1]);
    waitpid(child, &status, 0);
    close(pipes[0]);
    close(said[0]);
    close(said[1]);
    cairn_free(seen);
    cairn_walker_free(walker);
}

static void skip_without_iterator(void)
{
    struct cairn_bpf_threads *threads;
    struct cairn_err err = {0};
    if (cairn_bpf_threads_open(&threads, &err) < 0) {
        print_message("skipped: %s\n", err.msg);
        skip();
    }
    cairn_bpf_threads_close(threads);
}

static void who_sleeps_already_is_walked_from_outside(void **state)
{
    (void)state;
    skip_without_iterator();
    struct cairn_walker *walker = walker_or_skip();
    struct seen *seen = cairn_alloc(1, sizeof *seen);
    struct sleeper sleeper = {0};
    int pipes[2];
    pthread_t thread;
    uint64_t n = 0;
    assert_int_equal(pipe(pipes), 0);
    sleeper.from = pipes[0];
    sleeper.to = pipes[1];
    assert_int_equal(pthread_create(&thread, NULL, run_sleeper, &sleeper), 0);
    while (!__atomic_load_n(&sleeper.tid, __ATOMIC_ACQUIRE))
        sched_yield();
    wait_until_asleep(sleeper.tid);
    begin(walker, getpid());
    assert_int_equal(cairn_off_cpu_before(cairn_walker_off_cpu(walker), getpid(), on_stack, seen),
                     CAIRN_OK);
    wait_until_asleep(sleeper.tid);
    end(walker, seen);
    for (size_t i = 0; i < seen->n_asleep; i++)
        if (seen->asleep[i].key.tid == (uint32_t)sleeper.tid) {
            assert_true(is_true(seen, &seen->asleep[i].key, &sleeper));
            n++;
        }
    assert_int_equal(n, 1);
    wake_often(&sleeper);
    pthread_join(thread, NULL);
    close(pipes[0]);
    close(pipes[1]);
    cairn_free(seen);
    cairn_walker_free(walker);
}

static void *spin(void *arg)
{
    struct timespec now;
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while (now.tv_nsec < 100000000 && now.tv_sec == 0);
    return arg;
}

static void who_would_run_on_is_told_from_who_sleeps(void **state)
{
    (void)state;
    struct cairn_walker *walker = walker_or_skip();
    struct seen *seen = cairn_alloc(1, sizeof *seen);
    cpu_set_t before, one;
    pthread_t threads[2];
    uint64_t n = 0;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
        if (CPU_ISSET(cpu, &before))
            CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    begin(walker, getpid());
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, spin, NULL), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    end(walker, seen);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    for (size_t i = 0; i < seen->n_slept; i++)
        if (seen->slept[i].key.why == CAIRN_BPF_OFF_PREEMPTED) {
            assert_int_equal(seen->slept[i].key.waker_tid, 0);
            n += seen->slept[i].sum.n;
        }
    assert_true(n >= 2);
    cairn_free(seen);
    cairn_walker_free(walker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_timer_ends_is_measured_and_whole),
        cmocka_unit_test(an_end_that_was_not_seen_is_counted_as_lost),
        cmocka_unit_test(who_wakes_is_told_by_number_and_name),
        cmocka_unit_test(who_wakes_at_once_is_told_too),
        cmocka_unit_test(who_still_sleeps_is_told_at_the_end_and_a_child_is_a_target_too),
        cmocka_unit_test(who_sleeps_already_is_walked_from_outside),
        cmocka_unit_test(who_would_run_on_is_told_from_who_sleeps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
