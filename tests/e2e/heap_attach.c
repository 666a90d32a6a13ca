/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
/*
 * What heap_attach.sh attaches to: threads that allocate all the time, others that wait in calls
 * which a stop of their thread ends with EINTR, and a main thread that does what stdin says, a line
 * for each command, and answers each with a line:
 *
 *     keep N SIZE   N blocks more by each allocating thread, and a last answer when all have them
 *     drop          frees them
 *     eintr         how many waiting calls came back early, for whatever reason
 *     turns         how many blocks the allocating threads made so far
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, SLOTS = 64, KEPT_MAX = 4000, WAIT_S = 600 };

static atomic_int wanted, wanted_bytes, round_, n_done, n_early;
static atomic_ulong n_turns;

struct kept {
    void *blocks[KEPT_MAX];
    int n;
};

__attribute__((noinline)) static void *keep_one(int bytes)
{
    return malloc((size_t)bytes);
}

static void obey(struct kept *kept)
{
    int n = atomic_load(&wanted);
    for (; kept->n < n; kept->n++)
        kept->blocks[kept->n] = keep_one(atomic_load(&wanted_bytes));
    for (; kept->n > n; kept->n--)
        free(kept->blocks[kept->n - 1]);
}

/* All functions of the allocator in turn. */
static void *make(unsigned kind, size_t bytes)
{
    void *block = NULL;
    switch (kind % 4) {
    case 0:
        return malloc(bytes);
    case 1:
        return calloc(1, bytes);
    case 2:
        return posix_memalign(&block, 64, bytes) == 0 ? block : NULL;
    default:
        return realloc(malloc(8), bytes);
    }
}

static void *allocate(void *arg)
{
    static struct kept all[THREADS];
    struct kept *kept = &all[(size_t)arg];
    void *blocks[SLOTS] = {0};
    unsigned random = (unsigned)(size_t)arg + 1;
    int seen = 0;
    for (;;) {
        random = random * 1103515245 + 12345;
        unsigned i = random >> 16 & (SLOTS - 1);
        free(blocks[i]);
        blocks[i] = make(random >> 24, 16 + (random >> 22 & 255));
        atomic_fetch_add(&n_turns, 1);
        int now = atomic_load(&round_);
        if (now != seen) {
            obey(kept);
            seen = now;
            atomic_fetch_add(&n_done, 1);
        }
    }
    return NULL;
}

static void *wait_epoll(void *arg)
{
    struct epoll_event event;
    (void)arg;
    for (;;) {
        epoll_wait(epoll_create1(0), &event, 1, WAIT_S * 1000);
        atomic_fetch_add(&n_early, 1);
    }
    return NULL;
}

static void *wait_receive(void *arg)
{
    struct timeval limit = {WAIT_S, 0};
    int pair[2];
    char byte;
    (void)arg;
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    for (;;) {
        recv(pair[0], &byte, 1, 0);
        atomic_fetch_add(&n_early, 1);
    }
    return NULL;
}

static void *wait_semaphore(void *arg)
{
    struct sembuf down = {0, -1, 0};
    struct timespec limit = {WAIT_S, 0};
    int set = semget(IPC_PRIVATE, 1, 0600);
    *(int *)arg = set;
    for (;;) {
        if (semtimedop(set, &down, 1, &limit) < 0 && errno == EIDRM)
            return NULL;
        atomic_fetch_add(&n_early, 1);
    }
    return NULL;
}

static void order(int n, int bytes)
{
    atomic_store(&n_done, 0);
    atomic_store(&wanted, n < KEPT_MAX ? n : KEPT_MAX);
    atomic_store(&wanted_bytes, bytes);
    atomic_fetch_add(&round_, 1);
    while (atomic_load(&n_done) < THREADS)
        usleep(1000);
    puts("done");
}

int main(void)
{
    char line[128];
    pthread_t thread;
    int set = -1, n, bytes;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&thread, NULL, allocate, (void *)i);
    pthread_create(&thread, NULL, wait_epoll, NULL);
    pthread_create(&thread, NULL, wait_receive, NULL);
    pthread_create(&thread, NULL, wait_semaphore, &set);
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "keep %d %d", &n, &bytes) == 2)
            order(n, bytes);
        else if (strcmp(line, "drop\n") == 0)
            order(0, 0);
        else if (strcmp(line, "eintr\n") == 0)
            printf("%d\n", atomic_load(&n_early));
        else
            printf("%lu\n", atomic_load(&n_turns));
    }
    semctl(set, 0, IPC_RMID);
    return 0;
}
