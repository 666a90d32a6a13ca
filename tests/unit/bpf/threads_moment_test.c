/* SPDX-License-Identifier: MIT */
/*
 * What the task iterator says of threads that wake up while they are copied, and of those in other
 * pid namespaces. Skipped, with cairn's own reason, where the program cannot be loaded.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "unit/bpf/open_threads.h"

enum { HOPPERS = 4, HOP_WORDS = 3000, ROUNDS = 3000, STILL_AT_LEAST = 100 };

static atomic_bool stop;

struct hopper {
    pthread_t thread;
    int tid;
    uint64_t va; /* of its words */
};

/* Writes 24 kB of one number into its stack, sleeps, and so on with the next number. Without ASan,
 * which keeps variables elsewhere. */
__attribute__((no_sanitize_address)) static void *hop(void *arg)
{
    struct hopper *self = arg;
    volatile uint64_t words[HOP_WORDS];
    self->va = (uint64_t)(uintptr_t)words;
    self->tid = (int)syscall(SYS_gettid);
    for (uint64_t turn = 1; !atomic_load(&stop); turn++) {
        for (unsigned i = 0; i < HOP_WORDS; i++)
            words[i] = turn;
        const struct timespec while_ = {.tv_nsec = 20000};
        clock_nanosleep(CLOCK_MONOTONIC, 0, &while_, NULL);
    }
    return NULL;
}

struct hops {
    struct hopper *hoppers;
    size_t n_still, n_moved, n_running;
};

static int check_hop(void *ctx, const struct cairn_bpf_thread *thread)
{
    struct hops *hops = ctx;
    const struct hopper *hopper = NULL;
    for (unsigned i = 0; i < HOPPERS; i++)
        if (hops->hoppers[i].tid == thread->tid)
            hopper = &hops->hoppers[i];
    if (!hopper)
        return 0;
    hops->n_moved += thread->found == CAIRN_BPF_MOVED;
    hops->n_running += thread->found == CAIRN_BPF_RUNNING;
    if (thread->found != CAIRN_BPF_STILL || !thread->in_call || thread->call != SYS_clock_nanosleep)
        return 0;
    struct cairn_span span = {0};
    uint64_t words[HOP_WORDS];
    assert_true(
        cairn_span_slice(thread->stack, hopper->va - thread->stack_va, sizeof words, &span));
    memcpy(words, span.data, sizeof words);
    for (unsigned i = 1; i < HOP_WORDS; i++)
        assert_int_equal(words[i], words[0]);
    hops->n_still++;
    return 0;
}

static void a_stack_that_is_still_is_of_one_moment(void **state)
{
    (void)state;
    OPEN_OR_SKIP();
    struct hopper hoppers[HOPPERS] = {{0}};
    struct hops hops = {.hoppers = hoppers};
    struct cairn_err err = {0};
    const struct cairn_bpf_threads_opts opts = {.pid = getpid()};
    atomic_store(&stop, false);
    for (unsigned i = 0; i < HOPPERS; i++)
        assert_int_equal(pthread_create(&hoppers[i].thread, NULL, hop, &hoppers[i]), 0);
    usleep(10000);
    for (unsigned i = 0; i < ROUNDS; i++)
        assert_ok(cairn_bpf_threads_each(threads, &opts, check_hop, &hops, &err), err);
    atomic_store(&stop, true);
    for (unsigned i = 0; i < HOPPERS; i++)
        pthread_join(hoppers[i].thread, NULL);
    print_message("still %zu, moved %zu, running %zu\n", hops.n_still, hops.n_moved,
                  hops.n_running);
    assert_true(hops.n_still >= STILL_AT_LEAST);
    assert_true(hops.n_moved + hops.n_running > 0);
}

struct family {
    int pid, n;
};

static int check_number(void *ctx, const struct cairn_bpf_thread *thread)
{
    struct family *family = ctx;
    family->n += thread->pid == family->pid && thread->tid == family->pid;
    return 0;
}

/* In a pid namespace of its own: tells how often it found itself as 1, and waits. */
static void ask_inside(int answer_fd, int end_fd)
{
    struct family self = {.pid = 1};
    const struct cairn_bpf_threads_opts opts = {.pid = 1};
    char byte;
    if (cairn_bpf_threads_each(threads, &opts, check_number, &self, NULL) < 0)
        self.n = -1;
    (void)!write(answer_fd, &self.n, sizeof self.n);
    (void)!read(end_fd, &byte, 1);
    _exit(0);
}

/* From outside it has our number for it, from inside its own: 1. */
static void a_thread_is_numbered_as_who_asks_sees_it(void **state)
{
    (void)state;
    OPEN_OR_SKIP();
    struct cairn_err err = {0};
    int number[2], answer[2], end[2];
    assert_int_equal(pipe(number) | pipe(answer) | pipe(end), 0);
    pid_t outer = fork();
    if (outer == 0) {
        close(end[1]);
        if (unshare(CLONE_NEWPID) != 0)
            _exit(1);
        pid_t inner = fork();
        if (inner == 0)
            ask_inside(answer[1], end[0]);
        (void)!write(number[1], &inner, sizeof inner);
        waitpid(inner, NULL, 0);
        _exit(0);
    }
    close(number[1]);
    close(answer[1]);
    int n_inside = 0;
    struct family seen = {0};
    bool made = read(number[0], &seen.pid, sizeof seen.pid) > 0 &&
                read(answer[0], &n_inside, sizeof n_inside) > 0;
    const struct cairn_bpf_threads_opts opts = {.pid = seen.pid};
    int code = made ? cairn_bpf_threads_each(threads, &opts, check_number, &seen, &err) : 0;
    close(end[1]);
    waitpid(outer, NULL, 0);
    if (!made) {
        print_message("skipped: no pid namespace can be made here\n");
        skip();
    }
    assert_ok(code, err);
    assert_int_equal(n_inside, 1);
    assert_int_equal(seen.n, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stack_that_is_still_is_of_one_moment),
        cmocka_unit_test(a_thread_is_numbered_as_who_asks_sees_it),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cairn_bpf_threads_close(threads);
    return failed;
}
