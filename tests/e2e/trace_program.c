/* SPDX-License-Identifier: MIT */
/*
 * Calls whose places and numbers are known, for cairn trace: trace_program CASE [N].
 *
 *     counts N   four threads call write(2) N times each: 1/2 in place_a, 1/4 in place_b, 1/4 in
 *                place_c, while another one forks and execs
 *     traps      calls that tracers get wrong, one after the other
 *     many N     calls write(2) N times, each time from another stack, with a pause now and then
 *     wait       sleeps in pause(2), three frames deep
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLACE __attribute__((noinline, noclone))

static int null_fd;
static atomic_bool ended;
static volatile int sink; /* work behind a call, so that it is no tail call */

PLACE static void place_a(void)
{
    sink = (int)write(null_fd, "a", 1);
}

PLACE static void place_b(void)
{
    sink = (int)write(null_fd, "bb", 2);
}

PLACE static void deeper(int n)
{
    if (n)
        deeper(n - 1);
    else
        sink = (int)write(null_fd, "ccc", 3);
    sink = n;
}

PLACE static void place_c(void)
{
    deeper(3);
    sink = 0;
}

static void *call_often(void *ctx)
{
    for (long i = 0, n = *(long *)ctx; i < n; i++)
        i % 4 < 2 ? place_a() : i % 4 == 2 ? place_b() : place_c();
    return NULL;
}

static void *fork_often(void *ctx)
{
    extern char **environ;
    (void)ctx;
    while (!ended) {
        pid_t pid = fork();
        if (!pid)
            _exit(0);
        waitpid(pid, NULL, 0);
        if (posix_spawn(&pid, "/bin/true", NULL, NULL, (char *[]){"true", NULL}, environ) == 0)
            waitpid(pid, NULL, 0);
        usleep(2000);
    }
    return NULL;
}

static void count(long n)
{
    pthread_t threads[4], forks;
    pthread_create(&forks, NULL, fork_often, NULL);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, call_often, &n);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    ended = true;
    pthread_join(forks, NULL);
}

PLACE static void handler(int signal)
{
    sink = (int)write(null_fd, "handler", 7);
    sink = signal;
}

PLACE static void on_other_stack(void)
{
    static char stack[64 << 10];
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    sink = 0;
}

PLACE static void by_assembly(void)
{
#ifdef __x86_64__
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(SYS_write), "D"(null_fd), "S"("assembly"), "d"(8)
                     : "rcx", "r11", "memory");
    sink = (int)result;
#else
    sink = (int)write(null_fd, "assembly", 8);
#endif
}

#ifdef __x86_64__
static sigjmp_buf no_gate;

static void refuse(int signal)
{
    siglongjmp(no_gate, signal);
}
#endif

/* i386's number 4 is write, where x86-64 has stat. */
PLACE static void by_old_gate(void)
{
#ifdef __x86_64__
    long result;
    signal(SIGSEGV, refuse); /* a kernel without the table of i386 */
    if (sigsetjmp(no_gate, 1)) {
        puts("no int 0x80 here");
        fflush(stdout);
        return;
    }
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(4), "b"(null_fd), "c"(0), "d"(0) : "memory");
    sink = (int)result;
    /* mmap2, which x86-64 lacks: of a length that fails */
    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "a"(192), "b"(0), "c"(0), "d"(0), "S"(0x22), "D"(-1)
                     : "memory");
    sink = (int)result;
#endif
}

static void *die_in_call(void *ctx)
{
    (void)ctx;
    sink = (int)syscall(SYS_pause);
    return NULL;
}

PLACE static void in_vfork(void)
{
    pid_t pid = vfork();
    if (!pid) {
        sink = (int)write(null_fd, "vforked", 7);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    sink = 0;
}

PLACE static void deep_and_large(int n)
{
    volatile char large[300];
    large[0] = (char)n;
    if (n)
        deep_and_large(n - 1);
    else
        sink = (int)write(null_fd, "deep", 4);
    sink = large[0];
}

static void traps(void)
{
    on_other_stack();
    by_assembly();
    by_old_gate();
    in_vfork();
    deep_and_large(390);
    sink = open("/no/such/file", O_RDONLY | O_CLOEXEC);
    pid_t pid = fork();
    if (!pid) {
        pthread_t thread;
        pthread_create(&thread, NULL, die_in_call, NULL);
        usleep(100000);
        char path[] = "/bin/true"; /* in memory: of a page that nobody has read there is no text */
        execl(path, "true", (char *)NULL); /* the other thread dies in its call */
    }
    waitpid(pid, NULL, 0);
}

PLACE static void left(unsigned way, int n);
PLACE static void right(unsigned way, int n);

static void go(unsigned way, int n)
{
    if (n == 0)
        sink = (int)write(null_fd, "many", 4);
    else
        (way & 1 ? left : right)(way >> 1, n - 1);
}

PLACE static void left(unsigned way, int n)
{
    go(way, n);
    sink = n;
}

PLACE static void right(unsigned way, int n)
{
    go(way, n);
    sink = -n;
}

/* The pauses are for who reads on a busy machine. */
static void from_many_stacks(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        go(i, 18);
        if (i % 4000 == 0)
            usleep(100000);
        sink = 0;
    }
}

PLACE static void waits(void)
{
    sink = pause();
    sink = 1;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    null_fd = open("/dev/null", O_WRONLY);
    if (strcmp(what, "counts") == 0)
        count(argc > 2 ? atol(argv[2]) : 1000);
    else if (strcmp(what, "traps") == 0)
        traps();
    else if (strcmp(what, "many") == 0)
        from_many_stacks(argc > 2 ? (unsigned)atol(argv[2]) : 1000);
    else if (strcmp(what, "wait") == 0)
        for (;;)
            waits();
    else
        return 2;
    return 0;
}
