/* SPDX-License-Identifier: MIT */
/*
 * heap_peak: many small blocks once, of which some are kept, all of KEPT_BYTES and none else. Does
 * what each line of stdin says, and then says so: `up`, `down` (all but the kept ones are freed),
 * `on` (a second of a few blocks at a time), `churn` (three seconds of ups and downs).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCKS = 600000, KEPT_BYTES = 111, KEPT_AT_EACH_END = 500, KEPT_EVERY = 50000 };

static void *blocks[BLOCKS];

static int is_kept(size_t i)
{
    return i < KEPT_AT_EACH_END || i >= BLOCKS - KEPT_AT_EACH_END || i % KEPT_EVERY == 0;
}

static void up(size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!blocks[i] && !(blocks[i] = malloc(is_kept(i) ? KEPT_BYTES : 24 + i % 80)))
            abort();
}

static void down(void)
{
    for (size_t i = 0; i < BLOCKS; i++)
        if (!is_kept(i)) {
            free(blocks[i]);
            blocks[i] = NULL;
        }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void on(void)
{
    const struct timespec pause = {0, 1000 * 1000};
    for (double end = now() + 1; now() < end; nanosleep(&pause, NULL))
        for (int i = 0; i < 64; i++)
            free(malloc(200));
}

static void churn(void)
{
    const struct timespec pause = {0, 50 * 1000 * 1000};
    for (double end = now() + 3; now() < end; nanosleep(&pause, NULL)) {
        up(BLOCKS / 8 * (1 + (size_t)(now() * 10) % 8));
        nanosleep(&pause, NULL);
        down();
    }
}

int main(void)
{
    static char output[256]; /* so that stdio has no block of its own */
    char line[16];
    setvbuf(stdin, NULL, _IONBF, 0);
    setvbuf(stdout, output, _IOLBF, sizeof output);
    while (fgets(line, sizeof line, stdin)) {
        if (strcmp(line, "up\n") == 0)
            up(BLOCKS);
        else if (strcmp(line, "down\n") == 0)
            down();
        else if (strcmp(line, "on\n") == 0)
            on();
        else
            churn();
        puts("done");
    }
    return 0;
}
