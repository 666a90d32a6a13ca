/* SPDX-License-Identifier: MIT */
/*
 * What a frame of another process's stack costs: cursor_speed PID
 *
 * The main thread is held and walked RUNS times by rows of CFI, asking for a register that only
 * those give, and as often by tables; the best of each, in ns a frame. Its pages are read anew for
 * each walk. Also what it takes to open the space, the first walk of all, and to make the tables.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cairn/unwind.h>

enum { RUNS = 200 };

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double walk(struct cairn_unwind_space *space, const struct cairn_cursor_regs *regs,
                   int in_full, unsigned *ret_n)
{
    struct cairn_cursor cursor;
    struct cairn_cursor_frame frame;
    uint64_t value;
    double start = now_us();
    *ret_n = 0;
    if (cairn_cursor_init(&cursor, space, regs, NULL) < 0)
        return 0;
    do {
        ++*ret_n;
        cairn_cursor_frame(&cursor, &frame);
        if (in_full)
            (void)cairn_cursor_get_reg(&cursor, 3, &value);
    } while (cairn_cursor_step(&cursor));
    return now_us() - start;
}

static double best(struct cairn_unwind_space *space, const struct cairn_cursor_regs *regs,
                   int in_full, unsigned *ret_n)
{
    double least = 1e9;
    for (int i = 0; i < RUNS; i++) {
        double took = walk(space, regs, in_full, ret_n);
        least = took < least ? took : least;
    }
    return least;
}

int main(int argc, char **argv)
{
    struct cairn_unwind_space *space = NULL;
    struct cairn_cursor_regs regs;
    struct cairn_err err = {0, 0, "usage: cursor_speed PID", ""};
    int pid = argc > 1 ? atoi(argv[1]) : 0;
    double start = now_us();
    unsigned n = 0;
    if (!pid || cairn_unwind_space_open_pid(pid, NULL, &space, &err) < 0 ||
        cairn_unwind_hold(space, pid, 2000, &err) < 0 ||
        cairn_unwind_thread_regs(space, pid, &regs, &err) < 0) {
        fprintf(stderr, "cursor_speed: %s\n", err.msg);
        cairn_unwind_space_free(space);
        return 1;
    }
    double opened = now_us() - start, first = walk(space, &regs, 0, &n);
    double rows = best(space, &regs, 1, &n);
    start = now_us();
    int code = cairn_unwind_space_load(space, &err);
    double loaded = now_us() - start, tables = best(space, &regs, 0, &n);
    printf("%u frames: by rows %.0f ns a frame, by tables %.0f; open %.0f us, first walk %.0f us, "
           "tables of all modules %.0f us\n",
           n, rows * 1e3 / n, tables * 1e3 / n, opened, first, loaded);
    cairn_unwind_space_free(space);
    return code < 0;
}
