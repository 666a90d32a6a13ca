/* SPDX-License-Identifier: MIT */
/* Recursion of two functions, deep DEPTH [spin]: prints "up" at the bottom and sleeps, or spins. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
__attribute__((noinline, noclone)) int g(int n, int wait);
__attribute__((noinline, noclone)) int f(int n, int wait)
{
    volatile char pad[80];
    pad[0] = (char)n;
    if (n == 0) {
        if (!wait)
            for (;;)
                ;
        puts("up");
        fflush(stdout);
        for (;;)
            pause();
    }
    return g(n - 1, wait) + pad[0];
}
int g(int n, int wait)
{
    volatile char pad[80];
    pad[0] = (char)n;
    return f(n - (n > 0), wait) + pad[0];
}
int main(int argc, char **argv)
{
    return f(atoi(argv[1]), argc < 3);
}
