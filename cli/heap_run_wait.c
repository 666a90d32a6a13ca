/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "cli/heap_lost.h"
#include "cli/heap_run.h"
#include "cli/term.h"

enum { LOST_TOP = 10 };

bool cli_run_lost_take(struct cli_args *args, const char *value, struct cli_run_lost *lost)
{
    lost->is_wanted = lost->has_failed = true; /* until it was looked at */
    lost->every_seconds = 0;
    if (!value || strcmp(value, "at-exit") == 0)
        return true;
    if (!cli_heap_take_seconds(args, "lost", value, &lost->every_seconds))
        return false;
    if (lost->every_seconds > 0)
        return true;
    cli_args_wrong(args, "--lost: %s, expected at-exit or seconds", value);
    return false;
}

/* On stderr: stdout is the command's. A look that fails is reported, and the run goes on. */
static void look(int pid, bool at_exit, struct cli_heap_wanted *wanted, struct cli_run_lost *lost)
{
    struct cairn_err err = {0};
    struct cairn_buffer out = {0};
    struct cairn_heap_lost found = {0};
    const struct cairn_heap_lost_opts opts = {
        .size = sizeof opts, .filter = &wanted->filter, .at_exit = at_exit};
    int code = cli_lost_look(wanted, pid, &opts, &found, &err);
    if (code == CAIRN_E_MISSING && !lost->has_failed) {
        /* It ended meanwhile: what the look before found holds. */
    } else if (code < 0) {
        (void)cli_report(&err);
    } else {
        lost->has_failed = false;
        cli_lost_add(&out, &found, LOST_TOP, false);
        fwrite(out.data, 1, out.size, stderr);
        cli_heap_say_suppressed(wanted);
        cli_lost_say(&found);
        lost->is_closed = cli_lost_gate(wanted, &found);
    }
    cairn_buffer_done(&out);
    cairn_heap_lost_done(&found);
}

/* Until a child ends or stops, or for so long. */
static void wait_a_while(const sigset_t *of_child, int64_t ns)
{
    const struct timespec most = {.tv_sec = (time_t)(ns / 1000000000),
                                  .tv_nsec = (long)(ns % 1000000000)};
    (void)sigtimedwait(of_child, NULL, &most);
}

static bool is_due(const struct cli_run_lost *lost, uint64_t *next_ns)
{
    uint64_t now = cairn_now_ns(), every = (uint64_t)(lost->every_seconds * 1e9);
    if (!every || now < *next_ns)
        return false;
    bool is_first = *next_ns == 0;
    *next_ns = now + every;
    return !is_first;
}

/* Meanwhile looks for the programs that the command starts: 20 times a second at first, later 5
 * times, and never for more than a fiftieth of the time. */
int cli_run_wait(int pid, struct cairn_heap_session *session, struct cli_heap_wanted *wanted,
                 struct cli_run_lost *lost)
{
    enum { OFTEN_NS = 50000000, SELDOM_NS = 200000000, SHARE = 50, OFTEN_LOOKS = 200 };
    sigset_t of_child, old;
    int status = 0, looks = 0;
    uint64_t next_ns = 0;
    enum cairn_heap_turn turn;
    sigemptyset(&of_child);
    sigaddset(&of_child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &of_child, &old);
    while ((turn = cairn_heap_session_turn(session, &status)) != CAIRN_HEAP_TURN_ENDED) {
        if (turn == CAIRN_HEAP_TURN_STANDS) {
            look(pid, true, wanted, lost);
            cairn_heap_session_let_go(session);
            continue;
        }
        int64_t begin = (int64_t)cairn_now_ns(),
                interval = looks < OFTEN_LOOKS ? OFTEN_NS : SELDOM_NS;
        cairn_heap_session_look(session);
        int64_t took = (int64_t)cairn_now_ns() - begin;
        if (is_due(lost, &next_ns))
            look(pid, false, wanted, lost);
        else
            wait_a_while(&of_child, took * SHARE > interval ? took * SHARE : interval);
        looks += looks < OFTEN_LOOKS;
    }
    sigprocmask(SIG_SETMASK, &old, NULL);
    return status;
}
