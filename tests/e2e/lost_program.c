/* SPDX-License-Identifier: MIT */
/* Crashes below five calls of a function, in one that has called nothing. */
static volatile int sink;

__attribute__((noinline)) static int crash(int n)
{
    *(volatile int *)(long)n = 1;
    return n;
}

__attribute__((noinline)) static int deep(int n)
{
    volatile int frame[10];
    frame[n] = n;
    if (n == 0)
        return crash(n) + frame[n];
    return deep(n - 1) + frame[n];
}

int main(void)
{
    sink = deep(4);
    return 0;
}
