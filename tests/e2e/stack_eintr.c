/* SPDX-License-Identifier: MIT */
/*
 * stack_eintr: a process for each system call that a stop by ptrace(2) may end with EINTR, and for
 * some that go on. Prints "NAME PID" of each, then a line for each line it reads:
 * "NAME blocked", or "NAME RESULT ERRNO" of a call that came back.
 *
 * stack_eintr interrupt PID...: stops each for a moment, as a tracer does that mends nothing.
 */
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LONG_S = 600, PREPARE_MS = 200 };

static const struct timespec long_time = {.tv_sec = LONG_S};
static int event_fd, epoll_fd, pair[2];

static long wait_epoll(void)
{
    struct epoll_event event;
    return epoll_wait(epoll_fd, &event, 1, LONG_S * 1000);
}

static long wait_epoll_masked(void)
{
    struct epoll_event event;
    sigset_t none;
    sigemptyset(&none);
    return epoll_pwait(epoll_fd, &event, 1, LONG_S * 1000, &none);
}

static long wait_poll(void)
{
    struct pollfd fd = {event_fd, POLLIN, 0};
    return poll(&fd, 1, LONG_S * 1000);
}

static long wait_ppoll(void)
{
    struct pollfd fd = {event_fd, POLLIN, 0};
    return ppoll(&fd, 1, &long_time, NULL);
}

static long wait_select(void)
{
    fd_set set;
    struct timeval time = {.tv_sec = LONG_S};
    FD_ZERO(&set);
    FD_SET(event_fd, &set);
    return select(event_fd + 1, &set, NULL, NULL, &time);
}

static long wait_nanosleep(void)
{
    return nanosleep(&long_time, NULL);
}

static long wait_futex(void)
{
    static int word;
    return syscall(SYS_futex, &word, FUTEX_WAIT, 0, &long_time, NULL, 0);
}

static long wait_recv(void)
{
    char byte;
    struct timeval time = {.tv_sec = LONG_S};
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
    return recv(pair[0], &byte, 1, 0);
}

static long wait_read(void)
{
    uint64_t count;
    return read(event_fd, &count, sizeof count);
}

static long wait_semaphore(void)
{
    struct sembuf down = {0, -1, 0};
    int set = semget(IPC_PRIVATE, 1, 0600);
    long result = semtimedop(set, &down, 1, &long_time);
    int os_errno = errno;
    semctl(set, 0, IPC_RMID);
    errno = os_errno;
    return result;
}

static long wait_signal(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return sigtimedwait(&set, NULL, &long_time);
}

static struct {
    const char *name;
    long (*wait)(void);
    int pid, fd;
} calls[] = {
    {"epoll_wait", wait_epoll, 0, 0},    {"epoll_pwait", wait_epoll_masked, 0, 0},
    {"poll", wait_poll, 0, 0},           {"ppoll", wait_ppoll, 0, 0},
    {"select", wait_select, 0, 0},       {"nanosleep", wait_nanosleep, 0, 0},
    {"futex", wait_futex, 0, 0},         {"recv", wait_recv, 0, 0},
    {"read", wait_read, 0, 0},           {"semtimedop", wait_semaphore, 0, 0},
    {"sigtimedwait", wait_signal, 0, 0},
};
enum { N_CALLS = sizeof calls / sizeof *calls };

static void start(unsigned i)
{
    int fds[2];
    if (pipe(fds) != 0)
        exit(1);
    int pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        errno = 0;
        long result[2] = {calls[i].wait(), 0};
        result[1] = errno;
        (void)!write(fds[1], result, sizeof result);
        pause();
        _exit(0);
    }
    close(fds[1]);
    calls[i].pid = pid;
    calls[i].fd = fds[0];
    printf("%s %d\n", calls[i].name, pid);
}

static void tell(unsigned i)
{
    long result[2];
    struct pollfd fd = {calls[i].fd, POLLIN, 0};
    if (poll(&fd, 1, 0) > 0 && read(calls[i].fd, result, sizeof result) == sizeof result)
        printf("%s %ld %s\n", calls[i].name, result[0], strerrorname_np((int)result[1]));
    else
        printf("%s blocked\n", calls[i].name);
}

static int interrupt(int pid)
{
    int status;
    return ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0 &&
                   ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) == 0 &&
                   waitpid(pid, &status, __WALL) == pid &&
                   ptrace(PTRACE_DETACH, pid, NULL, NULL) == 0
               ? 0
               : 1;
}

int main(int argc, char **argv)
{
    char line[64];
    int failed = 0;
    if (argc > 1) {
        for (int i = 2; i < argc; i++)
            failed |= interrupt(atoi(argv[i]));
        return failed;
    }
    epoll_fd = epoll_create1(0);
    event_fd = eventfd(0, 0);
    if (epoll_fd < 0 || event_fd < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return 1;
    for (unsigned i = 0; i < N_CALLS; i++)
        start(i);
    usleep(PREPARE_MS * 1000);
    printf("ready\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        for (unsigned i = 0; i < N_CALLS; i++)
            tell(i);
        printf("told\n");
        fflush(stdout);
    }
    for (unsigned i = 0; i < N_CALLS; i++) {
        kill(calls[i].pid, SIGKILL);
        waitpid(calls[i].pid, NULL, 0);
    }
    return 0;
}
