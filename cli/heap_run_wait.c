/* SPDX-License-Identifier: MIT */
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/heap_run.h"
#include "cli/pass_on.h"

/* Those that end, stop or tell of something mean that to the command. */
static int signal_of(const char *name)
{
    static const struct {
        const char *name;
        int number;
    } signals[] = {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"HUP", SIGHUP}};
    const char *bare = strncmp(name, "SIG", 3) == 0 ? name + 3 : name;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (strcmp(bare, signals[i].name) == 0)
            return signals[i].number;
    return 0;
}

bool cli_run_lost_take(struct cli_args *args, const char *value, struct cli_run_lost *lost)
{
    lost->is_wanted = lost->has_failed = true; /* until it was looked at */
    lost->every_seconds = 0;
    lost->signal = value ? signal_of(value) : 0;
    if (!value || lost->signal || strcmp(value, "at-exit") == 0)
        return true;
    if (*value >= '0' && *value <= '9' &&
        !cli_heap_take_seconds(args, "lost", value, &lost->every_seconds))
        return false;
    if (lost->every_seconds > 0)
        return true;
    cli_args_wrong(args, "--lost: %s, expected at-exit, seconds, USR1, USR2 or HUP", value);
    return false;
}

bool cli_run_lost_is_at_end(const struct cli_run_lost *lost)
{
    return lost->every_seconds == 0 && lost->signal == 0;
}

/* Until a child ends or stops, a process asks, or for so long. */
static void wait_a_while(int of_children, const struct cairn_heap_session *session, int64_t ns)
{
    struct signalfd_siginfo info;
    struct pollfd fds[] = {{.fd = of_children, .events = POLLIN},
                           {.fd = cairn_heap_session_fd(session), .events = POLLIN}};
    const struct timespec most = {.tv_sec = (time_t)(ns / 1000000000),
                                  .tv_nsec = (long)(ns % 1000000000)};
    if (ppoll(fds, sizeof fds / sizeof *fds, &most, NULL) > 0 && fds[0].revents & POLLIN)
        (void)!read(of_children, &info, sizeof info);
}

/* Those who ask by now; of many a few, so that the command's end is not kept waiting. */
static void answer(const struct cli_run *run)
{
    enum { AT_A_TIME = 8 };
    enum cairn_heap_asked_kind kind;
    int pid;
    for (int i = 0; i < AT_A_TIME && cairn_heap_session_asked(run->session, &pid, &kind); i++)
        cli_run_look_asked(run, pid, kind);
}

static bool is_due(const struct cli_run_lost *lost, uint64_t *next_ns)
{
    uint64_t now = cairn_now_ns(), every = (uint64_t)(lost->every_seconds * 1e9);
    if (lost->signal)
        return cli_pass_on_take_kept();
    if (!every || now < *next_ns)
        return false;
    bool is_first = *next_ns == 0;
    *next_ns = now + every;
    return !is_first;
}

/* Meanwhile looks for the programs that the command starts: 20 times a second at first, later 5
 * times, and never for more than a fiftieth of the time. */
static int wait_for(const struct cli_run *run, int of_children)
{
    enum { OFTEN_NS = 50000000, SELDOM_NS = 200000000, SHARE = 50, OFTEN_LOOKS = 200 };
    int status = 0, looks = 0;
    uint64_t next_ns = 0;
    enum cairn_heap_turn turn;
    while ((turn = cairn_heap_session_turn(run->session, &status)) != CAIRN_HEAP_TURN_ENDED) {
        if (turn == CAIRN_HEAP_TURN_STANDS) {
            cli_run_look_at_end(run);
            cairn_heap_session_let_go(run->session);
            continue;
        }
        int64_t begin = (int64_t)cairn_now_ns(),
                interval = looks < OFTEN_LOOKS ? OFTEN_NS : SELDOM_NS;
        cairn_heap_session_look(run->session);
        int64_t took = (int64_t)cairn_now_ns() - begin;
        answer(run);
        if (is_due(run->lost, &next_ns))
            cli_run_look_running(run);
        else
            wait_a_while(of_children, run->session,
                         took * SHARE > interval ? took * SHARE : interval);
        looks += looks < OFTEN_LOOKS;
    }
    return status;
}

int cli_run_wait(int pid, struct cairn_heap_session *session, struct cli_heap_wanted *wanted,
                 struct cli_run_lost *lost)
{
    const struct cli_run run = {pid, session, wanted, lost};
    sigset_t of_child, old;
    sigemptyset(&of_child);
    sigaddset(&of_child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &of_child, &old);
    int of_children = signalfd(-1, &of_child, SFD_CLOEXEC | SFD_NONBLOCK);
    int status = wait_for(&run, of_children);
    if (of_children >= 0)
        close(of_children);
    sigprocmask(SIG_SETMASK, &old, NULL);
    return status;
}
