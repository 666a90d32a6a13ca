/* SPDX-License-Identifier: MIT */
/* Three calls of getppid(2) and of marked(), with known words in registers that calls preserve. */
#include <sys/syscall.h>

__attribute__((noinline, noclone)) void marked(void)
{
    __asm__ volatile("");
}

#ifdef __x86_64__
static void call(void)
{
    long result = SYS_getppid;
    __asm__ volatile("sub $128, %%rsp\n\t" /* the red zone */
                     "mov $0x1111, %%r12d\n\t"
                     "mov $0x2222, %%r13d\n\t"
                     "mov $0x3333, %%ebx\n\t"
                     "syscall\n\t"
                     "call marked\n\t"
                     "add $128, %%rsp"
                     : "+a"(result)
                     :
                     : "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
                       "memory", "cc");
}
#else
static void call(void)
{
    register long number __asm__("x8") = SYS_getppid;
    register long result __asm__("x0") = 0;
    __asm__ volatile("mov x20, #0x1111\n\t"
                     "mov x21, #0x2222\n\t"
                     "mov x22, #0x3333\n\t"
                     "svc #0\n\t"
                     "bl marked"
                     : "+r"(result), "+r"(number)
                     :
                     : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x9", "x10", "x11", "x12", "x13",
                       "x14", "x15", "x16", "x17", "x18", "x20", "x21", "x22", "x30", "memory",
                       "cc");
}
#endif

int main(void)
{
    for (int i = 0; i < 3; i++)
        call();
    return 0;
}
