/* SPDX-License-Identifier: MIT */
/* musl_program spin SECONDS | sleep: two threads that are in the C library most of the time, below
 * functions of the program's own and above them, or that wait in it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { NUMBERS = 20000, TEXTS = 2000 };

static double seconds;
static volatile double sum;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) static int compare(const void *left, const void *right)
{
    const int *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

__attribute__((noinline)) static void work(int *numbers)
{
    char text[64];
    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = rand();
    qsort(numbers, NUMBERS, sizeof *numbers, compare);
    for (int i = 0; i < TEXTS; i++) {
        snprintf(text, sizeof text, "%g %d %s", numbers[i] / 3.0, numbers[i], "text");
        sum += strtod(text, NULL);
    }
}

static void *job(void *unused)
{
    (void)unused;
    int *numbers = malloc(NUMBERS * sizeof *numbers);
    const double end = now() + seconds;
    if (!numbers)
        exit(1);
    while (seconds ? now() < end : !pause())
        work(numbers);
    free(numbers);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc < 2 || (argc < 3 && strcmp(argv[1], "spin") == 0))
        return 2;
    seconds = argc > 2 ? atof(argv[2]) : 0;
    if (pthread_create(&thread, NULL, job, NULL) != 0)
        return 1;
    job(NULL);
    pthread_join(thread, NULL);
    return 0;
}
