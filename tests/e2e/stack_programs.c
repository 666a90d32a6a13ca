/* SPDX-License-Identifier: MIT */
/*
 * What stacks are taken of, without threads and with them; each goes on until it is killed:
 *
 *     stack_programs deep            main, 30 calls
 *     stack_programs threads         4 threads below qsort() of libc
 *     stack_programs handler         a handler on a stack of its own, that struck in qsort()
 *     stack_programs crash           the same, and dies there (-DNO_THREADS: for qemu-user)
 */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifndef NO_THREADS
#include <pthread.h>
#endif

static volatile int sink, crashes;

__attribute__((noinline)) int deep(int n);
__attribute__((noinline)) void in_handler(int number);

int deep(int n)
{
    while (n == 0 && !crashes && sink >= 0)
        pause();
    if (n == 0)
        *(volatile int *)(uintptr_t)(sink + 8) = 1;
    int r = n ? deep(n - 1) : 0;
    return r + sink + n;
}

static int compare(const void *a, const void *b)
{
    (void)a, (void)b;
    return deep(10) + sink;
}

static void sort(void)
{
    int numbers[4] = {3, 2, 1, 0};
    qsort(numbers, 4, sizeof *numbers, compare);
    sink += numbers[0];
}

void in_handler(int number)
{
    sort();
    sink += number;
}

static int compare_and_raise(const void *a, const void *b)
{
    (void)a, (void)b;
    raise(SIGUSR1);
    return sink;
}

static void be_in_a_handler(void)
{
    static char room[65536];
    int numbers[4] = {3, 2, 1, 0};
    stack_t other;
    struct sigaction action;
    memset(&other, 0, sizeof other);
    memset(&action, 0, sizeof action);
    other.ss_sp = room;
    other.ss_size = sizeof room;
    action.sa_handler = in_handler;
    action.sa_flags = SA_ONSTACK;
    sigaltstack(&other, NULL);
    sigaction(SIGUSR1, &action, NULL);
    qsort(numbers, 4, sizeof *numbers, compare_and_raise);
}

#ifndef NO_THREADS
static void *run(void *ctx)
{
    sort();
    return ctx;
}

static void start_threads(void)
{
    pthread_t thread;
    for (int i = 0; i < 4; i++)
        pthread_create(&thread, NULL, run, NULL);
}
#endif

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    crashes = strcmp(what, "crash") == 0;
#ifndef NO_THREADS
    if (strcmp(what, "threads") == 0)
        start_threads();
#endif
    if (crashes || strcmp(what, "handler") == 0)
        be_in_a_handler();
    int r = deep(30);
    return r + sink;
}
