/* SPDX-License-Identifier: MIT */
/* Trigger: asks the module for this thread's stacks by a system call of our own, so that no
 * function of libc, which may have no frame pointer, stands between. */
#ifndef CAIRN_TESTS_GUEST_STACK_TRIGGER_H
#define CAIRN_TESTS_GUEST_STACK_TRIGGER_H

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

#define NOINLINE __attribute__((noinline))
/* gcc makes no frame in a leaf that needs none, whatever -fno-omit-frame-pointer asks for. */
#ifdef WITHOUT_FRAMES
#define FRAME() ((void)0)
#else
#define FRAME() __asm__ volatile("" : : "r"(__builtin_frame_address(0)))
#endif
#define AFTER_CALL() __asm__ volatile("" ::: "memory") /* the call is none that jumps */

static inline long system_call(long number, long a, long b, long c)
{
#if defined(__x86_64__)
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__i386__)
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory");
    return result;
#else
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b,
                     x2 __asm__("x2") = c;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
#endif
}

/* openat() of the device; the thread's name chooses whether the module's kprobe prints it. */
static inline int open_device(void)
{
    return (int)system_call(SYS_openat, AT_FDCWD, (long)"/dev/cairn_stacks", O_WRONLY);
}

static NOINLINE void trigger(int device, const char *tag)
{
    FRAME();
    system_call(SYS_write, device, (long)tag, (long)strlen(tag));
    AFTER_CALL();
}

#endif /* CAIRN_TESTS_GUEST_STACK_TRIGGER_H */
