/* SPDX-License-Identifier: MIT */
/*
 * Programs for cairn trace without rights: trace_plain CASE [N].
 *
 *     eintr N   waits N times in epoll_wait(2) for 100 ms, then in one that a signal ends, then in
 *               read(2) until a signal: says what each returned
 *     x32       makes a call by its number of x32, and one that x32 alone has
 *     names     gives its thread another name between two calls
 *     dlopen    calls from a library that it maps while it runs
 *     counter   calls write(2) 400 times with a counter in the frame pointer's register
 *     orphans N kills N times a process that forks all the time
 *     spin      calls write(2) until it is ended
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLACE __attribute__((noinline, noclone))

static int null_fd;
static volatile int sink;

static void say(const char *what, long result)
{
    printf("%s %ld %s\n", what, result, result < 0 ? strerror(errno) : "");
    fflush(stdout);
}

static void on_alarm(int number)
{
    sink = number;
}

static void interrupts(int n)
{
    struct epoll_event event;
    const struct sigaction action = {.sa_handler = on_alarm};
    char byte;
    int fd = epoll_create1(0), ends[2];
    sigaction(SIGALRM, &action, NULL);
    say("begins", 0);
    for (int i = 0; i < n; i++)
        say("epoll_wait", epoll_wait(fd, &event, 1, 100));
    ualarm(50000, 0);
    say("with a signal", epoll_wait(fd, &event, 1, 5000));
    if (pipe(ends) == 0) {
        ualarm(50000, 0);
        say("read", read(ends[0], &byte, 1));
    }
}

static void other_numbers(void)
{
#ifdef __x86_64__
    enum { X32 = 0x40000000 };
    sink = (int)syscall(X32 | SYS_getppid);
    sink = (int)syscall(X32 | 520, NULL, NULL, NULL); /* execve */
#endif
}

PLACE static void renames(void)
{
    sink = (int)write(null_fd, "before", 6);
    prctl(PR_SET_NAME, "renamed");
    sink = (int)write(null_fd, "behind", 6);
}

PLACE static void from_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    void (*call)(int) = library ? (void (*)(int))dlsym(library, "in_library") : NULL;
    if (call)
        call(null_fd);
    else
        say(dlerror(), -1);
    sink = 0;
}

PLACE static void counts_in_frame_register(void)
{
    for (long i = 0; i < 400; i++) {
#ifdef __x86_64__
        long result;
        __asm__ volatile("mov %[i], %%rbp\n\tsyscall"
                         : "=a"(result)
                         : "a"(SYS_write), "D"((long)null_fd), "S"("x"), "d"(1L), [i] "r"(i)
                         : "rcx", "r11", "rbp", "memory");
        sink = (int)result;
#else
        sink = (int)write(null_fd, "x", 1);
#endif
    }
}

/* Some are killed between a fork(2) and the stop where their tracer is told of it. */
static void kills_parents(int n)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (int i = 0; i < n; i++) {
        pid_t parent = fork();
        while (parent == 0)
            if (fork() == 0)
                _exit(0);
        usleep(2000 + (unsigned)i * 37 % 500);
        kill(parent, SIGKILL);
        while (waitpid(-1, NULL, 0) > 0)
            ;
    }
    say("orphans", n);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    null_fd = open("/dev/null", O_WRONLY);
    if (strcmp(what, "eintr") == 0)
        interrupts(argc > 2 ? atoi(argv[2]) : 1);
    else if (strcmp(what, "x32") == 0)
        other_numbers();
    else if (strcmp(what, "names") == 0)
        renames();
    else if (strcmp(what, "dlopen") == 0)
        from_library(argv[2]);
    else if (strcmp(what, "counter") == 0)
        counts_in_frame_register();
    else if (strcmp(what, "orphans") == 0)
        kills_parents(argc > 2 ? atoi(argv[2]) : 1);
    else if (strcmp(what, "spin") == 0)
        for (;;)
            sink = (int)write(null_fd, "x", 1);
    else
        return 2;
    return 0;
}
