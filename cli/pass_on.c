/* SPDX-License-Identifier: MIT */
#include "cli/pass_on.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIGNALS = 65, GENERATIONS_MAX = 64, STAT_BYTES = 512, PATH_BYTES = 32 };

static struct sigaction before[SIGNALS];
static bool is_taken[SIGNALS];
static volatile sig_atomic_t waits[SIGNALS]; /* came before the command ran */
static _Atomic(int) command;                 /* its pid; 0: it does not run */
static _Atomic(unsigned) n_ends;
static int kept; /* 0: none */
static volatile sig_atomic_t has_kept;

/* Faults of our own, what cannot be handled, and what tells of children. Signals between the last
 * standard one and SIGRTMIN belong to libc. */
static bool is_left_alone(int number)
{
    static const int left[] = {SIGKILL, SIGSTOP, SIGCHLD, SIGSEGV, SIGBUS,  SIGFPE,
                               SIGILL,  SIGTRAP, SIGABRT, SIGSYS,  SIGTTIN, SIGTTOU};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        if (number == left[i])
            return true;
    return number > SIGSYS && number < SIGRTMIN;
}

/* Decimal digits, as snprintf() may not be called in a handler. */
static void stat_path(char path[PATH_BYTES], int pid)
{
    char digits[12];
    size_t first = sizeof digits;
    do
        digits[--first] = (char)('0' + pid % 10);
    while (pid /= 10);
    size_t n = sizeof digits - first;
    memcpy(path, "/proc/", 6);
    memcpy(path + 6, digits + first, n);
    memcpy(path + 6 + n, "/stat", 6);
}

/* Field 4 of /proc/PID/stat; 0: there is no such process. Signal-safe. */
static int parent_of(int pid)
{
    char path[PATH_BYTES], text[STAT_BYTES];
    stat_path(path, pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *at = strrchr(text, ')'); /* behind the name, which may hold anything: " S 123" */
    int parent = 0;
    if (at && strlen(at) > 4)
        for (at += 4; *at >= '0' && *at <= '9'; at++)
            parent = parent * 10 + (*at - '0');
    return parent;
}

static bool descends_from(int pid, int ancestor)
{
    for (int i = 0; i < GENERATIONS_MAX && pid > 1; i++) {
        if (pid == ancestor)
            return true;
        pid = parent_of(pid);
    }
    return false;
}

static bool is_sent_below(const siginfo_t *info, int ancestor)
{
    return (info->si_code == SI_USER || info->si_code == SI_TKILL || info->si_code == SI_QUEUE) &&
           descends_from(info->si_pid, ancestor);
}

static bool has_got_it(const siginfo_t *info, int pid)
{
    if (info->si_code == SI_KERNEL)
        return getpgid(pid) == getpgrp();
    return is_sent_below(info, pid);
}

/* As the terminal's key would have stopped us; the shell sees which signal it was. */
static void stop_here(void)
{
    struct sigaction ours;
    sigset_t stop, old;
    sigaction(SIGTSTP, &(struct sigaction){.sa_handler = SIG_DFL}, &ours);
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    raise(SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &stop, &old);
    sigprocmask(SIG_SETMASK, &old, NULL);
    sigaction(SIGTSTP, &ours, NULL);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (number == kept) {
        has_kept = 1;
        return;
    }
    int os_errno = errno, pid = atomic_load(&command);
    if (number == SIGINT || number == SIGTERM || number == SIGHUP)
        atomic_fetch_add(&n_ends, 1);
    /* A pipe of ours that nobody reads is our matter: the write fails. */
    bool is_ours = number == SIGPIPE && info->si_code != SI_QUEUE && info->si_pid == getpid();
    /* A command may signal its process group before its pid is known here. It has got that. */
    if (pid == 0) {
        if (!is_sent_below(info, getpid()))
            waits[number] = 1;
    } else if (!is_ours && !has_got_it(info, pid)) {
        if (info->si_code == SI_QUEUE)
            sigqueue(pid, number, info->si_value);
        else
            kill(pid, number);
    }
    if (number == SIGTSTP && pid)
        stop_here();
    errno = os_errno;
}

void cli_pass_on_keep(int number)
{
    kept = number;
    has_kept = 0;
}

bool cli_pass_on_take_kept(void)
{
    bool has_come = has_kept;
    has_kept = 0;
    return has_come;
}

void cli_pass_on_begin(bool takes_ignored_int)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigfillset(&action.sa_mask);
    atomic_store(&command, 0);
    atomic_store(&n_ends, 0);
    for (int i = 1; i < SIGNALS; i++) {
        waits[i] = 0;
        is_taken[i] =
            !is_left_alone(i) && sigaction(i, NULL, &before[i]) == 0 &&
            (before[i].sa_handler != SIG_IGN || i == kept || (i == SIGINT && takes_ignored_int)) &&
            sigaction(i, &action, NULL) == 0;
    }
}

void cli_pass_on_to(int pid)
{
    atomic_store(&command, pid);
    for (int i = 1; i < SIGNALS; i++) {
        if (waits[i] && pid)
            kill(pid, i);
        waits[i] = 0;
    }
}

unsigned cli_pass_on_n_ends(void)
{
    return atomic_load(&n_ends);
}

static void give_back(int number)
{
    if (is_taken[number])
        sigaction(number, &before[number], NULL);
    is_taken[number] = false;
}

void cli_pass_on_release_keys(void)
{
    give_back(SIGINT);
    give_back(SIGQUIT);
}

void cli_pass_on_end(void)
{
    for (int i = 1; i < SIGNALS; i++)
        give_back(i);
}
