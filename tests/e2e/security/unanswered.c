/* SPDX-License-Identifier: MIT */
/*
 * A thread whose stack lies partly in memory that no read ever gets:
 *
 *     unanswered uffd|fuse inner|outer [FILE]
 *
 * uffd: pages under userfaultfd(2) that its owner never fills. fuse: pages of FILE, whose file
 * system does not answer. inner: from the page of the stack pointer on; outer: the outer frames
 * alone. A second thread sleeps with a sound stack. Prints "up" when all is in place.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, STACK = 1 << 20, PAD = 64 << 10 };

static char *stack;
static volatile uintptr_t inner_sp;
static volatile int healthy_is_up;

__attribute__((noinline, noclone)) void trapped_inner(volatile char *pad)
{
    volatile char here = 0;
    pad[0] = here;
    inner_sp = (uintptr_t)&here;
    for (;;)
        pause();
}

__attribute__((noinline, noclone)) void trapped_outer(void)
{
    volatile char pad[PAD];
    trapped_inner(pad);
    pad[1] = 1;
}

/* The thread's own data, which the kernel writes when it runs, stays outside of the trap. */
static void *trapped(void *ctx)
{
    volatile char pad[PAD];
    prctl(PR_SET_NAME, "trapped");
    __asm__ volatile("" : : "r"(pad) : "memory");
    trapped_outer();
    __asm__ volatile("" : : "r"(pad) : "memory");
    return ctx;
}

__attribute__((noinline, noclone)) void healthy_inner(void)
{
    healthy_is_up = 1;
    for (;;)
        pause();
}

static void *healthy(void *ctx)
{
    prctl(PR_SET_NAME, "healthy");
    healthy_inner();
    return ctx;
}

static void die(const char *what)
{
    perror(what);
    exit(77);
}

static void lay_uffd(char *start, size_t size)
{
    struct uffdio_api api = {.api = UFFD_API};
    struct uffdio_register range = {.range = {(uintptr_t)start, size},
                                    .mode = UFFDIO_REGISTER_MODE_MISSING};
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    if (fd < 0 || ioctl(fd, UFFDIO_API, &api) < 0 || ioctl(fd, UFFDIO_REGISTER, &range) < 0)
        die("userfaultfd");
    if (madvise(start, size, MADV_DONTNEED) < 0)
        die("madvise");
}

static void lay_file(char *start, size_t size, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 ||
        mmap(start, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED)
        die(path);
}

int main(int argc, char **argv)
{
    pthread_attr_t attr;
    pthread_t thread;
    if (argc < 3)
        return 2;
    stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_init(&attr);
    pthread_attr_setstack(&attr, stack, STACK);
    pthread_create(&thread, &attr, trapped, NULL);
    pthread_create(&thread, NULL, healthy, NULL);
    while (!inner_sp || !healthy_is_up)
        usleep(1000);
    usleep(100000); /* both are in pause(2) now */
    if (inner_sp + 2 * PAD > (uintptr_t)stack + STACK)
        return puts("the stack is not as deep as it should be"), 2;
    uintptr_t from = inner_sp & -(uintptr_t)PAGE;
    from = strcmp(argv[2], "inner") == 0 ? from - PAGE : from + 4 * PAGE;
    size_t size = (inner_sp & -(uintptr_t)PAGE) + PAD + 4 * PAGE - from;
    if (strcmp(argv[1], "uffd") == 0)
        lay_uffd((char *)from, size);
    else
        lay_file((char *)from, size, argv[3]);
    puts("up");
    fflush(stdout);
    for (;;)
        pause();
}
