/* SPDX-License-Identifier: MIT */
#include "snapshot/syscall.h"

#include <stddef.h>
#include <string.h>

struct row {
    const char *name;
    int number;
};

/* By number; the file is made from the headers of the C library. */
static const struct row names[] = {
#include "snapshot/syscall_names.h"
};

/* The calls that block, and how many arguments they have (syscalls(2)). */
static const struct row arguments[] = {
    {"accept", 3},          {"accept4", 4},       {"clock_nanosleep", 4}, {"close", 1},
    {"connect", 3},         {"epoll_pwait", 6},   {"epoll_wait", 4},      {"fcntl", 3},
    {"fdatasync", 1},       {"flock", 2},         {"fsync", 1},           {"futex", 6},
    {"getrandom", 3},       {"io_getevents", 5},  {"ioctl", 3},           {"mq_timedreceive", 5},
    {"msgrcv", 5},          {"msgsnd", 4},        {"nanosleep", 2},       {"openat", 4},
    {"pause", 0},           {"poll", 3},          {"ppoll", 5},           {"pread64", 4},
    {"preadv", 5},          {"pselect6", 6},      {"pwrite64", 4},        {"read", 3},
    {"readv", 3},           {"recvfrom", 6},      {"recvmsg", 3},         {"recvmmsg", 5},
    {"restart_syscall", 0}, {"rt_sigsuspend", 2}, {"rt_sigtimedwait", 4}, {"sched_yield", 0},
    {"select", 5},          {"semop", 3},         {"semtimedop", 4},      {"sendmsg", 3},
    {"sendto", 6},          {"splice", 6},        {"vfork", 0},           {"wait4", 4},
    {"waitid", 5},          {"write", 3},         {"writev", 3},
};

enum { N_NAMES = sizeof names / sizeof *names, N_ARGUMENTS = sizeof arguments / sizeof *arguments };

const char *cairn_syscall_name(long number)
{
    for (size_t i = 0; i < N_NAMES; i++)
        if (names[i].number == number)
            return names[i].name;
    return NULL;
}

int cairn_syscall_arguments(const char *name)
{
    for (size_t i = 0; name && i < N_ARGUMENTS; i++)
        if (strcmp(arguments[i].name, name) == 0)
            return arguments[i].number;
    return -1;
}
