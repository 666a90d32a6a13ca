/* SPDX-License-Identifier: MIT */
/*
 * Stacks of own functions, held against what each of them says of itself: where it returns to.
 * Needs no other unwinder, so that it runs with any C library; where that has no CFI the walk ends.
 */
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>

#include <cairn/unwind.h>

#include "support/test.h"

enum { DEPTH = 40, ROOM = 128, ROUNDS = 300 };

struct caught {
    uintptr_t ips[ROOM];
    size_t n;
    struct cairn_unwind_info info;
};

static uintptr_t rets[DEPTH];
static struct caught plain, interrupted, in_handler;
static volatile long sink;

__attribute__((noinline)) static void on_illegal(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    ucontext_t *at = context;
    interrupted.info.size = in_handler.info.size = sizeof interrupted.info;
    interrupted.n = cairn_unwind_context(context, interrupted.ips, ROOM, &interrupted.info);
    in_handler.n = cairn_unwind_here(in_handler.ips, ROOM, &in_handler.info);
#if defined(__x86_64__)
    at->uc_mcontext.gregs[REG_RIP] += 2;
#else
    at->uc_mcontext.pc += 4;
#endif
}

#if defined(__x86_64__)
#define ILLEGAL "ud2"
#else
#define ILLEGAL "udf #0"
#endif

__attribute__((noinline)) static long catch (void)
{
    plain.info.size = sizeof plain.info;
    plain.n = cairn_unwind_here(plain.ips, ROOM, &plain.info);
    __asm__ volatile(ILLEGAL);
    return sink;
}

__attribute__((always_inline)) static inline long go_on(unsigned depth, unsigned way);

/* Behind a call: else the compiler makes loops of calls. */
static inline void keep_frame(void)
{
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static long small_frame(unsigned depth, unsigned way)
{
    rets[depth] = (uintptr_t)__builtin_return_address(0);
    long got = go_on(depth, way);
    keep_frame();
    return got + 1;
}

__attribute__((noinline)) static long large_frame(unsigned depth, unsigned way)
{
    volatile char bytes[5000];
    rets[depth] = (uintptr_t)__builtin_return_address(0);
    bytes[depth] = (char)way;
    long got = go_on(depth, way);
    keep_frame();
    return got + bytes[depth];
}

__attribute__((noinline)) static long varied_frame(unsigned depth, unsigned way)
{
    volatile char *bytes = __builtin_alloca(16 + (way & 0xff));
    rets[depth] = (uintptr_t)__builtin_return_address(0);
    bytes[0] = (char)way;
    long got = go_on(depth, way);
    keep_frame();
    return got + bytes[0];
}

/* No order of calls that anybody could foresee. */
__attribute__((always_inline)) static inline long go_on(unsigned depth, unsigned way)
{
    if (depth == 0)
        return catch ();
    unsigned next = way * 1103515245 + 12345;
    if (next >> 16 & 1)
        return small_frame(depth - 1, next);
    return next >> 17 & 1 ? large_frame(depth - 1, next) : varied_frame(depth - 1, next);
}

/* The chain is there whole, and behind it no more than libc's own frames. */
static void assert_caught(const struct caught *caught)
{
    size_t at = 0;
    while (at < caught->n && caught->ips[at] != rets[0])
        at++;
    assert_true(caught->n - at >= DEPTH);
    assert_memory_equal(caught->ips + at, rets, DEPTH * sizeof *rets);
    assert_true(caught->info.end == CAIRN_END_OUTERMOST || caught->info.end == CAIRN_END_NO_RULE);
    assert_int_equal(caught->info.n_guessed, 0);
}

static void chains_are_what_their_functions_say(void **state)
{
    (void)state;
    struct sigaction action = {.sa_sigaction = on_illegal, .sa_flags = SA_SIGINFO};
    assert_int_equal(sigaction(SIGILL, &action, NULL), 0);
    for (unsigned i = 0; i < ROUNDS; i++) {
        sink += small_frame(DEPTH - 1, i);
        assert_caught(&plain);
        assert_caught(&interrupted);
        assert_caught(&in_handler);
    }
    printf("the walk ended: %s\n", cairn_unwind_end_text(plain.info.end));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(chains_are_what_their_functions_say)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
