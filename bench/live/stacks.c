/* SPDX-License-Identifier: MIT */
/*
 * Programs with known stacks, by first argument; without frame pointers. For ever, until killed.
 *
 *     deep N     N frames of some 290 bytes below main(), then busy
 *     rounds N   N steps of two frames or more, then a fixed piece of work again and again;
 *                a line each: "NS_NOW NS_OF_CPU"
 *     threads N  N threads, each some 36 frames deep, through libc's qsort, asleep;
 *                one more looks for gaps in its own time, and prints them for each line it reads:
 *                "N_GAPS LONGEST_NS SUM_NS", longer than 15 us, without waiting for a CPU
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROUND = 30000000, GAP_NS = 15000, THREAD_STEPS = 13 };

static volatile unsigned long sink;

static uint64_t clock_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static __attribute__((noinline)) void busy(void)
{
    while (++sink)
        continue;
}

static __attribute__((noinline)) int dive(int n)
{
    volatile char frame[256];
    memset((void *)frame, n, sizeof frame);
    if (n == 0) {
        busy();
        return frame[3];
    }
    return dive(n - 1) + frame[n & 255];
}

static __attribute__((noinline)) void rounds(void)
{
    for (;;) {
        uint64_t cpu_ns = clock_of(CLOCK_THREAD_CPUTIME_ID);
        unsigned long x = 1;
        for (long i = 0; i < ROUND; i++) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
        }
        sink = x;
        cpu_ns = clock_of(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
        printf("%lu %lu\n", (unsigned long)clock_of(CLOCK_MONOTONIC), (unsigned long)cpu_ns);
        fflush(stdout);
    }
}

static __attribute__((noinline)) void sleep_on(void)
{
    for (;;)
        pause();
}

/* Frames of different sizes and with different registers saved; `then` is what the last one does.
 */
static void (*then)(void);
static long step(int n, long a, long b);

static __thread int left;

static int compare(const void *a, const void *b)
{
    long r = step(left, *(const int *)a, *(const int *)b);
    return (int)(r & 1) - 1;
}

static __attribute__((noinline)) long small(int n, long a, long b)
{
    return step(n, a + 1, b) + a;
}

static __attribute__((noinline)) long large(int n, long a, long b)
{
    volatile long room[40];
    room[0] = a;
    room[39] = b;
    long r = step(n, a + 2, b + 3);
    return r + room[0] * a + room[39] * b;
}

static __attribute__((noinline)) long sorted(int n, long a, long b)
{
    int numbers[2] = {(int)a, (int)b};
    left = n;
    qsort(numbers, 2, sizeof *numbers, compare);
    return numbers[0] + a;
}

static __attribute__((noinline)) long step(int n, long a, long b)
{
    if (n <= 0) {
        then();
        return a;
    }
    if (n % 8 == 7)
        return sorted(n - 1, a, b) + b;
    return (n % 3 ? small(n - 1, a, b) : large(n - 1, a, b)) + b;
}

static void *run_thread(void *arg)
{
    (void)arg;
    step(THREAD_STEPS, 1, 2);
    return NULL;
}

static uint64_t waited_ns(int schedstat)
{
    char text[128];
    unsigned long long ran, waited = 0;
    ssize_t n = pread(schedstat, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = 0;
    return sscanf(text, "%llu %llu", &ran, &waited) == 2 ? waited : 0;
}

static _Atomic uint64_t n_gaps, longest_ns, sum_ns;

static void *watch_gaps(void *arg)
{
    int schedstat = open("/proc/thread-self/schedstat", O_RDONLY);
    uint64_t waited = waited_ns(schedstat), last = clock_of(CLOCK_MONOTONIC);
    for (;;) {
        uint64_t now = clock_of(CLOCK_MONOTONIC), gap = now - last;
        last = now;
        if (gap <= GAP_NS)
            continue;
        uint64_t since = waited_ns(schedstat) - waited;
        waited += since;
        gap = gap > since ? gap - since : 0;
        if (gap > GAP_NS) {
            n_gaps++;
            sum_ns += gap;
            longest_ns = gap > longest_ns ? gap : longest_ns;
        }
        last = clock_of(CLOCK_MONOTONIC);
    }
    return arg;
}

static void threads(int n)
{
    char line[16];
    pthread_t thread;
    then = sleep_on;
    for (int i = 0; i < n; i++)
        pthread_create(&thread, NULL, run_thread, NULL);
    pthread_create(&thread, NULL, watch_gaps, NULL);
    printf("ready\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        printf("%lu %lu %lu\n", (unsigned long)atomic_exchange(&n_gaps, 0),
               (unsigned long)atomic_exchange(&longest_ns, 0),
               (unsigned long)atomic_exchange(&sum_ns, 0));
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    int n = argc > 2 ? atoi(argv[2]) : 0;
    if (n <= 0)
        return 2;
    if (strcmp(argv[1], "deep") == 0)
        return dive(n);
    if (strcmp(argv[1], "threads") == 0)
        threads(n);
    else {
        then = rounds;
        sink = (unsigned long)step(n, 1, 2);
    }
    return 0;
}
