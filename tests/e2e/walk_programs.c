/* SPDX-License-Identifier: MIT */
/*
 * Programs whose stacks are to be walked, by first argument; the second is how many seconds, the
 * third says more. Built without frame pointers.
 *
 *     deep S N     N frames of some 290 bytes (or FRAME_BYTES) below main(), then busy
 *     threads S N  N threads, each busy below a callback of qsort(3)
 *     fork S N     N children at a time, each busy for a tenth of a second
 *     forge S      returns to itself for ever: a stack that loops
 *     wild S       busy with a stack pointer that leads into nothing in the frame pointer
 *     maze S N     N frames of two functions, which is which by chance: stacks that are ever new
 *     sparse S     busy below a function with an array of 100 kB that nothing is written to
 *     signal S N   busy in a handler of SIGALRM, on a stack of its own unless N is 0
 *     raise S      signals itself again and again, and returns from the handler
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef FRAME_BYTES
#define FRAME_BYTES 256
#endif

static volatile unsigned long sink;
static double end_s;

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static __attribute__((noinline)) void busy(double until_s)
{
    while (now_s() < until_s)
        for (unsigned i = 0; i < 100000; i++)
            sink += i;
}

static __attribute__((noinline)) int dive(int n)
{
    volatile char frame[FRAME_BYTES];
    memset((void *)frame, n, sizeof frame);
    if (n == 0) {
        busy(end_s);
        return frame[3];
    }
    return dive(n - 1) + frame[n & (FRAME_BYTES - 1)];
}

static int compare(const void *a, const void *b)
{
    busy(now_s() + 0.02);
    return *(const int *)a < *(const int *)b ? -1 : *(const int *)a > *(const int *)b;
}

static void *sort(void *arg)
{
    while (now_s() < end_s) {
        int numbers[8] = {3, 1, 4, 1, 5, 9, 2, 6};
        qsort(numbers, 8, sizeof *numbers, compare);
    }
    return arg;
}

static void threads(int n)
{
    pthread_t ids[64];
    for (int i = 0; i < n && i < 64; i++)
        pthread_create(&ids[i], NULL, sort, NULL);
    for (int i = 0; i < n && i < 64; i++)
        pthread_join(ids[i], NULL);
}

static void forks(int n)
{
    while (now_s() < end_s) {
        for (int i = 0; i < n; i++)
            if (fork() == 0) {
                busy(now_s() + 0.1);
                _exit(0);
            }
        while (wait(NULL) > 0)
            ;
    }
}

/* A while with another stack pointer, and the frame pointer there, too. */
#if defined(__x86_64__)
#define SPIN_AT(sp)                                                                                \
    __asm__ volatile("push %%rbp\n"                                                                \
                     "mov %%rsp, %%r12\n"                                                          \
                     "mov %0, %%rsp\n"                                                             \
                     "mov %%rsp, %%rbp\n"                                                          \
                     "mov $10000000, %%ecx\n"                                                      \
                     "1: dec %%ecx\n"                                                              \
                     "jnz 1b\n"                                                                    \
                     "mov %%r12, %%rsp\n"                                                          \
                     "pop %%rbp\n"                                                                 \
                     :                                                                             \
                     : "r"(sp)                                                                     \
                     : "r12", "rcx", "memory", "cc")
#else
#define SPIN_AT(sp)                                                                                \
    __asm__ volatile("mov x19, sp\n"                                                               \
                     "mov x20, x29\n"                                                              \
                     "mov x29, %0\n"                                                               \
                     "mov sp, %0\n"                                                                \
                     "mov w21, #0x980000\n"                                                        \
                     "1: subs w21, w21, #1\n"                                                      \
                     "b.ne 1b\n"                                                                   \
                     "mov sp, x19\n"                                                               \
                     "mov x29, x20\n"                                                              \
                     :                                                                             \
                     : "r"(sp)                                                                     \
                     : "x19", "x20", "x21", "memory", "cc")
#endif

/* Frames that are all the same one, as far as a stack has room: each returns into busy(). */
static __attribute__((noinline)) void forge(void)
{
    static unsigned long stack[1 << 16] __attribute__((aligned(16)));
    const size_t n = sizeof stack / sizeof *stack;
    unsigned long here = (unsigned long)(void *)busy + 16;
    for (size_t i = 0; i < n; i++)
        stack[i] = here;
    double until_s = end_s;
    while (now_s() < until_s)
        SPIN_AT(&stack[16]);
}

static __attribute__((noinline)) void wild(void)
{
    while (now_s() < end_s)
        SPIN_AT(0x7fff00000010);
}

/* Its pages are not there. */
static __attribute__((noinline)) int sparse(void)
{
    volatile char array[100000];
    __asm__ volatile("" : : "r"(array) : "memory");
    busy(end_s);
    return now_s() < end_s ? array[50000] : 0;
}

static unsigned chance(void)
{
    static unsigned number = 1;
    number = number * 1103515245 + 12345;
    return number >> 16 & 1;
}

static __attribute__((noinline)) int right(int n);
static __attribute__((noinline)) int left(int n)
{
    for (unsigned i = 0; n == 0 && i < 100000; i++)
        sink += i;
    return n == 0 ? 1 : (chance() ? left(n - 1) : right(n - 1)) + 1;
}

static __attribute__((noinline)) int right(int n)
{
    for (unsigned i = 0; n == 0 && i < 100000; i++)
        sink += i;
    return n == 0 ? 2 : (chance() ? left(n - 1) : right(n - 1)) + 2;
}

static void maze(int n)
{
    while (now_s() < end_s)
        sink += (unsigned long)left(n);
}

static void on_alarm(int number)
{
    (void)number;
    busy(end_s);
}

static __attribute__((noinline)) void alarmed(bool on_own)
{
    stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = on_own ? SA_ONSTACK : 0};
    sigaltstack(&stack, NULL);
    sigaction(SIGALRM, &action, NULL);
    alarm(1);
    busy(end_s + 1);
}

static void on_raise(int number)
{
    sink += (unsigned long)number;
}

static __attribute__((noinline)) void raised(void)
{
    signal(SIGUSR1, on_raise);
    while (now_s() < end_s)
        for (int i = 0; i < 100; i++)
            raise(SIGUSR1);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int n = argc > 3 ? atoi(argv[3]) : 1;
    end_s = now_s() + (argc > 2 ? atof(argv[2]) : 1);
    if (strcmp(what, "deep") == 0)
        return dive(n) == -1;
    if (strcmp(what, "threads") == 0)
        threads(n);
    else if (strcmp(what, "fork") == 0)
        forks(n);
    else if (strcmp(what, "forge") == 0)
        forge();
    else if (strcmp(what, "wild") == 0)
        wild();
    else if (strcmp(what, "sparse") == 0)
        return sparse();
    else if (strcmp(what, "maze") == 0)
        maze(n);
    else if (strcmp(what, "signal") == 0)
        alarmed(n != 0);
    else if (strcmp(what, "raise") == 0)
        raised();
    else
        return 2;
    return 0;
}
