/* SPDX-License-Identifier: MIT */
/*
 * Everything at once: threads that capture their stacks while they come and go, jump, are unwound,
 * fork, and run on stacks that are unmapped and mapped again; all the time interrupted by signals
 * whose handlers capture, too, and asked for their stacks by another thread. Each capture is held
 * against a walk that remembers nothing, and against how deep the thread knows to be.
 * CAIRN_FULL=1: for longer.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cairn/unwind.h>

#include "support/apart.h"
#include "support/sanitized.h"
#include "support/test.h"
#include "unwind/local_state.h"

enum {
    ROOM = 256,
    WORKERS = 3,
    DEEPEST = 60,
    STACK_BYTES = 128 << 10,
    SHORT_MS = 400,
    LONG_MS = 8 * 1000,
    PATIENCE_MS = 60 * 1000,
    SIGNAL_US = 500,
    IS_ARM = sizeof(void *) == 4 /* tables for calls alone: only the own frames are compared */
};

static atomic_uint n_captures, n_signals, n_asked, n_answers, n_wrong;
static atomic_bool stop;
static _Atomic(int) tids[WORKERS];

static uint32_t random_below(uint32_t *state, uint32_t n)
{
    *state = *state * 1664525 + 1013904223;
    return (*state >> 8) % n;
}

static void wrong(const char *what, size_t n, size_t other)
{
    if (atomic_fetch_add(&n_wrong, 1) < 5)
        printf("%s: %zu, expected %zu\n", what, n, other);
}

/* Frames that return to the same place as the second one: recursion. */
static unsigned n_same(const uintptr_t *ips, size_t n)
{
    unsigned same = 0;
    for (size_t i = 1; i < n; i++)
        same += ips[i] == ips[2];
    return same;
}

/* Called by a function that calls itself, the `depth`th time. */
APART static void check(unsigned depth)
{
    uintptr_t ours[ROOM], slow[ROOM];
    ucontext_t here;
    size_t n = cairn_unwind_here(ours, ROOM, NULL);
    getcontext(&here);
    size_t m = cairn_unwind_context(&here, slow, ROOM, NULL);
    atomic_fetch_add(&n_captures, 1);
    if (depth > 1 && n_same(ours, n) != depth - 1)
        wrong("frames of a recursion", n_same(ours, n), depth - 1);
    if (IS_ARM)
        return;
    if (n != m || memcmp(ours + 1, slow + 1, (n - 1) * sizeof *ours) != 0)
        wrong("frames beside a walk that remembers nothing", n, m);
}

typedef void leaf_fn(void *arg);

APART static unsigned deep(unsigned depth, unsigned left, leaf_fn *leaf, void *arg)
{
    volatile unsigned kept = depth;
    check(depth);
    if (left > 0)
        kept = deep(depth + 1, left - 1, leaf, arg) + 1;
    else if (leaf)
        leaf(arg);
    check(depth);
    return kept;
}

/* In each thread, whatever it does, a capture included. */
static void on_signal(int number, siginfo_t *info, void *ucontext)
{
    uintptr_t ips[ROOM];
    int saved = errno;
    (void)info;
    size_t n = cairn_unwind_context(ucontext, ips, ROOM, NULL);
    n = n ? cairn_unwind_here(ips, ROOM, NULL) : 0;
    if (n < 2)
        wrong("frames in a handler", n, 2);
    if (errno != saved)
        wrong("errno", (size_t)errno, (size_t)saved);
    atomic_fetch_add(&n_signals, 1);
    if (number == SIGPROF && atomic_load(&n_signals) % 4 == 0)
        raise(SIGUSR2); /* a capture within the handler's */
}

static void signals(bool on)
{
    struct sigaction action = {.sa_sigaction = on_signal,
                               .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    struct itimerval every = {{0, on ? SIGNAL_US : 0}, {0, on ? SIGNAL_US : 0}};
    assert_int_equal(sigaction(SIGPROF, &action, NULL), 0);
    assert_int_equal(sigaction(SIGUSR2, &action, NULL), 0);
    assert_int_equal(setitimer(ITIMER_PROF, &every, NULL), 0);
}

static void *ask(void *arg)
{
    uintptr_t ips[ROOM];
    for (unsigned i = 0; !atomic_load(&stop); i++) {
        int tid = atomic_load(&tids[i % WORKERS]);
        atomic_fetch_add(&n_asked, tid != 0);
        if (tid && cairn_unwind_thread(tid, 5 * 1000 * 1000, ips, ROOM, NULL) > 0)
            atomic_fetch_add(&n_answers, 1);
        usleep(300);
    }
    return arg;
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void (*work)(uint32_t *random);

static void *run_worker(void *arg)
{
    uint32_t random = (uint32_t)(uintptr_t)arg + 1;
    atomic_store(&tids[(uintptr_t)arg], (int)syscall(SYS_gettid));
    while (!atomic_load(&stop))
        work(&random);
    atomic_store(&tids[(uintptr_t)arg], 0);
    return NULL;
}

/* TSan frees within pthread_join(3) what it knows of the thread, under a lock of its allocator, and
 * runs a handler there at once: one that captures and so allocates would wait for itself. */
static void join(pthread_t thread)
{
    sigset_t all, before;
    sigfillset(&all);
    if (UNDER_TSAN)
        pthread_sigmask(SIG_BLOCK, &all, &before);
    pthread_join(thread, NULL);
    if (UNDER_TSAN)
        pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static bool are_held; /* signals: none may come */

/* `what` again and again in some threads and this one. */
static void stress(void (*what)(uint32_t *random))
{
    pthread_t workers[WORKERS], asker;
    uint32_t random = 99;
    int64_t end = now_ms() + (getenv("CAIRN_FULL") ? LONG_MS : SHORT_MS);
    n_captures = n_signals = n_asked = n_answers = n_wrong = 0;
    atomic_store(&stop, false);
    work = what;
    signals(true);
    for (uintptr_t i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_create(&workers[i], NULL, run_worker, (void *)i), 0);
    assert_int_equal(pthread_create(&asker, NULL, ask, NULL), 0);
    /* A signal comes by CPU time, of which there may be little. */
    while (now_ms() < end || (!n_signals && now_ms() < end + PATIENCE_MS))
        what(&random);
    atomic_store(&stop, true);
    for (int i = 0; i < WORKERS; i++)
        join(workers[i]);
    join(asker);
    signals(false);
    printf("%u captures, %u signals, %u of %u asked answered\n", n_captures, n_signals, n_answers,
           n_asked);
    assert_int_equal(n_wrong, 0);
    assert_true(n_captures > 100);
    assert_true(n_signals > 0 || are_held);
}

static void go_deep(uint32_t *random)
{
    deep(1, random_below(random, DEEPEST), NULL, NULL);
}

static void *short_life(void *arg)
{
    uint32_t random = (uint32_t)(uintptr_t)arg;
    go_deep(&random);
    return NULL;
}

static void start_threads(uint32_t *random)
{
    enum { AT_ONCE = 8 };
    pthread_t threads[AT_ONCE];
    unsigned n = 0;
    while (n < AT_ONCE && pthread_create(&threads[n], NULL, short_life,
                                         (void *)(uintptr_t)random_below(random, 1 << 20)) == 0)
        n++;
    for (unsigned i = 0; i < n; i++)
        join(threads[i]);
}

static void threads_come_and_go(void **state)
{
    (void)state;
    stress(start_threads);
    /* Blocks of dead threads are taken over, by who finds them at the first look. */
    assert_in_range(cairn_local_state_count(), 1, 400);
}

static void jump(void *arg)
{
    longjmp(*(jmp_buf *)arg, 1);
}

static void jump_out(uint32_t *random)
{
    jmp_buf out;
    if (setjmp(out) == 0)
        deep(1, random_below(random, DEEPEST), jump, &out);
    check(0);
}

static void longjmp_leaves_frames_that_were_captured(void **state)
{
    (void)state;
    stress(jump_out);
}

static void captured_cleanup(void *arg)
{
    (void)arg;
    check(0);
}

static void end_thread(void *arg)
{
    pthread_cleanup_push(captured_cleanup, NULL);
    pthread_exit(arg);
    pthread_cleanup_pop(0);
}

static void *unwound(void *arg)
{
    deep(1, (unsigned)(uintptr_t)arg, end_thread, arg);
    return NULL;
}

static void unwind_threads(uint32_t *random)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, unwound, (void *)(uintptr_t)random_below(random, DEEPEST)) ==
        0)
        join(thread);
    go_deep(random);
}

static void stacks_are_unwound_by_force(void **state)
{
    (void)state;
    stress(unwind_threads);
}

/* Each thread has its place for stacks; what lies on them differs from time to time. */
static _Thread_local struct {
    ucontext_t outside, inside;
    char *place;
    unsigned depth;
} coroutine;

static void run_coroutine(void)
{
    deep(1, coroutine.depth, NULL, NULL);
    swapcontext(&coroutine.inside, &coroutine.outside);
    deep(1, coroutine.depth / 2, NULL, NULL);
}

static void switch_stacks(uint32_t *random)
{
    void *at = mmap(coroutine.place, STACK_BYTES, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (at == MAP_FAILED)
        return;
    coroutine.place = at;
    coroutine.depth = random_below(random, DEEPEST);
    getcontext(&coroutine.inside);
    coroutine.inside.uc_stack.ss_sp = at;
    coroutine.inside.uc_stack.ss_size = STACK_BYTES - 64 * random_below(random, 16);
    coroutine.inside.uc_link = &coroutine.outside;
    makecontext(&coroutine.inside, run_coroutine, 0);
    swapcontext(&coroutine.outside, &coroutine.inside);
    check(0);
    swapcontext(&coroutine.outside, &coroutine.inside);
    munmap(at, STACK_BYTES);
    check(0);
}

static void stacks_are_mapped_again_at_their_old_place(void **state)
{
    (void)state;
    stress(switch_stacks);
}

/* The other threads are in the middle of anything then. */
static void fork_child(void *depth)
{
    pid_t child = fork();
    if (child == 0) {
        unsigned before = atomic_load(&n_wrong);
        for (int i = 0; i < 5; i++)
            check(0);
        if (depth)
            deep(1, *(const unsigned *)depth, NULL, NULL);
        _exit(atomic_load(&n_wrong) != before);
    }
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (child > 0 && status != 0)
        wrong("the end of a child", (size_t)status, 0);
}

static void fork_at_once(uint32_t *random)
{
    unsigned depth = random_below(random, DEEPEST);
    fork_child(&depth);
    go_deep(random);
}

static void children_capture_too(void **state)
{
    (void)state;
    stress(fork_at_once);
}

static void fork_deep(uint32_t *random)
{
    deep(1, random_below(random, DEEPEST), fork_child, NULL);
}

static void children_capture_from_the_depth(void **state)
{
    (void)state;
    /* TSan holds them back until a thread calls what it watches, which here none may do. */
    are_held = UNDER_TSAN;
    stress(fork_deep);
    are_held = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_come_and_go),
        cmocka_unit_test(longjmp_leaves_frames_that_were_captured),
        cmocka_unit_test(stacks_are_unwound_by_force),
        cmocka_unit_test(stacks_are_mapped_again_at_their_old_place),
        cmocka_unit_test(children_capture_too),
        cmocka_unit_test(children_capture_from_the_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
