/* SPDX-License-Identifier: MIT */
/*
 * Captures that are proven to be the last one at other call sites, beside walks that remember
 * nothing: the same frames, and none said to be shared that is not.
 */
#include <alloca.h>
#include <pthread.h>

#include <cairn/unwind.h>

#include "support/apart.h"
#include "support/sanitized.h"
#include "support/test.h"
#include "unwind/local.h"
#include "unwind/local_slow.h"

enum { ROOM = CAIRN_MAX_FRAMES, ROUNDS = 20000, DEPTH = 24 };

#ifdef __arm__
enum { REMEMBERS = 0 };
#else
enum { REMEMBERS = 1 };
#endif

/* How many captures in a hundred must be told the short way: all but the first of some loops. On
 * aarch64 two or three are not more, behind frames of the C library that count from x29; with ASan
 * frames are realigned, and all of them count from the frame pointer. */
#ifdef __aarch64__
enum { LEAST = UNDER_ASAN ? 0 : 95 };
#else
enum { LEAST = UNDER_ASAN ? 0 : 99 };
#endif

static unsigned n_captures, n_again, n_moved, n_wrong;

/* By their place from the outermost on; of the same thread's last capture. */
static _Thread_local uintptr_t kept[ROOM];

static bool is_as_walked(const struct cairn_local_frame_at *at,
                         const struct cairn_local_frame *frames, uint32_t n)
{
    static uintptr_t ips[ROOM];
    const struct cairn_local_start start = {.ret = at->ret, .sp = at->sp, .fp = at->fp};
    struct cairn_local_out out = {.ips = ips, .max = ROOM};
    cairn_local_slow_walk(&start, &out);
    if (out.n != n)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (ips[i] != frames[i].ret)
            return false;
    return true;
}

/* As the heap tracker does it. */
APART static void capture(void)
{
    const uintptr_t *frame = __builtin_frame_address(0);
    const struct cairn_local_frame_at at = {frame[1], (uintptr_t)__builtin_dwarf_cfa(), frame[0]};
    struct cairn_local_again got = cairn_local_again(at.ret, at.sp, at.fp);
    n_captures++;
    n_again += got.n != 0;
    n_moved += got.n != 0 && got.n_shared != got.n;
    if (got.n == 0) {
        struct cairn_local_capture other;
        assert_true(cairn_local_capture(&at, &other));
        got = (struct cairn_local_again){other.frames, .n = other.n, .n_shared = other.n_shared};
    }
    for (uint32_t i = 0; i < got.n_shared; i++)
        n_wrong += kept[i] != got.frames[got.n - 1 - i].ret;
    for (uint32_t i = 0; i < got.n; i++)
        kept[i] = got.frames[got.n - 1 - i].ret;
    n_wrong += !is_as_walked(&at, got.frames, got.n);
}

static unsigned seed = 11;

static unsigned roll(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 16;
}

static bool has_fp;

/* Of two calls that are otherwise the same a compiler may make one. */
static inline unsigned hidden(unsigned value)
{
    __asm__("" : "+r"(value));
    return value;
}

/* Frames that differ by their calls alone, with and without a frame pointer to count from, and some
 * that differ in size, so that the whole is as large in another way. */
APART static int down(unsigned path, int depth);

APART static int narrow(unsigned path, int depth)
{
    return down(path, depth - 1) + 3;
}

APART static int wide(unsigned path, int depth)
{
    volatile char room[64];
    room[0] = 1;
    return down(path, depth - 1) + room[0];
}

APART static int by_frame_pointer(unsigned path, int depth)
{
    volatile char *room = alloca(16 + (path & 16));
    room[0] = 1;
    return path & 1 ? down(path >> 1, depth - 1) + room[0]
                    : down(hidden(path >> 1), depth - 1) - room[0];
}

/* Captures not only at the end, but on the way there and back. */
static bool everywhere;

APART static int down(unsigned path, int depth)
{
    volatile int sum = 0;
    if (depth == 0 || (everywhere && roll() % 8 == 0))
        capture();
    if (depth == 0)
        return 0;
    if (depth % 5 == 2 && has_fp)
        sum = by_frame_pointer(path, depth);
    else if (depth % 5 == 4)
        sum = path & 4 ? wide(path >> 1, depth) : narrow(path >> 1, depth);
    else if (path & 1)
        sum = down(path >> 1, depth - 1) + 1;
    else
        sum = down(hidden(path >> 1), depth - 1) - 1;
    if (everywhere && roll() % 8 == 0)
        capture();
    return sum + depth;
}

static void need_memory_of_walks(void)
{
    if (REMEMBERS)
        return;
    print_message("skipped: this CPU walks every frame each time\n");
    skip();
}

static void wander(void)
{
    unsigned path = 0;
    n_captures = n_again = n_moved = n_wrong = 0;
    for (int i = 0; i < ROUNDS; i++) {
        if (roll() % 4)
            path = roll() % 8 ? path ^ 1u << roll() % DEPTH : roll();
        down(path, DEPTH);
    }
    assert_int_equal(n_wrong, 0);
    assert_true(n_again > n_captures / 2);
    assert_true(n_moved > n_captures / 16);
}

static void other_calls_are_seen(void **state)
{
    (void)state;
    need_memory_of_walks();
    wander();
}

static void other_calls_are_seen_where_frames_have_pointers(void **state)
{
    (void)state;
    need_memory_of_walks();
    has_fp = true;
    wander();
}

static void other_depths_are_seen(void **state)
{
    (void)state;
    need_memory_of_walks();
    has_fp = false;
    n_captures = n_again = n_wrong = 0;
    for (int i = 0; i < ROUNDS; i++)
        down(roll(), DEPTH - (int)(roll() % 16 ? 0 : roll() % 4));
    assert_int_equal(n_wrong, 0);
    assert_true(n_again >= n_captures / 100 * LEAST);
}

static void other_frames_are_seen_on_the_way(void **state)
{
    (void)state;
    need_memory_of_walks();
    has_fp = false;
    everywhere = true;
    n_captures = n_again = n_moved = n_wrong = 0;
    for (int i = 0; i < ROUNDS / 10; i++)
        down(roll(), DEPTH);
    everywhere = false;
    assert_int_equal(n_wrong, 0);
    assert_true(n_again >= n_captures / 100 * LEAST);
    assert_true(n_moved >= n_captures / 200 * LEAST);
}

static unsigned n_bad;

/* As a loop has them, each for some time; then one call is another, anywhere. */
static void stay(unsigned depth)
{
    unsigned path = 0;
    n_captures = n_again = n_moved = n_wrong = 0;
    for (int i = 0; i < ROUNDS / 100; i++) {
        path = roll() % 4 ? path ^ 1u << roll() % DEPTH : roll();
        for (unsigned n = roll() % 30; n > 0; n--)
            down(path, (int)depth);
    }
    if (n_wrong > 0 || n_again < n_captures / 100 * LEAST || n_moved == 0) {
        print_message("%u captures, %u again, %u wrong\n", n_captures, n_again, n_wrong);
        n_bad++;
    }
}

/* The same at other places within a page. */
APART static void stay_lower(int by, unsigned depth)
{
    volatile char room[208];
    room[0] = 1;
    if (by > 0)
        stay_lower(by - 1, depth);
    else
        stay(depth);
    room[1] = room[0];
}

static void *stay_everywhere(void *arg)
{
    (void)arg;
    for (int by = 0; by < 16; by++)
        stay_lower(by, DEPTH);
    stay(DEPTH * 4); /* on more than two pages */
    return NULL;
}

/* In a thread, which has few frames outside of these. */
static void changes_are_seen_in_stacks_that_stayed(void **state)
{
    pthread_t thread;
    (void)state;
    need_memory_of_walks();
    has_fp = false;
    assert_int_equal(pthread_create(&thread, NULL, stay_everywhere, NULL), 0);
    pthread_join(thread, NULL);
    assert_int_equal(n_bad, 0);
}

static void changes_are_seen_between_other_walks(void **state)
{
    (void)state;
    need_memory_of_walks();
    has_fp = false;
    n_captures = n_again = n_wrong = 0;
    for (int i = 0; i < ROUNDS; i++) {
        uintptr_t ips[ROOM];
        down(0, DEPTH + i / 8 % 2);
        if (i % 8 == 7)
            assert_true(cairn_unwind_here(ips, ROOM, NULL) > 0);
    }
    assert_int_equal(n_wrong, 0);
}

/* More than a walk may have: each is another way's business. */
APART static int deep(int depth)
{
    volatile int below = 0;
    if (depth > 0)
        below = deep(depth - 1);
    else
        for (volatile int i = 0; i < 3; i++)
            capture();
    return below + 1;
}

static void deep_stacks_are_left_alone(void **state)
{
    (void)state;
    need_memory_of_walks();
    n_again = n_wrong = 0;
    deep(CAIRN_MAX_FRAMES + 100);
    assert_int_equal(n_wrong, 0);
    assert_int_equal(n_again, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_calls_are_seen),
        cmocka_unit_test(other_calls_are_seen_where_frames_have_pointers),
        cmocka_unit_test(other_depths_are_seen),
        cmocka_unit_test(other_frames_are_seen_on_the_way),
        cmocka_unit_test(changes_are_seen_in_stacks_that_stayed),
        cmocka_unit_test(changes_are_seen_between_other_walks),
        cmocka_unit_test(deep_stacks_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
