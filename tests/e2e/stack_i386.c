/* SPDX-License-Identifier: MIT */
/* A 32-bit program that needs no libc, for machines without one of that kind: 20 calls, pause(2);
 * with an argument it is busy there. */
static volatile int sink, is_busy;

__attribute__((noinline)) int deep(int n);
__attribute__((noinline)) int start_c(int argc);

static void sleep_for_ever(void)
{
    int result;
    do
        __asm__ volatile("int $0x80" : "=a"(result) : "0"(29) : "memory");
    while (!sink);
}

__attribute__((noinline)) static void be_busy(void)
{
    while (!sink)
        ;
}

int deep(int n)
{
    if (n == 0 && is_busy)
        be_busy();
    else if (n == 0)
        sleep_for_ever();
    int r = n ? deep(n - 1) : 0;
    return r + sink + n;
}

int start_c(int argc)
{
    is_busy = argc > 1;
    int r = deep(20);
    return r + sink;
}

__asm__(".globl _start\n_start:\n.cfi_startproc\n.cfi_undefined eip\n"
        "xor %ebp,%ebp\npushl (%esp)\ncall start_c\nhlt\n.skip 64\n.cfi_endproc\n");
