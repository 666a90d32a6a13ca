/* SPDX-License-Identifier: MIT */
/* Recursion of two functions, record_deep DEPTH SECONDS: spins at the bottom. */
#include <stdlib.h>
#include <time.h>

__attribute__((noinline, noclone)) int g(int n, int seconds);

__attribute__((noinline, noclone)) int spin_at_the_bottom(int seconds)
{
    time_t until = time(NULL) + seconds;
    volatile int turns = 0;
    while (time(NULL) < until)
        for (int i = 0; i < 100000; i++)
            turns++;
    return turns;
}

__attribute__((noinline, noclone)) int f(int n, int seconds)
{
    volatile char pad[80];
    pad[0] = (char)n;
    if (n == 0)
        return spin_at_the_bottom(seconds) + pad[0];
    return g(n - 1, seconds) + pad[0];
}

int g(int n, int seconds)
{
    volatile char pad[80];
    pad[0] = (char)n;
    return f(n - (n > 0), seconds) + pad[0];
}

int main(int argc, char **argv)
{
    return argc < 3 || f(atoi(argv[1]), atoi(argv[2])) == 1;
}
