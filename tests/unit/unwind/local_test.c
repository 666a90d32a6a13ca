/* SPDX-License-Identifier: MIT */
/*
 * The own thread's stack, held against libgcc's unwinder: every way of growing it, leaving it, and
 * walking another one in between.
 */
#include "unwind/local.h"

#include <alloca.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <cairn/unwind.h>

#include "support/apart.h"
#include "support/test.h"
#include "unwind/local_state.h"

enum { ROOM = CAIRN_MAX_FRAMES };

static unsigned n_captures, n_different;
static char first_difference[200];

struct frames {
    uintptr_t ips[2 * ROOM];
    size_t n;
};

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *arg)
{
    struct frames *frames = arg;
    if (frames->n == 2 * ROOM)
        return _URC_END_OF_STACK;
    uintptr_t ip = _Unwind_GetIP(context);
    if (ip)
        frames->ips[frames->n++] = ip;
    return _URC_NO_REASON;
}

enum { IS_ARM = sizeof(void *) == 4 };

static void note(const char *what, size_t n, size_t expected, size_t at)
{
    if (n_different++ == 0)
        snprintf(first_difference, sizeof(first_difference),
                 "%s: %zu frames, expected %zu, from %zu", what, n, expected, at);
}

/* Both walks begin in this function, so that all but the first address must be the same. */
APART static size_t capture(const char *what)
{
    static _Thread_local struct frames ours, theirs;
    theirs.n = 0;
    _Unwind_Backtrace(add_frame, &theirs);
    ours.n = cairn_unwind_here(ours.ips, ROOM, NULL);
    n_captures++;
    /* libgcc does not tell of a frame that arm's index says not to unwind, and ends there. */
    while (IS_ARM && theirs.n > 1 && theirs.n < ours.n) {
        theirs.ips[theirs.n] = ours.ips[theirs.n];
        theirs.n++;
    }
    size_t expected = theirs.n < ROOM ? theirs.n : ROOM;
    size_t i = 1;
    while (i < ours.n && i < expected && ours.ips[i] == theirs.ips[i])
        i++;
    if (ours.n != expected || i < expected)
        note(what, ours.n, expected, i);
    return ours.n;
}

static void assert_equal_captures(void)
{
    if (n_different)
        fail_msg("%u of %u captures differ: %s", n_different, n_captures, first_difference);
    assert_true(n_captures > 0);
    n_captures = 0;
}

/* Functions that lay out their frames in every way, and call each other at random. */
static unsigned seed = 1;

static unsigned roll(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 16;
}

static int go(int depth);

APART static int plain(int depth)
{
    return go(depth) + 1;
}

APART static int with_saved(int depth)
{
    int a = depth * 3, b = (int)roll(), c = b ^ a, d = c * 7;
    int sum = go(depth) + a + b;
    return go(0) + sum + c + d;
}

APART static int with_array(int depth)
{
    volatile char text[300];
    text[depth & 255] = 1;
    return go(depth) + text[depth & 255];
}

APART static int with_alloca(int depth)
{
    volatile char *text = alloca((roll() & 255) + 1);
    text[0] = 1;
    return go(depth) + text[0];
}

APART static int realigned(int depth)
{
    __attribute__((aligned(64))) volatile char text[64];
    text[depth & 63] = 1;
    return go(depth) + text[depth & 63];
}

static int depth_of_sort;

static int compare(const void *a, const void *b)
{
    return go(depth_of_sort) + *(const int *)a - *(const int *)b;
}

APART static int through_libc(int depth)
{
    int values[2] = {2, 1};
    depth_of_sort = depth;
    qsort(values, 2, sizeof(*values), compare);
    return values[0];
}

APART static int go(int depth)
{
    if (depth <= 0) {
        capture("random calls");
        return 0;
    }
    switch (roll() % 7) {
    case 0:
        return with_saved(depth - 1);
    case 1:
        return with_array(depth - 1);
    case 2:
        return with_alloca(depth - 1);
    case 3:
        return realigned(depth - 1);
    case 4:
        return through_libc(depth - 1);
    default:
        return plain(depth - 1) + (roll() % 8 == 0 ? go(depth - 2) : 0);
    }
}

static void random_calls_are_as_libgcc_has_them(void **state)
{
    (void)state;
    for (int i = 0; i < 400; i++)
        go((int)(roll() % 40));
    assert_equal_captures();
}

APART static int recurse(int depth, int step)
{
    if (depth % step == 0)
        capture("recursion");
    int below = depth > 0 ? recurse(depth - 1, step) : 0;
    if (depth % step == 0)
        capture("recursion, on the way back");
    return below + 1;
}

#ifdef __x86_64__
/* Its CFA is rbx + 16: no rule knows rbx, only the rows of CFI do. */
__asm__(".text\n"
        ".type frame_by_rbx, @function\n"
        "frame_by_rbx:\n"
        ".cfi_startproc\n"
        "push %rbx\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset 3, -16\n"
        "mov %rsp, %rbx\n"
        ".cfi_def_cfa_register 3\n"
        "sub $264, %rsp\n"
        "and $-64, %rsp\n"
        "call *%rsi\n"
        "mov %rbx, %rsp\n"
        ".cfi_def_cfa_register 7\n"
        "pop %rbx\n"
        ".cfi_def_cfa_offset 8\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size frame_by_rbx, . - frame_by_rbx\n");
int frame_by_rbx(int depth, int (*call)(int depth));

APART static int captures_by_rbx(int depth)
{
    int sum = go(3) + depth;
    capture("above a frame by rbx");
    return depth > 0 ? frame_by_rbx(depth - 1, captures_by_rbx) + sum : sum;
}

static void rules_of_other_registers_are_exact(void **state)
{
    (void)state;
    captures_by_rbx(5);
    assert_equal_captures();
    assert_true(cairn_unwind_here((uintptr_t[1]){0}, 1, NULL) == 1);
}
#else
static void rules_of_other_registers_are_exact(void **state)
{
    (void)state;
    print_message("skipped: written for x86-64 alone\n");
    skip();
}
#endif

static void a_stack_grows_and_shrinks(void **state)
{
    (void)state;
    recurse(300, 7);
    recurse(3, 1);
    recurse(2000, 100);
    recurse(50, 3);
    assert_equal_captures();
}

#ifdef __x86_64__
/* What is new: of a caller's stack, captured twice in the same function, only the last frame may
 * be; deeper frames are new each time. */
static uint32_t n_before, n_shared_at_most;

APART static struct cairn_local_capture capture_in_place(void)
{
    const uintptr_t *frame = __builtin_frame_address(0);
    const struct cairn_local_frame_at at = {frame[1], (uintptr_t)(frame + 2), frame[0]};
    struct cairn_local_capture got;
    assert_true(cairn_local_capture(&at, &got));
    assert_int_equal(got.end, CAIRN_END_OUTERMOST);
    return got;
}

APART static struct cairn_local_capture deeper(int depth)
{
    struct cairn_local_capture got = depth > 0 ? deeper(depth - 1) : capture_in_place();
    n_before = got.n > n_before ? got.n : n_before;
    return got;
}

static void only_what_is_new_is_called_new(void **state)
{
    (void)state;
    struct cairn_local_capture first = capture_in_place(), got = {0};
    n_shared_at_most = first.n - 1; /* this function returns to another place */
    for (int depth = 0; depth < 40; depth++) {
        got = deeper(depth);
        assert_int_equal(got.n, first.n + 1 + (uint32_t)depth);
        assert_in_range(got.n_shared, first.n - 1, n_shared_at_most + (uint32_t)depth);
    }
    volatile int times = 3; /* so that the calls are one and the same */
    for (int i = 0; i < times; i++) {
        got = capture_in_place();
        assert_int_equal(got.n, first.n);
        /* The second and third time from the same line: nothing is new. */
        assert_int_equal(got.n_shared, i > 0 ? got.n : got.n - 1);
    }
    cairn_unwind_refresh();
    assert_int_equal(capture_in_place().n_shared, 0);
}
#else
static void only_what_is_new_is_called_new(void **state)
{
    (void)state;
    print_message("skipped: written for the frames of x86-64 alone\n");
    skip();
}
#endif

static void fewer_frames_than_there_are_is_said(void **state)
{
    (void)state;
    uintptr_t all[ROOM], some[4];
    struct cairn_unwind_info info = {.size = sizeof(info)};
    for (int round = 0; round < 3; round++) {
        size_t n = cairn_unwind_here(all, ROOM, &info);
        if (IS_ARM && info.end == CAIRN_END_NO_RULE) {
            puts("skipped: libcmocka, which calls this, was built without arm's tables");
            skip();
        }
        assert_in_range(n, 5, 200);
        assert_int_equal(info.end, CAIRN_END_OUTERMOST);
        assert_int_equal(cairn_unwind_here(some, 4, &info), 4);
        assert_int_equal(info.end, CAIRN_END_MAX_FRAMES);
        assert_memory_equal(some + 1, all + 1, 3 * sizeof(*all));
        assert_int_equal(cairn_unwind_here(some, 0, &info), 0);
    }
}

static void how_and_errno(void **state)
{
    (void)state;
    uintptr_t ips[ROOM];
    uint8_t how[ROOM];
    memset(how, 0xff, sizeof(how));
    struct cairn_unwind_info info = {.size = sizeof(info), .how = how};
    errno = 42;
    size_t n = cairn_unwind_here(ips, ROOM, &info);
    assert_int_equal(errno, 42);
    for (size_t i = 0; i < n; i++)
        assert_false(cairn_frame_is_exact(how[i]));
    assert_int_equal(how[n], 0xff);
    assert_true(info.generation > 0);
    assert_ptr_equal(info.how, how);
}

/* Signals. */
static uintptr_t in_handler[ROOM], of_context[ROOM];
static uint8_t how_in_handler[ROOM];
static size_t n_in_handler, n_of_context;
static uintptr_t interrupted;

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    struct cairn_unwind_info said = {.size = sizeof(said), .how = how_in_handler};
    n_of_context = cairn_unwind_context(context, of_context, ROOM, &said);
    interrupted = of_context[0];
    n_in_handler = cairn_unwind_here(in_handler, ROOM, &said);
    capture("in a handler");
}

/* What the handler saw of the interrupted stack is what its context says. */
static void assert_handler_saw_it(void)
{
    size_t at = 0;
    while (at < n_in_handler && how_in_handler[at] != CAIRN_HOW_SIGNAL)
        at++;
    assert_in_range(at, 1, 5);
    assert_int_equal(n_in_handler - at, n_of_context);
    assert_memory_equal(in_handler + at, of_context, n_of_context * sizeof(*of_context));
    assert_true(n_of_context > (IS_ARM ? 1 : 5)); /* libcmocka may have no tables there */
}

static void catch_signal(int flags)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | flags};
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
}

static void a_handler_sees_what_it_interrupted(void **state)
{
    (void)state;
    catch_signal(0);
    for (int i = 0; i < 3; i++) {
        raise(SIGUSR1);
        assert_handler_saw_it();
        capture("after a signal");
    }
    assert_equal_captures();
}

static void an_alternate_stack_is_left_for_the_old_one(void **state)
{
    (void)state;
    size_t bytes = 256 << 10;
    stack_t stack = {
        .ss_sp = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
        .ss_size = bytes};
    stack_t none = {.ss_flags = SS_DISABLE};
    catch_signal(SA_ONSTACK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sigaltstack(&stack, NULL), 0);
        raise(SIGUSR1);
        assert_handler_saw_it();
        capture("after an alternate stack");
    }
    assert_int_equal(sigaltstack(&none, NULL), 0);
    munmap(stack.ss_sp, bytes);
    assert_equal_captures();
}

static sigjmp_buf out_of_handler;

static void leave(int number)
{
    (void)number;
    capture("before a longjmp");
    siglongjmp(out_of_handler, 1);
}

APART static int jump_at(int depth)
{
    capture("before a signal");
    if (depth == 0)
        raise(SIGUSR2);
    return depth == 0 ? 0 : jump_at(depth - 1) + 1;
}

static void frames_that_a_longjmp_left_are_gone(void **state)
{
    (void)state;
    signal(SIGUSR2, leave);
    for (volatile int i = 0; i < 5; i++) {
        if (sigsetjmp(out_of_handler, 1) == 0)
            jump_at(10 * i);
        capture("after a longjmp");
        go(20);
    }
    assert_equal_captures();
}

/* Coroutines, whose stacks come and go. */
static ucontext_t main_context, other_context;

static void coroutine(void)
{
    for (int i = 0; i < 3; i++) {
        go(15);
        swapcontext(&other_context, &main_context);
    }
}

static void stacks_of_coroutines_are_unmapped(void **state)
{
    (void)state;
    size_t bytes = 256 << 10;
    for (volatile int round = 0; round < 20; round++) {
        char *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(stack != MAP_FAILED);
        getcontext(&other_context);
        other_context.uc_stack.ss_sp = stack;
        other_context.uc_stack.ss_size = bytes - (size_t)(round % 3) * 4096;
        other_context.uc_link = &main_context;
        makecontext(&other_context, coroutine, 0);
        for (int i = 0; i < 3; i++) {
            swapcontext(&main_context, &other_context);
            capture("between coroutines");
        }
        munmap(stack, bytes);
        capture("after a coroutine");
    }
    assert_equal_captures();
}

/* Threads. */
static void *captures(void *arg)
{
    (void)arg;
    uintptr_t ips[ROOM];
    struct cairn_unwind_info info = {.size = sizeof(info)};
    for (int i = 0; i < 3; i++) {
        size_t n = cairn_unwind_here(ips, ROOM, &info);
        if (n < 2 || n > 6 || info.end != CAIRN_END_OUTERMOST)
            return (void *)1;
    }
    return NULL;
}

static void thousands_of_threads_leave_nothing_behind(void **state)
{
    (void)state;
    enum { ROUNDS = 150, AT_ONCE = 20 };
    pthread_t threads[AT_ONCE];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < AT_ONCE; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, captures, NULL), 0);
        for (int i = 0; i < AT_ONCE; i++) {
            void *result;
            pthread_join(threads[i], &result);
            assert_null(result);
        }
    }
    assert_in_range(cairn_local_state_count(), 1, 6 * AT_ONCE);
}

APART static void unwound(void *arg)
{
    (void)arg;
    capture("while a thread's stack is unwound");
}

APART static void exit_at(volatile int depth)
{
    pthread_cleanup_push(unwound, NULL);
    capture("before pthread_exit");
    if (depth == 0)
        pthread_exit(NULL);
    while (depth > 0)
        exit_at(depth - 1);
    pthread_cleanup_pop(0);
}

static void *exits(void *arg)
{
    (void)arg;
    exit_at(10);
    return NULL;
}

static void a_stack_that_is_unwound_can_be_captured(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, exits, NULL), 0);
        pthread_join(thread, NULL);
    }
    assert_equal_captures();
}

static void a_child_captures_as_its_parent(void **state)
{
    (void)state;
    capture("before fork");
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 10; i++)
            go(10);
        _exit(n_different != 0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_equal_captures();
}

static void a_refresh_is_a_new_generation(void **state)
{
    (void)state;
    capture("before a refresh");
    uint64_t first = cairn_unwind_refresh();
    assert_true(cairn_unwind_refresh() > first);
    capture("after a refresh");
    go(10);
    assert_equal_captures();
    assert_false(cairn_unwind_wants_refresh());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_calls_are_as_libgcc_has_them),
        cmocka_unit_test(rules_of_other_registers_are_exact),
        cmocka_unit_test(a_stack_grows_and_shrinks),
        cmocka_unit_test(only_what_is_new_is_called_new),
        cmocka_unit_test(fewer_frames_than_there_are_is_said),
        cmocka_unit_test(how_and_errno),
        cmocka_unit_test(a_handler_sees_what_it_interrupted),
        cmocka_unit_test(an_alternate_stack_is_left_for_the_old_one),
        cmocka_unit_test(frames_that_a_longjmp_left_are_gone),
        cmocka_unit_test(stacks_of_coroutines_are_unmapped),
        cmocka_unit_test(thousands_of_threads_leave_nothing_behind),
        cmocka_unit_test(a_stack_that_is_unwound_can_be_captured),
        cmocka_unit_test(a_child_captures_as_its_parent),
        cmocka_unit_test(a_refresh_is_a_new_generation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
