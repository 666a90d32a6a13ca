/* SPDX-License-Identifier: MIT */
/*
 * System calls that cairn trace --top counts: trace_top CASE [N].
 *
 *     values N     lseek(0, i) for i below N, each another value
 *     hostile      the thread's name and a path hold control characters
 *     slow N       100 calls from two places, a hundred times a second, N times
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define PLACE __attribute__((noinline, noclone))

static volatile int sink;

PLACE void often(void)
{
    sink += (int)lseek(-1, 1, SEEK_SET);
    sink++;
}

PLACE void seldom(void)
{
    sink += (int)lseek(-1, 2, SEEK_SET);
    sink++;
}

static void call_slowly(int n)
{
    const struct timespec nap = {.tv_nsec = 10000000};
    for (int i = 0; i < n; i++) {
        for (volatile int k = 0; k < 3; k++)
            often();
        seldom();
        nanosleep(&nap, NULL);
    }
}

int main(int argc, char **argv)
{
    const int n = argc > 2 ? atoi(argv[2]) : 1;
    if (argc > 1 && strcmp(argv[1], "values") == 0)
        for (int i = 0; i < n; i++)
            sink += (int)lseek(-1, i, SEEK_SET);
    if (argc > 1 && strcmp(argv[1], "hostile") == 0) {
        prctl(PR_SET_NAME, "\033[31m\n\"evil");
        sink += open("/no/\033]0;title\007\n\r\xff", O_RDONLY);
    }
    if (argc > 1 && strcmp(argv[1], "slow") == 0)
        call_slowly(n);
    return 0;
}
