/* SPDX-License-Identifier: MIT */
/*
 * What a capture of the own thread's stack costs, by each way of doing it, on the functions that
 * gen_chains.py writes. Frames of every exact way are held against unw_step's in the same run.
 *
 * Times are of this thread alone, in nanoseconds: the machine may be shared. Each is the least of
 * several rounds of the same work, and where captures differ the median of them.
 */
#define UNW_LOCAL_ONLY
#include "unwind/local.h"

#include <dlfcn.h>
#include <libunwind.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

#include <cairn/unwind.h>

enum {
    ROOM = 256,
    STACKS = 2000, /* different ones */
    ROUNDS = 7,
    CALLS = 2000, /* captures of one measurement of the same stack */
    COLD_ROUNDS = 15,
    EVICT_BYTES = 96 << 20, /* three times the last cache */
    CHAIN_DEPTH = 32,
    WALK_DEPTH = 32,
    INNER_DEPTH = 8
};

struct walk {
    long depth;
    void (*leaf)(struct walk *);
    unsigned seed;
    long sum;
};
typedef long (*step_fn)(struct walk *, long, long, long);
extern step_fn chain[], steps[];

/* Return addresses into `ips`; the first is behind the call of this function, as near as may be. */
typedef int (*capture_fn)(uintptr_t *ips, int max);

/* libc's own: the one of libunwind, to which this is linked, comes before it. */
static int (*glibc_backtrace)(void **, int);

static int by_glibc(uintptr_t *ips, int max)
{
    return glibc_backtrace((void **)ips, max);
}

static int by_libunwind(uintptr_t *ips, int max)
{
    return unw_backtrace((void **)ips, max);
}

static int by_unw_step(uintptr_t *ips, int max)
{
    unw_context_t context;
    unw_cursor_t cursor;
    unw_word_t ip;
    int n = 0;
    unw_getcontext(&context);
    unw_init_local(&cursor, &context);
    while (n < max && unw_step(&cursor) > 0) {
        unw_get_reg(&cursor, UNW_REG_IP, &ip);
        ips[n++] = ip;
    }
    return n;
}

static int by_frame_pointers(uintptr_t *ips, int max)
{
    const uintptr_t *fp = __builtin_frame_address(0);
    int n = 0;
    while (n < max && fp[1]) {
        ips[n++] = fp[1];
        const uintptr_t *next = (const uintptr_t *)fp[0];
        if (next <= fp || next - fp > (1 << 20) || (uintptr_t)next % 8)
            break;
        fp = next;
    }
    return n;
}

static int by_cairn(uintptr_t *ips, int max)
{
    return (int)cairn_unwind_here(ips, (size_t)max, NULL);
}

static int by_cairn_frame_pointers(uintptr_t *ips, int max)
{
    return (int)cairn_unwind_frame_pointers(ips, (size_t)max, NULL);
}

/* As the heap tracker does it: the frames stay where they are. */
static int by_cairn_in_place(uintptr_t *ips, int max)
{
    (void)ips;
    (void)max;
    const uintptr_t *frame = __builtin_frame_address(0);
    const struct cairn_local_frame_at at = {frame[1], (uintptr_t)(frame + 2), frame[0]};
    struct cairn_local_again again = cairn_local_again(at.ret, at.sp, at.fp);
    if (again.n > 0)
        return (int)again.n;
    struct cairn_local_capture capture;
    return cairn_local_capture(&at, &capture) ? (int)capture.n : 0;
}

static const struct way {
    const char *name;
    capture_fn capture;
    int slowness; /* its rounds have so many fewer calls */
    bool exact;
} ways[] = {
    {"glibc backtrace", by_glibc, 10, true},
    {"unw_step", by_unw_step, 20, true},
    {"unw_backtrace", by_libunwind, 1, true},
    {"frame pointers", by_frame_pointers, 1, false},
    {"cairn, checked fp", by_cairn_frame_pointers, 10, false},
    {"cairn", by_cairn, 1, true},
    {"cairn, in place", by_cairn_in_place, 1, false},
};
enum { N_WAYS = sizeof(ways) / sizeof(*ways) };

static uintptr_t room[ROOM];
static double ns_per_tick;
static char *evicted;
static unsigned n_checked, n_wrong;

static double thread_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static uint64_t ticks(void)
{
    unsigned cpu;
    _mm_lfence();
    uint64_t now = __rdtscp(&cpu);
    _mm_lfence();
    return now;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof(*values), by_value);
    return values[n / 2];
}

/* The frames outside of this file are the same, twice over: with and without a last walk. */
static void check(void)
{
    static uintptr_t truth[ROOM], got[ROOM];
    int n = by_unw_step(truth, ROOM);
    for (int way = 0; way < N_WAYS; way++) {
        for (int round = 0; round < 2 && ways[way].exact; round++) {
            int m = ways[way].capture(got, ROOM), same = 0;
            while (same < n && same < m && got[m - 1 - same] == truth[n - 1 - same])
                same++;
            n_checked++;
            n_wrong += same < n - 2;
        }
    }
}

static void row(const char *name, int n, double ns, double cold)
{
    printf("  %-18s %4d frames  %8.1f ns  %7.2f a frame", name, n, ns, ns / n);
    if (cold > 0)
        printf("   caches evicted %7.0f ns  %6.1f a frame", cold, cold / n);
    printf("\n");
}

static int by_nothing(uintptr_t *ips, int max)
{
    ips[0] = (uintptr_t)max;
    return 1;
}

/* Of which what it costs to measure is a good part: the clock's own cold pages. */
static double cold_ns(capture_fn capture)
{
    double values[COLD_ROUNDS];
    for (int i = 0; i < COLD_ROUNDS; i++) {
        for (size_t at = 0; at < EVICT_BYTES; at += 64)
            evicted[at]++;
        uint64_t start = ticks();
        capture(room, ROOM);
        values[i] = (double)(ticks() - start) * ns_per_tick;
    }
    return median(values, COLD_ROUNDS);
}

static void measure_same(struct walk *w)
{
    check();
    printf("the same stack again and again, depth %ld\n", w->depth);
    for (const struct way *way = ways; way < ways + N_WAYS; way++) {
        double best = 1e18;
        int n = way->capture(room, ROOM), calls = CALLS / way->slowness;
        for (int round = 0; round < 3 * ROUNDS; round++) {
            double start = thread_ns();
            for (int i = 0; i < calls; i++)
                n = way->capture(room, ROOM);
            double ns = (thread_ns() - start) / calls;
            best = ns < best ? ns : best;
        }
        row(way->name, n, best, cold_ns(way->capture) - cold_ns(by_nothing));
    }
}

/* Stacks that differ: of each its least time. */
static const struct way *current;
static double least[STACKS];
static int stack_number;
static long n_frames;

static void measure_one(struct walk *w)
{
    (void)w;
    uint64_t start = ticks();
    int n = current->capture(room, ROOM);
    double ns = (double)(ticks() - start) * ns_per_tick;
    if (ns < least[stack_number])
        least[stack_number] = ns;
    n_frames += n;
}

static void check_one(struct walk *w)
{
    (void)w;
    check();
}

static void walk_all(long depth, void (*leaf)(struct walk *))
{
    for (stack_number = 0; stack_number < STACKS; stack_number++) {
        struct walk w = {depth, leaf, (unsigned)stack_number * 2654435761u + 17, 0};
        steps[stack_number * 31 % 768](&w, 1, 2, 3);
    }
}

static void measure_different(long depth)
{
    double clock = 1e18;
    for (int i = 0; i < 1000; i++) {
        uint64_t start = ticks();
        double ns = (double)(ticks() - start) * ns_per_tick;
        clock = ns < clock ? ns : clock;
    }
    for (current = ways; current < ways + N_WAYS; current++) {
        for (int i = 0; i < STACKS; i++)
            least[i] = 1e18;
        n_frames = 0;
        int rounds = current->slowness > 1 ? 2 : ROUNDS;
        for (int round = 0; round < rounds; round++)
            walk_all(depth, measure_one);
        row(current->name, (int)(n_frames / rounds / STACKS), median(least, STACKS) - clock, 0);
    }
}

static void measure_inner(struct walk *w)
{
    (void)w;
    walk_all(INNER_DEPTH, check_one);
    printf("%d outer frames fixed, %d inner ones at random\n", CHAIN_DEPTH, INNER_DEPTH);
    measure_different(INNER_DEPTH);
}

int main(void)
{
    struct timespec pause = {0, 200 * 1000 * 1000}, a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    uint64_t start = ticks();
    nanosleep(&pause, NULL);
    clock_gettime(CLOCK_MONOTONIC, &b);
    ns_per_tick = ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) /
                  (double)(ticks() - start);
    void *libc = dlopen("libc.so.6", RTLD_NOW);
    glibc_backtrace = (int (*)(void **, int))dlsym(libc, "backtrace");
    evicted = malloc(EVICT_BYTES);
    if (!evicted || !glibc_backtrace)
        return 1;
    memset(evicted, 1, EVICT_BYTES);
    for (long depth = 8; depth <= 64; depth *= 2)
        chain[0](&(struct walk){depth, measure_same, 1, 0}, 1, 2, 3);
    walk_all(WALK_DEPTH, check_one);
    printf("every stack another one: depth %d, 768 functions\n", WALK_DEPTH);
    measure_different(WALK_DEPTH);
    chain[0](&(struct walk){CHAIN_DEPTH, measure_inner, 1, 0}, 1, 2, 3);
    printf("%u captures held against unw_step, %u of them differ\n", n_checked, n_wrong);
    free(evicted);
    return n_wrong != 0;
}
