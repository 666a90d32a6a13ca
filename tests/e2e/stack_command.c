/* SPDX-License-Identifier: MIT */
/*
 * Programs for tests/e2e/stack_command.sh, which tells them by word; each prints its pid and stays:
 *
 *     threads N   N threads in held_outer() -> held_inner(), asleep
 *     spin        in spin_outer() -> spin_inner(), on a CPU
 *     name        a thread whose name would move the cursor of a terminal
 *     leader      the main thread has ended, another one sleeps
 *     eintr       calls that a stop may end, each in a child; tells which of them returned
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile int sink;

__attribute__((noinline)) void held_inner(void);
__attribute__((noinline)) void held_outer(void);
__attribute__((noinline)) void spin_inner(void);
__attribute__((noinline)) void spin_outer(void);

void held_inner(void)
{
    while (sink >= 0)
        poll(NULL, 0, 1000000);
}

void held_outer(void)
{
    held_inner();
    sink++;
}

void spin_inner(void)
{
    while (sink >= 0)
        sink = 1;
}

void spin_outer(void)
{
    spin_inner();
    sink++;
}

static void *hold(void *name)
{
    if (name)
        prctl(PR_SET_NAME, name);
    held_outer();
    return NULL;
}

static void tell_pid(void)
{
    printf("%d\n", (int)getpid());
    fflush(stdout);
}

static void start(void *name)
{
    pthread_t thread;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 64 << 10);
    if (pthread_create(&thread, &attr, hold, name))
        exit(1);
}

static int wait_in(int call)
{
    struct epoll_event event;
    const struct timespec patience = {3, 0};
    const struct timeval recv_patience = {3, 0};
    struct sembuf down = {0, -1, 0};
    int pair[2], epoll = epoll_create1(0), sem, got, number;
    sigset_t set;
    char byte;
    switch (call) {
    case 0:
        return epoll_wait(epoll, &event, 1, 3000);
    case 1:
        socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
        setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &recv_patience, sizeof recv_patience);
        return (int)recv(pair[0], &byte, 1, 0);
    case 2:
        sem = semget(IPC_PRIVATE, 1, 0600);
        got = semtimedop(sem, &down, 1, &patience);
        number = errno;
        semctl(sem, 0, IPC_RMID);
        errno = number;
        return got;
    default:
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        sigprocmask(SIG_BLOCK, &set, NULL);
        return sigtimedwait(&set, NULL, &patience);
    }
}

static int run_eintr(void)
{
    static const char *const names[] = {"epoll_wait", "recv", "semtimedop", "sigtimedwait"};
    for (int call = 0; call < 4; call++) {
        pid_t child = fork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            printf("%d\n", (int)getpid());
            fflush(stdout);
            int got = wait_in(call);
            printf("%s: %s\n", names[call], got < 0 && errno == EINTR ? "EINTR" : "waited");
            fflush(stdout);
            _exit(0);
        }
    }
    while (wait(NULL) > 0)
        ;
    return 0;
}

int main(int argc, char **argv)
{
    static char hostile[] = "\033[2J\n\"<b>";
    const char *word = argc > 1 ? argv[1] : "";
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (strcmp(word, "eintr") == 0)
        return run_eintr();
    if (strcmp(word, "threads") == 0)
        for (int i = 1; i < (argc > 2 ? atoi(argv[2]) : 2); i++)
            start(NULL);
    else if (strcmp(word, "name") == 0)
        start(hostile);
    else if (strcmp(word, "leader") == 0)
        start(NULL);
    tell_pid();
    if (strcmp(word, "leader") == 0)
        pthread_exit(NULL);
    if (strcmp(word, "spin") == 0)
        spin_outer();
    else
        held_outer();
    return 0;
}
