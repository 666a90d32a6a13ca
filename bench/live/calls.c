/* SPDX-License-Identifier: MIT */
/*
 * What an event costs its program: calls KIND N FILE makes N calls, five small frames deep and each
 * frame without a frame pointer, and writes to FILE the nanoseconds of CPU time that one took.
 *
 *     write    write(2) of a byte to /dev/null
 *     random   the same behind 19 frames that are chosen anew for each call
 *     other    getppid(2), which nobody traces
 *     fault    the first write to a page
 *     probe    probed(), which begins with endbr64 and a push where the compiler is asked for that
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PLACE __attribute__((noinline, noclone))

enum {
    FRAMES = 19,
    PAGE = 4096,
    PAGES = 1024,
};

static int null_fd;
static volatile long sink; /* work behind a call, so that it is no tail call */

void probed(long a, long b);

/* Its arguments survive a call, so they are kept in registers that it must push. */
__attribute__((noipa)) static void touch(void)
{
    sink++;
}

PLACE void probed(long a, long b)
{
    touch();
    sink += a + b;
}

PLACE static void do_write(long i)
{
    (void)i;
    sink = write(null_fd, "", 1);
}

PLACE static void do_other(long i)
{
    (void)i;
    sink = syscall(SYS_getppid);
}

PLACE static void do_probe(long i)
{
    probed(i, sink);
    sink = i;
}

PLACE static void do_fault(long i)
{
    static char *pages;
    if (i % PAGES == 0) {
        if (pages)
            munmap(pages, (size_t)PAGES * PAGE);
        pages = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED || madvise(pages, (size_t)PAGES * PAGE, MADV_NOHUGEPAGE) < 0)
            exit(1);
    }
    pages[i % PAGES * PAGE] = 1;
    sink = i;
}

static void left(uint32_t way, int n);
static void right(uint32_t way, int n);

static void go(uint32_t way, int n)
{
    if (n == 0)
        do_write(0);
    else
        (way & 1 ? left : right)(way >> 1, n - 1);
}

PLACE static void left(uint32_t way, int n)
{
    go(way, n);
    sink = n;
}

PLACE static void right(uint32_t way, int n)
{
    go(way, n);
    sink = -n;
}

PLACE static void do_random(long i)
{
    static uint32_t state = 1;
    (void)i;
    state = state * 1664525 + 1013904223;
    go(state >> 8, FRAMES);
    sink = 0;
}

typedef void (*call_fn)(long i);

PLACE static void third(call_fn call, long i)
{
    call(i);
    sink++;
}

PLACE static void second(call_fn call, long i)
{
    third(call, i);
    sink++;
}

PLACE static void first(call_fn call, long i)
{
    second(call, i);
    sink++;
}

static double run(call_fn call, long n)
{
    struct timespec start, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
    for (long i = 0; i < n; i++)
        first(call, i);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    return ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) /
           (double)n;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        call_fn call;
    } kinds[] = {{"write", do_write},
                 {"random", do_random},
                 {"other", do_other},
                 {"fault", do_fault},
                 {"probe", do_probe}};
    null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    for (size_t i = 0; argc == 4 && i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(argv[1], kinds[i].name) != 0)
            continue;
        long n = atol(argv[2]);
        run(kinds[i].call, n / 10); /* tables are read, pages are there */
        double took = run(kinds[i].call, n);
        FILE *file = fopen(argv[3], "w");
        return file && fprintf(file, "%.1f\n", took) > 0 && fclose(file) == 0 ? 0 : 1;
    }
    fprintf(stderr, "usage: calls write|random|other|fault|probe N FILE\n");
    return 2;
}
