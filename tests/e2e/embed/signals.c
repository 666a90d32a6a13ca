/* SPDX-License-Identifier: MIT */
/*
 * Signals while a hooked function runs: signals TENTHS, of seconds. Each handler calls the hooked
 * function itself.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

#include <cairn/hook.h>

static void *(*volatile call_calloc)(size_t, size_t) = calloc;
static long (*volatile call_labs)(long) = labs;
static long (*original)(long);
static volatile long n_hooked, n_signals, n_wrong;

static long hooked(long value)
{
    __atomic_fetch_add(&n_hooked, 1, __ATOMIC_RELAXED);
    return original(value);
}

static void on_signal(int number)
{
    (void)number;
    n_signals++;
    n_wrong += call_labs(-5) != 5;
}

int main(int argc, char **argv)
{
    const struct itimerval often = {{0, 500}, {0, 500}};
    const double limit = (argc > 1 ? atof(argv[1]) : 1) / 10;
    struct cairn_err err;
    struct timespec from, now;
    long n = 0;
    signal(SIGPROF, on_signal);
    setitimer(ITIMER_PROF, &often, NULL);
    clock_gettime(CLOCK_MONOTONIC, &from);
    do {
        struct cairn_hook *hook;
        if (cairn_hook_function((void *)labs, (void *)hooked, 0, (void **)&original, &hook, &err) <
            0)
            return 1;
        for (int i = 0; i < 1000; i++, n++)
            n_wrong += call_labs(-n) != n;
        if (cairn_hook_remove(hook, &err) < 0)
            return 1;
        free(call_calloc(1, 10));
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)(now.tv_sec - from.tv_sec) + (double)(now.tv_nsec - from.tv_nsec) / 1e9 <
             limit);
    printf("wrong %ld missed %ld signals %s\n", n_wrong, n_hooked < n ? n - n_hooked : 0,
           n_signals > 0 ? "came" : "missing");
    return 0;
}
