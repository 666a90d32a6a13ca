/* SPDX-License-Identifier: MIT */
/* Built for x32 and turned into a 64-bit file, for kernels that run no x32 programs: it has a stack
 * of its own below 4 GiB, and waits. */
__attribute__((used, aligned(16))) char own_stack[65536];
static volatile int sink;

__attribute__((noinline)) static long wait_here(void)
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(34) : "rcx", "r11", "memory"); /* pause */
    return result;
}

__attribute__((noinline)) static int deep(int n)
{
    volatile int frame[10];
    frame[n] = n;
    if (n == 0)
        return (int)wait_here() + frame[n];
    return deep(n - 1) + frame[n];
}

void start_c(void);

void start_c(void)
{
    sink = deep(4);
}

__asm__(".text\n.globl _start\n.type _start, @function\n_start:\n"
        "    .cfi_startproc\n"
        "    .cfi_undefined %rip\n"
        "    lea own_stack+65536(%rip), %rsp\n"
        "    xor %ebp, %ebp\n"
        "    call start_c\n"
        "    hlt\n"
        "    .cfi_endproc\n");
