/* SPDX-License-Identifier: MIT */
/* A program without libc and unwind tables, whose entry code calls farther than 64 bytes behind its
 * start, as Free Pascal's does; busy with an argument, else it waits. */
__asm__(".text\n.globl _start\n_start:\n"
        "    pop %rsi\n"
        "    .rept 9\n"
        "    lea 8(,%rsi,8), %rax\n"
        "    .endr\n"
        "    and $-16, %rsp\n"
        "    mov %rsi, %rdi\n"
        "    xor %rbp, %rbp\n"
        "    call start_c\n"
        "    ret\n");

static volatile unsigned long sink;

__attribute__((noinline)) static long deep(long n, long is_busy)
{
    volatile char frame[100];
    frame[n] = 1;
    if (n)
        return deep(n - 1, is_busy) + frame[n];
    for (unsigned long i = 0; is_busy && i < 100000000000; i++)
        sink += i;
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(34) : "rcx", "r11", "memory"); /* pause */
    return result;
}

void start_c(long argc);

void start_c(long argc)
{
    deep(5, argc > 1);
}
