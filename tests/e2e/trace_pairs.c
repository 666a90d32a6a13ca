/* SPDX-License-Identifier: MIT */
/*
 * Functions that begin and return, or do not, for cairn trace: trace_pairs CASE [N].
 *
 *     sleep       nap(1), nap(20), nap(2): so many milliseconds each
 *     nest N      down() calls itself N times
 *     jump        leaves() is left by longjmp(3) five times after 60 ms, then returns after 3 ms
 *     tail        first() jumps to second(), which returns for both
 *     jumps N     ping() and pong() jump to each other, N calls in all
 *     fork        splits() forks, and returns in both processes
 *     exec        last() calls execve(2) of this program: sleep
 *     thread      last() ends its thread
 *     full N      N threads wait 64 calls deep, all at once
 *     loop N      a short function, N times
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PLACE __attribute__((noinline, noclone))

static jmp_buf back;
static pthread_barrier_t barrier;
static char *self;
static volatile int sink;

PLACE int nap(int ms)
{
    const struct timespec time = {.tv_nsec = ms * 1000000L};
    nanosleep(&time, NULL);
    return ms;
}

PLACE int down(int n)
{
    int k = n > 1 ? down(n - 1) : 0;
    sink++;
    return k + 1;
}

PLACE int leaves(int is_left)
{
    sink += nap(is_left ? 60 : 3);
    if (is_left)
        longjmp(back, 1);
    return 3;
}

PLACE int second(int n)
{
    sink++;
    return nap(n) + 1;
}

PLACE int first(int n)
{
    return second(n);
}

PLACE int pong(int n);

PLACE int ping(int n)
{
    sink++;
    return n > 1 ? pong(n - 1) : nap(3);
}

PLACE int pong(int n)
{
    sink++;
    return n > 1 ? ping(n - 1) : nap(3);
}

PLACE int splits(void)
{
    pid_t child = fork();
    sink++;
    return child;
}

PLACE int last(int is_thread)
{
    char *const argv[] = {self, "sleep", NULL};
    if (is_thread)
        pthread_exit(NULL);
    execv(self, argv);
    return 1;
}

static void *in_thread(void *arg)
{
    sink += last(1);
    return arg;
}

PLACE int below(int n)
{
    if (n > 1)
        sink += below(n - 1);
    else
        pthread_barrier_wait(&barrier);
    sink++;
    return n;
}

static void *wait_deep(void *arg)
{
    sink += below(64);
    return arg;
}

PLACE int leaf(int n)
{
    sink++;
    return n + 1;
}

PLACE int brief(int n) /* it begins with a push, for it keeps n */
{
    return leaf(n) + n;
}

static void jump(void)
{
    for (volatile int i = 0; i < 5; i++)
        if (!setjmp(back))
            sink += leaves(1);
    sink += leaves(0);
}

static void split(void)
{
    if (!splits())
        _exit(0);
    wait(NULL);
}

static void threads(int n, void *(*fn)(void *))
{
    pthread_t *ids = calloc((size_t)n, sizeof *ids);
    pthread_barrier_init(&barrier, NULL, (unsigned)n);
    for (int i = 0; i < n; i++)
        if (pthread_create(&ids[i], NULL, fn, NULL))
            abort();
    for (int i = 0; i < n; i++)
        pthread_join(ids[i], NULL);
    free(ids);
}

int main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "";
    const int n = argc > 2 ? atoi(argv[2]) : 1;
    self = argv[0];
    if (!strcmp(which, "sleep"))
        sink += nap(1) + nap(20) + nap(2);
    else if (!strcmp(which, "nest"))
        sink += down(n);
    else if (!strcmp(which, "jump"))
        jump();
    else if (!strcmp(which, "tail"))
        sink += first(n);
    else if (!strcmp(which, "jumps"))
        sink += ping(n);
    else if (!strcmp(which, "fork"))
        split();
    else if (!strcmp(which, "exec"))
        sink += last(0);
    else if (!strcmp(which, "thread"))
        threads(1, in_thread);
    else if (!strcmp(which, "full"))
        threads(n, wait_deep);
    else
        for (int i = 0; i < n; i++)
            sink += brief(i);
    return 0;
}
