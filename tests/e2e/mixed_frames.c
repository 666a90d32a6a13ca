/* SPDX-License-Identifier: MIT */
/*
 * Own functions around a callback of libc, for objects without unwind tables in a program whose
 * libc has them. With an argument it crashes in the callback, else it waits there.
 */
#include <stdlib.h>
#include <unistd.h>

static volatile int sink;
static int crashes;

static int compare(const void *a, const void *b)
{
    if (crashes)
        *(volatile int *)0 = 1;
    pause();
    return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) static int own(int n)
{
    int numbers[] = {3, 1, 4, 1, 5};
    if (n)
        return own(n - 1) + 1;
    qsort(numbers, 5, sizeof *numbers, compare);
    return numbers[0];
}

int main(int argc, char **argv)
{
    (void)argv;
    crashes = argc > 1;
    sink = own(3);
    return 0;
}
