/* SPDX-License-Identifier: MIT */
/*
 * A free and a malloc at a known depth of stack, many times over:
 *
 *     allocbench [-t THREADS] [-d DEPTH] [-l LIVE] [-o PAIRS] [-p PATHS] [-k LEAKS] [-i] [-L]
 *
 * through DEPTH functions, each of which calls the next from one of two places: -p as many paths in
 * all (1, 64: they differ at every level), -i the inner six at random, -L six more of random frame
 * size. LIVE blocks a thread; half of the sizes are 8 to 64 bytes, the largest 64 KiB. Prints CPU
 * nanoseconds a pair without those of the calls alone.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "chains.h"

enum {
    SIZES = 256,
    WARM = 10 /* a so manieth of PAIRS first */,
    MAX_THREADS = 64,
    LEAK_BYTES = 1234
};

static uint32_t sizes[SIZES];
static int threads = 1, depth = 16, paths = 64, leaks, inner, sized;
static long live = 10000, pairs = 1000000;
static pthread_barrier_t barrier;

struct thread {
    pthread_t id;
    void **blocks;
    uint64_t seed;
    double calls_ns, ns;
};

struct pair {
    void **block;
    uint32_t size;
};

static uint64_t roll(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

APART void leaf_pair(void *arg)
{
    struct pair *pair = arg;
    free(*pair->block);
    char *block = malloc(pair->size);
    *block = 1;
    *pair->block = block;
    __asm__ volatile("" ::: "memory");
}

APART void leaf_none(void *arg)
{
    __asm__ volatile("" ::"r"(arg) : "memory");
}

APART void leaf_leak(void *arg)
{
    char *block = malloc(LEAK_BYTES);
    *block = 1;
    __asm__ volatile("" ::"r"(block), "r"(arg) : "memory");
}

static void loop(const struct thread *thread, leaf_fn leaf, long n, uint64_t seed)
{
    uint64_t state = (thread->seed + seed) * UINT64_C(0x9e3779b97f4a7c15) + 1;
    unsigned outer = depth > 6 ? (unsigned)depth - 6 : 0;
    for (long i = 0; i < n; i++) {
        uint64_t r = roll(&state);
        struct pair pair = {&thread->blocks[(r >> 8) % (uint64_t)live], sizes[(r >> 40) % SIZES]};
        struct sized x = {leaf, &pair, (unsigned)r & 0xfff};
        unsigned path = (unsigned)r & (unsigned)(paths - 1);
        if (sized)
            chains[outer](g_entry, &x, 0);
        else if (inner)
            chains[depth](leaf, &pair, ((unsigned)r & 63) << outer);
        else
            chains[depth](leaf, &pair, path * 0x9e3779b1u >> 3 << 5 | path);
    }
}

static void *run(void *arg)
{
    struct thread *thread = arg;
    pthread_barrier_wait(&barrier);
    double start = cpu_ns();
    loop(thread, leaf_none, pairs, 7);
    thread->calls_ns = cpu_ns() - start;
    loop(thread, leaf_pair, live * 2 + pairs / WARM, 99);
    pthread_barrier_wait(&barrier);
    start = cpu_ns();
    loop(thread, leaf_pair, pairs, 7);
    thread->ns = cpu_ns() - start;
    pthread_barrier_wait(&barrier);
    return NULL;
}

static void make_sizes(void)
{
    uint64_t state = 42;
    for (int i = 0; i < SIZES; i++) {
        unsigned kind = (unsigned)(roll(&state) % 1000), r = (unsigned)(roll(&state) >> 20);
        sizes[i] = kind < 500   ? 8 + r % 57
                   : kind < 800 ? 64 + r % 193
                   : kind < 940 ? 256 + r % 769
                   : kind < 995 ? 1024 + r % 7169
                                : 8192 + r % 57345;
    }
}

static int options(int argc, char **argv)
{
    int c;
    while ((c = getopt(argc, argv, "t:d:l:o:p:k:iL")) != -1)
        switch (c) {
        case 't':
            threads = atoi(optarg);
            break;
        case 'd':
            depth = atoi(optarg);
            break;
        case 'l':
            live = atol(optarg);
            break;
        case 'o':
            pairs = atol(optarg);
            break;
        case 'p':
            paths = atoi(optarg);
            break;
        case 'k':
            leaks = atoi(optarg);
            break;
        case 'i':
            inner = 1;
            break;
        case 'L':
            sized = 1;
            break;
        default:
            return 0;
        }
    return depth >= 0 && depth <= 32 && threads >= 1 && threads <= MAX_THREADS && paths >= 1;
}

int main(int argc, char **argv)
{
    static struct thread all[MAX_THREADS];
    if (!options(argc, argv))
        return 2;
    make_sizes();
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    for (int i = 0; i < leaks; i++)
        chains[depth](leaf_leak, NULL, (unsigned)i);
    for (int i = 0; i < threads; i++) {
        all[i].seed = (uint64_t)i;
        all[i].blocks = calloc((size_t)live, sizeof(void *));
        if (i > 0 && pthread_create(&all[i].id, NULL, run, &all[i]) != 0)
            return 1;
    }
    run(&all[0]);
    double sum = 0;
    for (int i = 0; i < threads; i++) {
        if (i > 0)
            pthread_join(all[i].id, NULL);
        sum += all[i].ns - all[i].calls_ns;
        for (long k = 0; k < live; k++)
            free(all[i].blocks[k]);
        free(all[i].blocks);
    }
    printf("%.2f\n", sum / ((double)pairs * threads));
    return 0;
}
