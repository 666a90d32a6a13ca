/* SPDX-License-Identifier: MIT */
/*
 * What is remembered between captures of a thread, and what is said to be shared with the last one:
 * on plain stacks, in signal handlers, on stacks deeper than a walk goes.
 */
#include <alloca.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cairn/unwind.h>

#include "support/apart.h"
#include "support/test.h"
#include "unwind/local.h"
#include "unwind/local_state.h"

enum { ROOM = CAIRN_MAX_FRAMES, DEEP = 3000 };

#if defined(__x86_64__) || defined(__aarch64__)
enum { REMEMBERS = 1 };
#else
enum { REMEMBERS = 0 };
#endif

static void need_memory_of_walks(void)
{
    if (REMEMBERS)
        return;
    print_message("skipped: this CPU walks every frame each time\n");
    skip();
}

static uint64_t mixed(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

/* A capture as the heap tracker does it: a hash of each frame and all that are farther out, made
 * for those alone that are not shared. Returns false where that of a shared one was wrong. */
static struct cairn_local_capture got;
static uint64_t hashes[ROOM]; /* by a frame's place from the outermost on */

APART static bool capture_and_hash(void)
{
    const uintptr_t *frame = __builtin_frame_address(0);
    const struct cairn_local_frame_at at = {frame[1], (uintptr_t)__builtin_dwarf_cfa(), frame[0]};
    if (!cairn_local_capture(&at, &got))
        return false;
    uint64_t hash = 1;
    bool holds = true;
    for (uint32_t i = got.n; i-- > 0;) {
        hash = mixed(hash, got.frames[i].ret);
        if (got.n - i <= got.n_shared)
            holds &= hashes[got.n - 1 - i] == hash;
        hashes[got.n - 1 - i] = hash;
    }
    return holds;
}

/* The frames are those of the other walk, which is held against libgcc's elsewhere; from outside of
 * this function's call on. */
APART static bool captures_agree(void)
{
    static uintptr_t ips[ROOM];
    size_t n = cairn_unwind_here(ips, ROOM, NULL);
    if (!capture_and_hash() || got.n != n)
        return false;
    for (size_t i = 1; i < n; i++)
        if (ips[i] != got.frames[i].ret)
            return false;
    return true;
}

static unsigned seed = 7;

static unsigned roll(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 16;
}

/* Changed in handlers, by way of functions that glibc declares as leaves. */
static volatile unsigned n_wrong, n_captured;
static volatile uint64_t n_shared;

APART static int wander(int depth)
{
    volatile char *room = alloca(16 + roll() % 64); /* so that frames have a frame pointer */
    room[0] = 1;
    if (roll() % 2) {
        n_wrong += roll() % 4 ? !capture_and_hash() : !captures_agree();
        n_captured++;
        n_shared += got.n_shared;
    }
    int sum = depth > 0 ? wander(depth - 1) + room[0] : 0;
    if (depth > 0 && roll() % 3 == 0)
        sum += wander(depth - 2);
    return sum + room[0];
}

static void words_of_shared_frames_hold(void **state)
{
    (void)state;
    need_memory_of_walks();
    for (int i = 0; i < 30; i++)
        wander(8);
    assert_int_equal(n_wrong, 0);
    assert_true(n_captured > 100);
    assert_true(n_shared > n_captured * 4);
}

/* In a handler. */
static uint32_t shared[4], frames_in_handler;
static bool handler_agrees;
static size_t n_by_context[2], remembered[2];
static int ends[2];

static uint32_t n_remembered(void)
{
    const struct cairn_local_state *s = cairn_local_mine.state;
    return s ? s->hot.rest - s->hot.top : 0;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    uintptr_t ips[2][ROOM];
    handler_agrees = true;
    for (volatile int i = 0; i < 4; i++) {
        handler_agrees &= capture_and_hash();
        shared[i] = got.n_shared;
    }
    frames_in_handler = got.n;
    handler_agrees &= captures_agree();
    for (volatile int i = 0; i < 2; i++) {
        struct cairn_unwind_info said = {.size = sizeof(said)};
        n_by_context[i] = cairn_unwind_context(context, ips[i], ROOM, &said);
        remembered[i] = n_remembered();
        ends[i] = said.end;
    }
    handler_agrees &= n_by_context[0] == n_by_context[1] &&
                      memcmp(ips[0], ips[1], n_by_context[0] * sizeof(**ips)) == 0;
    for (size_t i = 0; i + 1 < n_by_context[0]; i++)
        handler_agrees &= ips[0][n_by_context[0] - 1 - i] == got.frames[got.n - 1 - i].ret;
}

APART static int raises(int depth)
{
    if (depth == 0)
        raise(SIGUSR1);
    volatile int below = depth == 0 ? 0 : raises(depth - 1); /* or GCC makes a loop of it */
    return below + 1;
}

static void a_handler_shares_what_it_interrupted(void **state)
{
    (void)state;
    need_memory_of_walks();
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    raises(20);
    assert_true(handler_agrees);
    assert_true(frames_in_handler > 24);
    for (int i = 1; i < 4; i++) /* all, once the calls are from the same place */
        assert_in_range(shared[i], frames_in_handler - 1, frames_in_handler);
}

static void a_context_is_remembered(void **state)
{
    (void)state;
    need_memory_of_walks();
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    raises(20);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ends[i], CAIRN_END_OUTERMOST);
        assert_int_equal(remembered[i] + 1, n_by_context[i]);
    }
}

/* What is known of the interrupted stack was forgotten by a handler that runs on another one. */
static size_t n_from_outside;

static void on_other_stack(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    uintptr_t ips[ROOM];
    n_from_outside = cairn_unwind_context(context, ips, ROOM, NULL);
}

static void a_context_of_another_stack_is_remembered(void **state)
{
    (void)state;
    need_memory_of_walks();
    static char room[1 << 16];
    const stack_t other = {.ss_sp = room, .ss_size = sizeof(room)}, none = {.ss_flags = SS_DISABLE};
    struct sigaction action = {.sa_sigaction = on_other_stack, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    assert_int_equal(sigaltstack(&other, NULL), 0);
    for (volatile int i = 0; i < 3; i++) {
        assert_true(captures_agree());
        cairn_unwind_refresh();
        raises(20);
        assert_true(n_from_outside > 24);
        assert_int_equal(n_remembered() + 1, n_from_outside);
    }
    assert_int_equal(sigaltstack(&none, NULL), 0);
}

/* A handler with a stack of its own lies where it lay, over a stack that became deeper: no word
 * holds, wherever its frame is kept. */
static void on_own_stack(int number)
{
    (void)number;
    n_wrong += !capture_and_hash();
    n_captured++;
    n_shared += got.n_shared;
}

static void a_handler_over_other_depths_shares_nothing_wrong(void **state)
{
    (void)state;
    need_memory_of_walks();
    static char room[1 << 16];
    const stack_t other = {.ss_sp = room, .ss_size = sizeof(room)}, none = {.ss_flags = SS_DISABLE};
    struct sigaction action = {.sa_handler = on_own_stack, .sa_flags = SA_ONSTACK};
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    assert_int_equal(sigaltstack(&other, NULL), 0);
    static const int depths[] = {5, 5, 9, 9, 9, 2, 2, 30, 5};
    n_wrong = n_captured = 0;
    n_shared = 0;
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++)
        raises(depths[i]);
    assert_int_equal(n_captured, sizeof depths / sizeof *depths);
    assert_true(n_shared > n_captured * 4);
    assert_int_equal(n_wrong, 0);
    assert_int_equal(sigaltstack(&none, NULL), 0);
}

/* Deeper than a walk goes. */
APART static int descend(int depth, int at)
{
    if (depth % 37 == 0 || depth < 3) {
        n_wrong += !captures_agree();
        n_captured++;
    }
    int sum = depth < at ? descend(depth + 1, at) : 0;
    if (depth % 41 == 0 || depth > at - 3) {
        n_wrong += !captures_agree();
        n_captured++;
    }
    return sum + 1;
}

APART static int descend_to_repeat(int depth)
{
    volatile int below = depth > 0 ? descend_to_repeat(depth - 1) : 0;
    if (depth > 0)
        return below + 1;
    for (volatile int i = 0; i < 3; i++) {
        n_wrong += !capture_and_hash();
        n_wrong += got.n != CAIRN_MAX_FRAMES || got.end != CAIRN_END_MAX_FRAMES;
        n_wrong += i > 0 && got.n_shared != got.n;
    }
    return 0;
}

static void deep_stacks_are_remembered_too(void **state)
{
    (void)state;
    need_memory_of_walks();
    n_wrong = n_captured = 0;
    descend(0, DEEP);
    assert_int_equal(n_wrong, 0);
    assert_true(n_captured > 100);
    descend_to_repeat(DEEP);
    assert_int_equal(n_wrong, 0);
    assert_true(n_remembered() >= CAIRN_MAX_FRAMES);
}

static volatile uintptr_t busy_in_handler;

static void capture_on_other_stack(int number)
{
    uintptr_t ips[ROOM];
    (void)number;
    assert_true(cairn_unwind_here(ips, ROOM, NULL) > 1);
    busy_in_handler = cairn_local_mine.state->hot.busy;
}

/* As longjmp(3) leaves one out of a handler before it knew more of the stack than where it began.
 */
static void a_capture_that_was_left_does_not_stay(void **state)
{
    (void)state;
    need_memory_of_walks();
    static char room[1 << 16];
    const stack_t other = {.ss_sp = room, .ss_size = sizeof(room)}, none = {.ss_flags = SS_DISABLE};
    const struct sigaction action = {.sa_handler = capture_on_other_stack, .sa_flags = SA_ONSTACK};
    struct sigaction before;
    assert_true(capture_and_hash());
    struct cairn_local_hot *hot = &cairn_local_mine.state->hot;
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    sigaltstack(&other, NULL);
    sigaction(SIGUSR1, &action, &before);
    for (unsigned pages = 1; pages < 9; pages += 7) {
        hot->busy = here - pages * CAIRN_LOCAL_PAGE;
        hot->stack.low = hot->stack.high = hot->busy & ~(uintptr_t)(CAIRN_LOCAL_PAGE - 1);
        raise(SIGUSR1);
        assert_int_not_equal(busy_in_handler, 0);
        assert_true(capture_and_hash());
        assert_int_equal(hot->busy, 0);
    }
    sigaction(SIGUSR1, &before, NULL);
    sigaltstack(&none, NULL);
}

/* One area: below, where a coroutine runs; above, where handlers do. */
enum { HALF = 1 << 17 };
static char *area;
static ucontext_t main_context, low_context;
static uintptr_t busy_before, busy_after;

static void be_interrupted(void)
{
    assert_true(capture_and_hash());
    struct cairn_local_hot *hot = &cairn_local_mine.state->hot;
    busy_before = (uintptr_t)__builtin_frame_address(0) - CAIRN_LOCAL_PAGE;
    hot->stack.high = (uintptr_t)area + 2 * HALF; /* as when a word above was asked for */
    hot->busy = busy_before;
    raise(SIGUSR1);
    busy_after = hot->busy;
    hot->busy = 0;
}

/* What the handler's capture would do to the interrupted one's state if it took it for left. */
static void a_handler_on_the_pages_above_is_no_way_out(void **state)
{
    (void)state;
    need_memory_of_walks();
    area = mmap(NULL, 2 * HALF, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(area, MAP_FAILED);
    const stack_t other = {.ss_sp = area + HALF, .ss_size = HALF}, none = {.ss_flags = SS_DISABLE};
    const struct sigaction action = {.sa_handler = capture_on_other_stack, .sa_flags = SA_ONSTACK};
    struct sigaction before;
    assert_int_equal(sigaltstack(&other, NULL), 0);
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    getcontext(&low_context);
    low_context.uc_stack = (stack_t){.ss_sp = area, .ss_size = HALF};
    low_context.uc_link = &main_context;
    makecontext(&low_context, be_interrupted, 0);
    swapcontext(&main_context, &low_context);
    assert_int_not_equal(busy_before, 0);
    assert_int_equal(busy_in_handler, busy_before);
    assert_int_equal(busy_after, busy_before);
    sigaction(SIGUSR1, &before, NULL);
    sigaltstack(&none, NULL);
    munmap(area, 2 * HALF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_shared_frames_hold),
        cmocka_unit_test(a_handler_shares_what_it_interrupted),
        cmocka_unit_test(a_context_is_remembered),
        cmocka_unit_test(a_context_of_another_stack_is_remembered),
        cmocka_unit_test(a_handler_over_other_depths_shares_nothing_wrong),
        cmocka_unit_test(deep_stacks_are_remembered_too),
        cmocka_unit_test(a_capture_that_was_left_does_not_stay),
        cmocka_unit_test(a_handler_on_the_pages_above_is_no_way_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
