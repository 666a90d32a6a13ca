/* SPDX-License-Identifier: MIT */
#include "proc/at_exit.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "proc/ptrace.h"

enum { EVENT_AT = 16, PAUSE_TRIES = 1000 };

static bool seize(int pid)
{
    return ptrace(PTRACE_SEIZE, pid, NULL, (void *)(long)PTRACE_O_TRACEEXIT) == 0;
}

int cairn_at_exit_seize(int pid, struct cairn_at_exit *ret_exit, struct cairn_err *err)
{
    if (!seize(pid))
        return cairn_fail_os(err, errno, "process %d: cannot be held at its end (ptrace)", pid);
    *ret_exit = (struct cairn_at_exit){.pid = pid};
    return CAIRN_OK;
}

static void answer(struct cairn_at_exit *e, int status)
{
    if (status >> EVENT_AT == PTRACE_EVENT_EXIT)
        e->at = CAIRN_AT_EXIT_STANDS;
    else
        (void)cairn_ptrace_go_on(e->pid, status);
}

enum cairn_at_exit_turn cairn_at_exit_turn(struct cairn_at_exit *at_exit)
{
    int status;
    pid_t got = 0;
    while (at_exit->at == CAIRN_AT_EXIT_RUNS &&
           (got = waitpid(at_exit->pid, &status, WNOHANG | __WALL)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got > 0 && WIFSTOPPED(status)) {
            answer(at_exit, status);
            continue;
        }
        at_exit->at = CAIRN_AT_EXIT_ENDED;
        at_exit->status = got > 0 ? status : 0;
    }
    return at_exit->at;
}

void cairn_at_exit_serve(void *at_exit)
{
    (void)cairn_at_exit_turn(at_exit);
}

void cairn_at_exit_let_go(struct cairn_at_exit *at_exit)
{
    if (at_exit->at != CAIRN_AT_EXIT_STANDS)
        return;
    at_exit->at = CAIRN_AT_EXIT_RUNS;
    (void)ptrace(PTRACE_CONT, at_exit->pid, NULL, NULL);
}

/* A signal that is about to reach it does so. */
static bool detach(struct cairn_at_exit *e, int status)
{
    long with = status >> EVENT_AT == 0 ? WSTOPSIG(status) : 0;
    if (status >> EVENT_AT == PTRACE_EVENT_EXIT) {
        e->at = CAIRN_AT_EXIT_STANDS;
        return false;
    }
    return ptrace(PTRACE_DETACH, e->pid, NULL, with) == 0;
}

bool cairn_at_exit_pause(struct cairn_at_exit *at_exit)
{
    const struct timespec pause = {.tv_nsec = CAIRN_NS_PER_MS};
    int status;
    if (at_exit->at != CAIRN_AT_EXIT_RUNS || ptrace(PTRACE_INTERRUPT, at_exit->pid, NULL, NULL) < 0)
        return false;
    for (int i = 0; i < PAUSE_TRIES; i++) {
        pid_t got = waitpid(at_exit->pid, &status, WNOHANG | __WALL);
        if (got == at_exit->pid && WIFSTOPPED(status))
            return detach(at_exit, status);
        if (got != 0 && !(got < 0 && errno == EINTR)) {
            at_exit->at = CAIRN_AT_EXIT_ENDED;
            at_exit->status = got > 0 ? status : 0;
            return false;
        }
        nanosleep(&pause, NULL);
    }
    return false;
}

/* Where it has ended meanwhile, waitpid(2) says so. */
void cairn_at_exit_resume(struct cairn_at_exit *at_exit)
{
    (void)seize(at_exit->pid);
}

void cairn_at_exit_drop(struct cairn_at_exit *at_exit)
{
    const struct timespec pause = {.tv_nsec = CAIRN_NS_PER_MS};
    (void)kill(at_exit->pid, SIGKILL);
    while (cairn_at_exit_turn(at_exit) != CAIRN_AT_EXIT_ENDED) {
        cairn_at_exit_let_go(at_exit);
        nanosleep(&pause, NULL);
    }
}
