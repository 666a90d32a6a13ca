/* SPDX-License-Identifier: MIT */
/*
 * Programs that wait, by first argument. Built without frame pointers.
 *
 *     nap N     sleeps N times for 20 ms in nap(), then busy for 10 ms of CPU time
 *     give N    takes N bytes from a pipe in take(), which a thread called "giver" writes
 *     forever   says "ready", then waits for ever in forever(), and a thread of it in forever_too()
 *     crowd     two threads on one CPU, busy in crowd_one() for 0.1 s of CPU time each
 *     busy      for 0.3 s of CPU time
 *     fork N    N children, each of which naps 3 times
 *     vfork N   waits N times in wait_for_child() for a child that sleeps for 20 ms
 *     spawn N   waits N times in spawn_child() for a child that waits for 20 ms before it is one
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;
static int pipes[2];

static __attribute__((noinline)) void busy(double seconds)
{
    struct timespec now, begin;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do {
        for (unsigned i = 0; i < 100000; i++)
            sink += i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) / 1e9 <
             seconds);
}

static __attribute__((noinline)) void nap(int n)
{
    const struct timespec pause_for = {.tv_nsec = 20000000};
    for (int i = 0; i < n; i++) {
        nanosleep(&pause_for, NULL);
        busy(0.01);
    }
}

static __attribute__((noinline)) void wait_for_child(int n)
{
    static const struct timespec pause_for = {.tv_nsec = 20000000};
    for (int i = 0; i < n; i++) {
        if (vfork() == 0) {
            syscall(SYS_nanosleep, &pause_for, NULL);
            _exit(0);
        }
        sink++;
    }
}

/* Each has a pipe of its own, whose other end is opened some time later. */
static const char *pipe_name(int i)
{
    static __thread char name[32];
    snprintf(name, sizeof name, "spawn.%d", i);
    return name;
}

static void *open_later(void *arg)
{
    for (int i = 0; i < *(int *)arg; i++) {
        usleep(20000);
        close(open(pipe_name(i), O_WRONLY));
    }
    return NULL;
}

static __attribute__((noinline)) void spawn_child(int n)
{
    static char *const argv[] = {"true", NULL}, *const no_env[] = {NULL};
    for (int i = 0; i < n; i++) {
        posix_spawn_file_actions_t actions;
        pid_t pid;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, 9, pipe_name(i), O_RDONLY, 0);
        if (posix_spawn(&pid, "/bin/true", &actions, NULL, argv, no_env) == 0)
            sink++;
        posix_spawn_file_actions_destroy(&actions);
    }
}

static void *give(void *arg)
{
    prctl(PR_SET_NAME, "giver");
    for (int i = 0; i < *(int *)arg; i++) {
        usleep(10000);
        if (write(pipes[1], "x", 1) != 1)
            exit(1);
    }
    return NULL;
}

static __attribute__((noinline)) void take(int n)
{
    char byte;
    for (int i = 0; i < n; i++)
        if (read(pipes[0], &byte, 1) != 1)
            exit(1);
}

static __attribute__((noinline)) void forever(void)
{
    for (;;)
        pause();
}

static __attribute__((noinline)) void *forever_too(void *arg)
{
    for (;;)
        pause();
    return arg;
}

static __attribute__((noinline)) void *crowd_one(void *arg)
{
    busy(0.1);
    return arg;
}

static void crowd(void)
{
    cpu_set_t all, one;
    pthread_t threads[2];
    sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, crowd_one, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int n = argc > 2 ? atoi(argv[2]) : 1;
    pthread_t thread;
    if (strcmp(what, "nap") == 0) {
        nap(n);
    } else if (strcmp(what, "give") == 0) {
        if (pipe(pipes) != 0)
            return 1;
        pthread_create(&thread, NULL, give, &n);
        take(n);
        pthread_join(thread, NULL);
    } else if (strcmp(what, "forever") == 0) {
        pthread_create(&thread, NULL, forever_too, NULL);
        puts("ready");
        fflush(stdout);
        forever();
    } else if (strcmp(what, "busy") == 0) {
        busy(0.3);
    } else if (strcmp(what, "crowd") == 0) {
        crowd();
    } else if (strcmp(what, "fork") == 0) {
        for (int i = 0; i < n; i++)
            if (fork() == 0) {
                nap(3);
                _exit(0);
            }
        while (wait(NULL) > 0)
            ;
    } else if (strcmp(what, "vfork") == 0) {
        wait_for_child(n);
        while (wait(NULL) > 0)
            ;
    } else if (strcmp(what, "spawn") == 0) {
        for (int i = 0; i < n; i++)
            if (mkfifo(pipe_name(i), 0600) != 0)
                return 1;
        pthread_create(&thread, NULL, open_later, &n);
        spawn_child(n);
        pthread_join(thread, NULL);
        while (wait(NULL) > 0)
            ;
    } else {
        return 2;
    }
    return 0;
}
