/* SPDX-License-Identifier: MIT */
/* A process to attach to in a guest: one thread allocates and frees all the time, keeping more and
 * more, the main thread waits in epoll_wait(2), and says so if that ever returns early. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { ROUND = 64, WAIT_MS = 100000, NAP_NS = 1000000 };

__attribute__((noinline)) static void *keep_one(void)
{
    return malloc(1234);
}

__attribute__((noinline)) static void use(void *unused)
{
    void *blocks[ROUND];
    (void)unused;
    for (int i = 0; i < ROUND; i++)
        blocks[i] = i % 2 ? strdup("as long as a line") : realloc(malloc(10), 5000);
    for (int i = 0; i < ROUND; i++)
        free(blocks[i]);
}

static void *allocate(void *unused)
{
    static void *volatile kept;
    for (;;) {
        use(unused);
        kept = keep_one();
        nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    }
    return kept;
}

int main(void)
{
    struct epoll_event event;
    pthread_t thread;
    int fd = epoll_create1(EPOLL_CLOEXEC);
    if (fd < 0 || pthread_create(&thread, NULL, allocate, NULL) != 0)
        return 1;
    for (;;)
        if (epoll_wait(fd, &event, 1, WAIT_MS) < 0)
            printf("epoll_wait: %s\n", strerror(errno)), fflush(stdout);
}
