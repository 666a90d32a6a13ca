/* SPDX-License-Identifier: MIT */
/* Threads of fixed names and a child process, one after the other: what is recorded of it can be
 * counted by name. Each maps pages, too, so that it has page faults. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGES_BYTES = 1 << 20 };

static volatile unsigned long sink;
static void *volatile kept;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

__attribute__((noinline)) static void burn(double seconds)
{
    for (double end = now() + seconds; now() < end;)
        for (unsigned long i = 0; i < 2000; i++)
            sink += i;
}

__attribute__((noinline)) static void touch_pages(void)
{
    kept = malloc(PAGES_BYTES);
    if (kept)
        memset(kept, 1, PAGES_BYTES);
}

__attribute__((noinline)) static void work(double seconds)
{
    touch_pages();
    burn(seconds);
}

static void *alpha(void *name)
{
    pthread_setname_np(pthread_self(), name);
    work(0.4);
    return NULL;
}

static void *beta(void *name)
{
    pthread_setname_np(pthread_self(), name);
    work(0.3);
    return NULL;
}

static void run_thread(void *(*start)(void *), char *name)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, start, name) == 0)
        pthread_join(thread, NULL);
}

int main(void)
{
    static char names[3][8] = {"alpha-1", "alpha-2", "beta"};
    run_thread(alpha, names[0]);
    run_thread(alpha, names[1]);
    run_thread(beta, names[2]);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_NAME, "child");
        work(0.3);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    return 0;
}
