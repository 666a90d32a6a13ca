/* SPDX-License-Identifier: MIT */
__attribute__((visibility("default"))) unsigned long perf_data_work(unsigned long n);

__attribute__((noinline)) static unsigned long inner(unsigned long n)
{
    volatile unsigned long sum = PERF_DATA_START;
    for (unsigned long i = 0; i < n; i++)
        sum = sum * 3 + i;
    return sum;
}

unsigned long perf_data_work(unsigned long n)
{
    return inner(n) + 1;
}
