/* SPDX-License-Identifier: MIT */
/*
 * A heap to be searched for lost blocks: lists below a table, 1,000 blocks that are lost, and a
 * thread that walks the lists. How many steps it has made and the longest time in which it made
 * none are in a shared file: what a look costs the program.
 *
 *     graph BLOCKS BYTES STATS    says "ready"; with each line it asks LeakSanitizer, if it is
 *                                 built with it, and says how many seconds that took
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

__attribute__((weak)) int __lsan_do_recoverable_leak_check(void);

enum { LOST = 1000, A_LIST = 16, STEPS = 64 };

struct node {
    struct node *next, *other;
};

struct stats {
    uint64_t steps, longest_ns, cpu_ns;
};

static struct node **lists;
static size_t n_lists;
static volatile struct stats *stats;
static uint64_t seed = 1;

static uint64_t any(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return *state >> 33;
}

static uint64_t now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Half of the mean size to one and a half of it. */
static struct node *node_of(size_t bytes)
{
    size_t size = bytes / 2 + any(&seed) % (bytes + 1);
    struct node *node = malloc(size < sizeof *node ? sizeof *node : size);
    if (!node)
        abort();
    node->next = node->other = NULL;
    return node;
}

static void make(size_t n, size_t bytes)
{
    n_lists = n / A_LIST + 1;
    lists = calloc(n_lists, sizeof *lists);
    if (!lists)
        abort();
    for (size_t i = 0; i < n; i++) {
        struct node **list = &lists[any(&seed) % n_lists], *node = node_of(bytes);
        node->next = *list;
        node->other = lists[any(&seed) % n_lists];
        *list = node;
    }
    for (int i = 0; i < LOST; i++) {
        struct node *volatile lost = node_of(bytes);
        lost->other = lists[0];
        lost = NULL;
    }
}

static void *walk(void *unused)
{
    uint64_t own = 7, before = now(CLOCK_MONOTONIC);
    for (;;) {
        for (int i = 0; i < STEPS; i++)
            for (volatile struct node *at = lists[any(&own) % n_lists]; at; at = at->next)
                stats->steps++;
        uint64_t time = now(CLOCK_MONOTONIC);
        if (time - before > stats->longest_ns)
            stats->longest_ns = time - before;
        before = time;
        stats->cpu_ns = now(CLOCK_THREAD_CPUTIME_ID);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    char line[16];
    int fd = argc == 4 ? open(argv[3], O_RDWR | O_CREAT, 0600) : -1;
    if (fd < 0 || ftruncate(fd, sizeof *stats) < 0)
        return 2;
    stats = mmap(NULL, sizeof *stats, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    make(strtoull(argv[1], NULL, 10), strtoull(argv[2], NULL, 10));
    pthread_create(&thread, NULL, walk, NULL);
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        uint64_t begin = now(CLOCK_MONOTONIC);
        if (__lsan_do_recoverable_leak_check)
            __lsan_do_recoverable_leak_check();
        printf("%.3f\n", (double)(now(CLOCK_MONOTONIC) - begin) / 1e9);
        fflush(stdout);
    }
    _exit(0);
}
