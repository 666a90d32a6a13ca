/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Late libc: libcairn-track has the functions of libc that the tracker calls itself. So it can be
 * mapped by hand into a process with any libc. They are hidden: the program cannot call them. The
 * errno is the program's own where its libc has one; the program sees it unchanged.
 */
#include "heap/late_libc.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "rt/sys.h"
#include "unwind/loader.h"

#define HIDDEN __attribute__((visibility("hidden")))

/* The process's own is read from /proc/self/environ (heap/settings.c). */
HIDDEN char **environ;

typedef int *errno_fn(void);
typedef int iterate_fn(int (*each)(struct dl_phdr_info *, size_t, void *), void *ctx);
static errno_fn *real_errno;
static iterate_fn *real_iterate;
static int no_errno;

static uintptr_t find(const char *name)
{
    uintptr_t va = cairn_loader_libc(name);
    return va ? va : cairn_loader_musl(name);
}

void cairn_late_libc_find(void)
{
    real_errno = (errno_fn *)find("__errno_location");
    real_iterate = (iterate_fn *)find("dl_iterate_phdr");
}

HIDDEN int *__errno_location(void)
{
    return real_errno ? real_errno() : &no_errno;
}

HIDDEN int dl_iterate_phdr(int (*each)(struct dl_phdr_info *, size_t, void *), void *ctx)
{
    return real_iterate ? real_iterate(each, ctx) : 0;
}

#if defined(__x86_64__)
static long raw(long number, const long a[6])
{
    long got;
    register long r10 __asm__("r10") = a[3];
    register long r8 __asm__("r8") = a[4];
    register long r9 __asm__("r9") = a[5];
    __asm__ volatile("syscall"
                     : "=a"(got)
                     : "0"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return got;
}
#elif defined(__aarch64__)
static long raw(long number, const long a[6])
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a[0];
    register long x1 __asm__("x1") = a[1];
    register long x2 __asm__("x2") = a[2];
    register long x3 __asm__("x3") = a[3];
    register long x4 __asm__("x4") = a[4];
    register long x5 __asm__("x5") = a[5];
    __asm__ volatile("svc #0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
}
#elif defined(__arm__)
/* r7 may be the frame pointer of Thumb code: it is kept by hand. */
static long raw(long number, const long a[6])
{
    register long r0 __asm__("r0") = a[0];
    register long r1 __asm__("r1") = a[1];
    register long r2 __asm__("r2") = a[2];
    register long r3 __asm__("r3") = a[3];
    register long r4 __asm__("r4") = a[4];
    register long r5 __asm__("r5") = a[5];
    __asm__ volatile("mov ip, r7\n mov r7, %[number]\n svc #0\n mov r7, ip"
                     : "+r"(r0)
                     : [number] "r"(number), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5)
                     : "ip", "memory");
    return r0;
}
#endif

enum { MOST_ERRNO = 4095 };

HIDDEN long syscall(long number, ...)
{
    va_list args;
    long a[6];
    va_start(args, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    long got = raw(number, a);
    if (got >= 0 || got < -MOST_ERRNO)
        return got;
    errno = (int)-got;
    return -1;
}

HIDDEN pid_t getpid(void)
{
    return (pid_t)syscall(SYS_getpid);
}

HIDDEN uid_t getuid(void)
{
    return (uid_t)syscall(SYS_getuid);
}

/* Without O_CREAT. */
HIDDEN int open(const char *path, int flags, ...)
{
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0);
}

HIDDEN int close(int fd)
{
    return (int)syscall(SYS_close, fd);
}

HIDDEN ssize_t pread(int fd, void *to, size_t n, off_t off)
{
    return (ssize_t)cairn_sys_read_at(fd, to, n, (uint64_t)off);
}

HIDDEN int sched_yield(void)
{
    return (int)syscall(SYS_sched_yield);
}

/* The kernel's timespec of these calls has two longs, whatever the C library's has. */
HIDDEN int nanosleep(const struct timespec *time, struct timespec *left)
{
    const long asked[] = {(long)time->tv_sec, time->tv_nsec};
    long rest[2] = {0};
    int result = (int)syscall(SYS_nanosleep, asked, rest);
    if (left && result != 0)
        *left = (struct timespec){.tv_sec = rest[0], .tv_nsec = rest[1]};
    return result;
}

HIDDEN int clock_gettime(clockid_t clock, struct timespec *ret)
{
    long now[2];
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (result == 0)
        *ret = (struct timespec){.tv_sec = now[0], .tv_nsec = now[1]};
    return result;
}

HIDDEN unsigned long getauxval(unsigned long type)
{
    ElfW(auxv_t) entry;
    unsigned long value = 0;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/auxv", O_RDONLY | O_CLOEXEC, 0);
    while (fd >= 0 && syscall(SYS_read, fd, &entry, sizeof(entry)) == (long)sizeof(entry) &&
           entry.a_type != AT_NULL)
        if (entry.a_type == type)
            value = entry.a_un.a_val;
    if (fd >= 0)
        syscall(SYS_close, fd);
    return value;
}

/* What libgcc's division on arm calls where it divides by zero. */
HIDDEN int raise(int signal)
{
    (void)signal;
    __builtin_trap();
}

/* Of words where it can be. The build forbids the compiler to make calls of these out of loops. */

HIDDEN void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
    char *t = to;
    const char *f = from;
    for (; n >= sizeof(uint64_t); n -= sizeof(uint64_t)) {
        __builtin_memcpy(t, f, sizeof(uint64_t));
        t += sizeof(uint64_t);
        f += sizeof(uint64_t);
    }
    while (n-- > 0)
        *t++ = *f++;
    return to;
}

HIDDEN void *memmove(void *to, const void *from, size_t n)
{
    char *t = to;
    const char *f = from;
    if ((uintptr_t)t - (uintptr_t)f >= n)
        return memcpy(to, from, n);
    while (n-- > 0)
        t[n] = f[n];
    return to;
}

HIDDEN void *memset(void *to, int byte, size_t n)
{
    uint64_t word = (uint8_t)byte * UINT64_C(0x0101010101010101);
    char *t = to;
    for (; n >= sizeof(word); n -= sizeof(word), t += sizeof(word))
        __builtin_memcpy(t, &word, sizeof(word));
    while (n-- > 0)
        *t++ = (char)byte;
    return to;
}

HIDDEN int memcmp(const void *a, const void *b, size_t n)
{
    const uint8_t *x = a, *y = b;
    for (size_t i = 0; i < n; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

HIDDEN void *memchr(const void *in, int byte, size_t n)
{
    const uint8_t *at = in;
    for (size_t i = 0; i < n; i++)
        if (at[i] == (uint8_t)byte)
            return (void *)(at + i);
    return NULL;
}

HIDDEN void *memrchr(const void *in, int byte, size_t n)
{
    const uint8_t *at = in;
    while (n-- > 0)
        if (at[n] == (uint8_t)byte)
            return (void *)(at + n);
    return NULL;
}

HIDDEN size_t strlen(const char *text)
{
    size_t n = 0;
    while (text[n])
        n++;
    return n;
}

HIDDEN size_t strnlen(const char *text, size_t most)
{
    size_t n = 0;
    while (n < most && text[n])
        n++;
    return n;
}

HIDDEN int strncmp(const char *a, const char *b, size_t most)
{
    for (size_t i = 0; i < most; i++)
        if (a[i] != b[i] || !a[i])
            return (uint8_t)a[i] - (uint8_t)b[i];
    return 0;
}

HIDDEN int strcmp(const char *a, const char *b)
{
    return strncmp(a, b, SIZE_MAX);
}
