/* SPDX-License-Identifier: MIT */
/* Guarded replacements: all arguments and results come through, and nothing comes twice. */
#include "embed/guard.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cairn/hook.h>

#include "embed/embed.h"
#include "support/apart.h"
#include "support/test.h"

#define TARGET APART __attribute__((aligned(64)))

struct wide {
    long a, b, c, d;
};

typedef double many_fn(long, double, long, float, long, long, long, long, long, struct wide, double,
                       double, double, double, double, double, double);
typedef struct wide wide_fn(long);
typedef long deep_fn(long);

static struct cairn_err err;
static many_fn *original_many;
static wide_fn *original_wide;
static deep_fn *original_deep;
static long n_many, n_wide, n_deep;

static struct cairn_hook *hook_with(void *function, void *replacement, void **ret_original)
{
    struct cairn_hook *hook;
    if (cairn_hook_function(function, replacement, CAIRN_HOOK_GUARDED, ret_original, &hook, &err) !=
        CAIRN_OK)
        fail_msg("%s (%s)", err.msg, err.hint);
    return hook;
}

static TARGET double many(long a, double b, long c, float d, long e, long f, long g, long h, long i,
                          struct wide w, double j, double k, double l, double m, double n, double o,
                          double p)
{
    __asm__ volatile("");
    return (double)(a + 2 * c + 3 * e + 5 * f + 7 * g + 11 * h + 13 * i + w.a + w.b + w.c + w.d) +
           b + (double)d + j + 2 * k + 3 * l + 5 * m + 7 * n + 11 * o + 13 * p;
}

static double replace_many(long a, double b, long c, float d, long e, long f, long g, long h,
                           long i, struct wide w, double j, double k, double l, double m, double n,
                           double o, double p)
{
    n_many++;
    return original_many(a, b, c, d, e, f, g, h, i, w, j, k, l, m, n, o, p) + 1;
}

static void arguments_and_results_come_through(void **state)
{
    const struct wide w = {101, 102, 103, 104};
    many_fn *volatile called = many;
    (void)state;
    const double expected =
        called(1, 2.5, 3, 4.25f, 5, 6, 7, 8, 9, w, 10, 11, 12, 13, 14, 15, 16.5);
    struct cairn_hook *hook = hook_with((void *)(uintptr_t)many, (void *)(uintptr_t)replace_many,
                                        (void **)&original_many);
    for (int i = 0; i < 3; i++)
        assert_true(called(1, 2.5, 3, 4.25f, 5, 6, 7, 8, 9, w, 10, 11, 12, 13, 14, 15, 16.5) ==
                    expected + 1);
    assert_int_equal(n_many, 3);
    assert_int_equal(cairn_hook_remove(hook, &err), CAIRN_OK);
}

static TARGET struct wide make_wide(long n)
{
    __asm__ volatile("");
    return (struct wide){n, 2 * n, 3 * n, 4 * n};
}

static struct wide replace_wide(long n)
{
    n_wide++;
    return original_wide(n + 1);
}

static void structs_in_memory_are_returned(void **state)
{
    wide_fn *volatile called = make_wide;
    (void)state;
    struct cairn_hook *hook = hook_with((void *)(uintptr_t)make_wide,
                                        (void *)(uintptr_t)replace_wide, (void **)&original_wide);
    const struct wide w = called(4);
    assert_int_equal(w.a + w.b + w.c + w.d, 50);
    assert_int_equal(n_wide, 1);
    assert_int_equal(cairn_hook_remove(hook, &err), CAIRN_OK);
}

static TARGET long deep(long n)
{
    __asm__ volatile("");
    return n;
}

static deep_fn *volatile call_deep = deep;
static jmp_buf back;
static bool jumps, exits;

static long replace_deep(long n)
{
    n_deep++;
    if (jumps)
        longjmp(back, 1);
    if (exits)
        pthread_exit(NULL);
    return call_deep(n) + call_deep(n) + original_deep(n);
}

static void what_a_replacement_calls_goes_to_the_original(void **state)
{
    (void)state;
    n_deep = 0;
    assert_int_equal(call_deep(3), 9);
    assert_int_equal(n_deep, 1);
    assert_int_equal(call_deep(3), 9);
    assert_int_equal(n_deep, 2);
}

static void a_replacement_that_is_left_by_longjmp_is_called_again(void **state)
{
    (void)state;
    n_deep = 0;
    jumps = true;
    if (!setjmp(back))
        call_deep(1);
    jumps = false;
    assert_int_equal(n_deep, 1);
    assert_int_equal(call_deep(3), 9);
    assert_int_equal(n_deep, 2);
}

static void *call_once(void *n)
{
    return (void *)(uintptr_t)call_deep((long)(uintptr_t)n);
}

/* The next thread has the same thread pointer. */
static void a_thread_that_ends_inside_leaves_nothing_behind(void **state)
{
    pthread_t thread;
    void *result;
    (void)state;
    n_deep = 0;
    exits = true;
    assert_int_equal(pthread_create(&thread, NULL, call_once, (void *)1), 0);
    pthread_join(thread, NULL);
    exits = false;
    assert_int_equal(n_deep, 1);
    assert_int_equal(pthread_create(&thread, NULL, call_once, (void *)2), 0);
    pthread_join(thread, &result);
    assert_int_equal((uintptr_t)result, 6);
    assert_int_equal(n_deep, 2);
}

/* With the last argument in the last bytes of the stack. */
static void a_stack_that_ends_behind_the_arguments_is_not_left(void **state)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    long result, n = 3;
    (void)state;
    char *stack = mmap(NULL, 9 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(stack != MAP_FAILED);
    assert_int_equal(munmap(stack + 8 * page, page), 0);
    n_deep = 0;
#if defined(__x86_64__)
    __asm__ volatile("mov %%rsp, %%rbx\n mov %2, %%rsp\n call *%3\n mov %%rbx, %%rsp"
                     : "=a"(result), "+D"(n)
                     : "r"(stack + 8 * page), "r"(call_deep)
                     : "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
#else
    register long x0 __asm__("x0") = n;
    register char *end __asm__("x20") = stack + 8 * page;
    register deep_fn *function __asm__("x21") = call_deep;
    __asm__ volatile("mov x19, sp\n mov sp, %1\n blr %2\n mov sp, x19"
                     : "+r"(x0)
                     : "r"(end), "r"(function)
                     : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12",
                       "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x30", "memory", "cc");
    result = x0;
    (void)n;
#endif
    assert_int_equal(result, 9);
    assert_int_equal(n_deep, 1);
    munmap(stack, 8 * page);
}

/* Frames of two coroutines of one thread, on stacks that are apart. */
static void coroutines_leave_in_any_order(void **state)
{
    enum { APART_BY = 1 << 18 };
    _Alignas(16) static uint8_t stacks[2 * APART_BY];
    static struct cairn_hook hooks[2];
    long arguments[32];
    struct cairn_embed_guard_frame *frames[] = {(void *)stacks, (void *)(stacks + APART_BY)};
    (void)state;
    for (unsigned first = 0; first < 2; first++)
        for (unsigned leaves = 0; leaves < 2; leaves++) {
            for (unsigned i = 0; i < 2; i++) {
                frames[first ^ i]->hook = &hooks[first ^ i];
                assert_true(cairn_embed_guard_enter(frames[first ^ i], arguments) > 0);
            }
            cairn_embed_guard_leave(frames[leaves]);
            struct cairn_embed_guard_frame again = {.hook = &hooks[!leaves]};
            assert_int_equal(cairn_embed_guard_enter(&again, arguments), CAIRN_EMBED_INSIDE);
            cairn_embed_guard_leave(frames[!leaves]);
        }
}

static struct cairn_hook *hook_of_deep;

static int hook_deep(void **state)
{
    (void)state;
    hook_of_deep = hook_with((void *)(uintptr_t)deep, (void *)(uintptr_t)replace_deep,
                             (void **)&original_deep);
    return 0;
}

static int unhook_deep(void **state)
{
    (void)state;
    return cairn_hook_remove(hook_of_deep, &err);
}

#define OF_DEEP(test) cmocka_unit_test_setup_teardown(test, hook_deep, unhook_deep)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_and_results_come_through),
        cmocka_unit_test(structs_in_memory_are_returned),
        cmocka_unit_test(coroutines_leave_in_any_order),
        OF_DEEP(what_a_replacement_calls_goes_to_the_original),
        OF_DEEP(a_replacement_that_is_left_by_longjmp_is_called_again),
        OF_DEEP(a_thread_that_ends_inside_leaves_nothing_behind),
        OF_DEEP(a_stack_that_ends_behind_the_arguments_is_not_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
