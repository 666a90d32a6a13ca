/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
/*
 * What heap_older.sh attaches to: it knows its own live blocks. THREADS threads fill the allocator
 * by all its functions, with blocks of many sizes, and free half of them, so that caches, fastbins
 * and bins are full. Then the main thread obeys its stdin, and answers each line with one:
 *
 *     list        a line "ADDRESS USABLE" for each block that lives, and "end"
 *     free N      frees every N-th block of each thread: "blocks bytes" of these
 *     busy        the threads make and free other blocks all the time, beside those that they keep
 *     idle        and rest again
 *     scribble    overwrites the head of a block in the middle of the main arena
 */
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 6, KEPT = 4000, BUSY = 512, LARGE = 1 << 20 };

struct mine {
    void *kept[KEPT];
    unsigned random;
    pthread_t thread;
};
static struct mine all[THREADS];
static atomic_int n_ready, is_busy, n_busy;

static unsigned next(unsigned *random)
{
    *random = *random * 1103515245 + 12345;
    return *random >> 8;
}

static size_t size_of(unsigned x)
{
    return x % 997 == 0 ? 140000 + x % LARGE : x % 31 == 0 ? x % 20000 : x % 300;
}

static void *make(unsigned kind, size_t bytes)
{
    void *block = NULL;
    switch (kind % 8) {
    case 0:
        return calloc(1, bytes);
    case 1:
        return posix_memalign(&block, (size_t)64 << kind % 11, bytes) == 0 ? block : NULL;
    case 2:
        return realloc(malloc(8), bytes ? bytes : 1);
    case 3:
        return memalign(32, bytes);
    case 4:
        return calloc(1, 648 - bytes % 16); /* looks like an empty cache of a thread */
    default:
        return malloc(bytes);
    }
}

static void fill(struct mine *mine)
{
    for (unsigned i = 0; i < 3 * KEPT; i++) {
        unsigned x = next(&mine->random), at = next(&mine->random) % KEPT;
        void *block = mine->kept[at];
        free(block);
        mine->kept[at] = block ? NULL : make(x >> 3, size_of(x));
    }
}

static void churn(struct mine *mine)
{
    void *blocks[BUSY] = {0};
    while (atomic_load(&is_busy)) {
        unsigned x = next(&mine->random), at = next(&mine->random) % BUSY;
        free(blocks[at]);
        blocks[at] = make(x >> 3, size_of(x) % 5000);
    }
    for (unsigned i = 0; i < BUSY; i++)
        free(blocks[i]);
}

static void *work(void *arg)
{
    fill(arg);
    atomic_fetch_add(&n_ready, 1);
    for (;;) {
        while (!atomic_load(&is_busy))
            usleep(1000);
        atomic_fetch_add(&n_busy, 1);
        churn(arg);
        atomic_fetch_sub(&n_busy, 1);
    }
    return NULL;
}

static void set_busy(int busy)
{
    atomic_store(&is_busy, busy);
    while (atomic_load(&n_busy) != (busy ? THREADS - 1 : 0))
        usleep(1000);
}

static void list(void)
{
    for (unsigned i = 0; i < THREADS * KEPT; i++) {
        void *block = all[i / KEPT].kept[i % KEPT];
        if (block)
            printf("%lx %zu\n", (unsigned long)block, malloc_usable_size(block));
    }
}

static void free_some(unsigned every)
{
    size_t n = 0, bytes = 0;
    for (unsigned i = 0; i < THREADS * KEPT; i += every) {
        void **block = &all[i / KEPT].kept[i % KEPT];
        n += *block != NULL;
        bytes += malloc_usable_size(*block);
        free(*block);
        *block = NULL;
    }
    printf("%zu %zu\n", n, bytes);
}

static void scribble(void)
{
    void **kept = all[0].kept;
    for (unsigned i = KEPT / 2; i < KEPT; i++)
        if (kept[i] && malloc_usable_size(kept[i]) < LARGE / 10) {
            memset((char *)kept[i] - 16, 0x55, 16);
            kept[i] = NULL; /* never touched again */
            break;
        }
    puts("done");
}

int main(void)
{
    char line[64];
    unsigned n;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (unsigned i = 0; i < THREADS; i++)
        all[i].random = 77 * i + 5;
    for (unsigned i = 1; i < THREADS; i++)
        pthread_create(&all[i].thread, NULL, work, &all[i]);
    fill(&all[0]);
    while (atomic_load(&n_ready) < THREADS - 1)
        usleep(1000);
    while (fgets(line, sizeof line, stdin)) {
        if (strcmp(line, "list\n") == 0)
            list(), puts("end");
        else if (sscanf(line, "free %u", &n) == 1 && n)
            free_some(n);
        else if (strcmp(line, "scribble\n") == 0)
            scribble();
        else
            set_busy(strcmp(line, "busy\n") == 0), puts("done");
    }
    return 0;
}
