/* SPDX-License-Identifier: MIT */
/*
 * The sender: a child of the agent that takes windows from the spool and sends them, the oldest
 * first. It waits longer after each failure. Its end of the socket says when the agent has ended,
 * however that was: then it sends what waits, for some seconds, and ends too.
 *
 *     new ─► sending ─┬─► kept
 *      ▲              ├─► new        the store was away: again later
 *      │              ├─► doubt      all left, no answer came: not again
 *      └──────────────┴─► refused    by its contents: not again
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/escape.h"
#include "cli/agent.h"

enum {
    FIRST_PAUSE_MS = 1000,
    LONGEST_PAUSE_MS = 300000,
    LAST_SECONDS = 8,
    NICE = 5,
    LOOK_MS = 1000
};

static const double try_s = 10; /* for one window, without pauses */

struct sending {
    struct cairn_spool *spool;
    struct cairn_push_opts push;
    int fd;
    uint32_t pause_ms; /* before the next attempt; 0: none failed */
    uint64_t next_ns;  /* when that is */
    uint64_t end_ns;   /* 0: the agent runs yet */
};

static long read_file(void *ctx, void *buf, size_t size)
{
    return read(*(int *)ctx, buf, size);
}

/* A window as a store gets it: a series for each process number would be too many. */
static int read_window(const struct sending *s, const struct cairn_window *window,
                       struct cairn_profile **ret_profile, struct cairn_err *err)
{
    char path[CLI_AGENT_PATH];
    cairn_spool_path(s->spool, window, path, sizeof path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return cairn_fail_os(err, errno, "%s", path);
    int code = cairn_profile_read(read_file, &fd, CAIRN_FORMAT_PPROF, ret_profile, err);
    close(fd);
    if (code == CAIRN_OK)
        code = cairn_agent_unlabel(*ret_profile, "pid", err);
    return code < 0 ? cairn_fail_in(err, code, path) : code;
}

/* Where the store's administrator can mend it, the window waits. */
static bool may_pass(const struct cairn_push_result *result)
{
    return result->outcome == CAIRN_PUSH_REFUSED && result->status != 400 &&
           result->status != 413 && result->status != 415 && result->status != 422 &&
           result->status / 100 != 2;
}

static void pause_longer(struct sending *s)
{
    uint32_t pause = s->pause_ms ? 2 * s->pause_ms : FIRST_PAUSE_MS;
    s->pause_ms = pause < LONGEST_PAUSE_MS ? pause : LONGEST_PAUSE_MS;
    /* Agents that lost one store at one time do not come back at one time. */
    uint64_t jitter = s->pause_ms / 2 + cairn_now_ns() / 1000 % (s->pause_ms / 2 + 1);
    s->next_ns = cairn_now_ns() + (s->pause_ms / 2 + jitter) * CAIRN_NS_PER_MS;
}

static void tell(struct sending *s, const struct cli_agent_sent *sent)
{
    (void)!send(s->fd, sent, sizeof *sent, MSG_NOSIGNAL); /* each counts: it waits for space */
}

static void note_why(struct cli_agent_sent *sent, const struct cairn_err *err)
{
    struct cairn_buffer safe = {0};
    cairn_escape_terminal(&safe, err->msg, strlen(err->msg));
    snprintf(sent->why, sizeof sent->why, "%s", cairn_buffer_text(&safe));
    cairn_buffer_done(&safe);
}

static enum cairn_window_state state_after(const struct cli_agent_sent *sent)
{
    if (sent->outcome < 0)
        return CAIRN_WINDOW_DAMAGED;
    if (sent->outcome == CAIRN_PUSH_SENT)
        return CAIRN_WINDOW_KEPT;
    if (sent->outcome == CAIRN_PUSH_DOUBTFUL)
        return CAIRN_WINDOW_DOUBT;
    return sent->outcome == CAIRN_PUSH_REFUSED && !sent->will_be_resent ? CAIRN_WINDOW_REFUSED
                                                                        : CAIRN_WINDOW_NEW;
}

/* One window that is marked as being sent. */
static void send_one(struct sending *s, struct cairn_window *window, size_t n_behind)
{
    struct cairn_push_result result = {.size = sizeof result};
    struct cli_agent_sent sent = {.behind = (uint32_t)n_behind};
    struct cairn_profile *profile = NULL;
    struct cairn_err err = {0};
    int code = read_window(s, window, &profile, &err);
    if (code < 0) {
        sent.outcome = -1;
    } else {
        code = cairn_push_profile(profile, &s->push, &result, &err);
        sent.outcome = (int)result.outcome;
        sent.will_be_resent = may_pass(&result);
        sent.bytes = (uint32_t)result.n_bytes;
    }
    cairn_profile_free(profile);
    if (code < 0)
        note_why(&sent, &err);
    enum cairn_window_state state = state_after(&sent);
    if (state == CAIRN_WINDOW_NEW)
        pause_longer(s);
    else if (sent.outcome == CAIRN_PUSH_SENT)
        s->pause_ms = 0;
    sent.pause_ms = state == CAIRN_WINDOW_NEW ? s->pause_ms : 0;
    (void)cairn_spool_mark(s->spool, window, state, NULL);
    tell(s, &sent);
}

static bool may_send(const struct sending *s)
{
    uint64_t now = cairn_now_ns();
    return s->end_ns ? now < s->end_ns && !s->pause_ms : !s->pause_ms || now >= s->next_ns;
}

/* The oldest that waits; false: none does, or not now. */
static bool send_next(struct sending *s)
{
    const struct cairn_window *windows;
    size_t n, n_new = 0;
    struct cairn_window first = {0};
    if (!may_send(s) || cairn_spool_list(s->spool, &windows, &n, NULL) < 0)
        return false;
    for (size_t i = n; i-- > 0;)
        if (windows[i].state == CAIRN_WINDOW_NEW) {
            first = windows[i];
            n_new++;
        }
    if (!n_new)
        return false;
    if (cairn_spool_mark(s->spool, &first, CAIRN_WINDOW_SENDING, NULL) == CAIRN_OK)
        send_one(s, &first, n_new - 1);
    return true;
}

/* Until there may be something new; false: the agent has ended. */
static bool wait_for_more(struct sending *s)
{
    struct pollfd news = {.fd = s->fd, .events = POLLIN};
    char bytes[64];
    if (poll(&news, 1, LOOK_MS) <= 0)
        return true;
    return recv(s->fd, bytes, sizeof bytes, 0) > 0;
}

__attribute__((noreturn)) static void serve(struct sending *s)
{
    signal(SIGINT, SIG_IGN); /* a terminal sends it to both */
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGUSR1, SIG_IGN);
    (void)setpriority(PRIO_PROCESS, 0, NICE);
    while (wait_for_more(s))
        while (send_next(s))
            continue;
    s->end_ns = cairn_now_ns() + LAST_SECONDS * UINT64_C(1000000000);
    s->pause_ms = 0;
    s->push.timeout_s = LAST_SECONDS / 2;
    while (send_next(s))
        continue;
    _exit(0);
}

int cli_agent_sender_start(const struct cli_agent_options *options, const char *folder,
                           struct cairn_spool *spool, struct cli_agent_sender *ret_sender,
                           struct cairn_err *err)
{
    int fds[2];
    struct sending s = {.push = options->push};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
        return cairn_fail_os(err, errno, "no socket for the sender");
    pid_t pid = fork();
    if (pid < 0) {
        close(fds[0]);
        close(fds[1]);
        return cairn_fail_os(err, errno, "the sender cannot be started");
    }
    if (pid == 0) {
        close(fds[0]);
        cairn_spool_leave(spool);
        s.fd = fds[1];
        s.push.token = options->auth.token;
        s.push.user = options->auth.user;
        s.push.password = options->auth.password;
        s.push.timeout_s = try_s;
        if (cairn_spool_open(folder, 0, &s.spool, err) < 0)
            _exit(1);
        serve(&s);
    }
    close(fds[1]);
    *ret_sender = (struct cli_agent_sender){.pid = pid, .fd = fds[0]};
    return CAIRN_OK;
}

void cli_agent_sender_wake(const struct cli_agent_sender *sender)
{
    if (sender->pid)
        (void)!send(sender->fd, "w", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool cli_agent_sender_told(struct cli_agent_sender *sender, struct cli_agent_sent *ret_sent)
{
    if (!sender->pid)
        return false;
    ssize_t n;
    do
        n = recv(sender->fd, ret_sent, sizeof *ret_sent, sender->is_ending ? 0 : MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n == (ssize_t)sizeof *ret_sent)
        return true;
    if (n >= 0 || errno != EAGAIN) {
        close(sender->fd);
        while (waitpid(sender->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
        *sender = (struct cli_agent_sender){.fd = -1};
    }
    return false;
}

void cli_agent_sender_stop(struct cli_agent_sender *sender)
{
    if (sender->pid)
        (void)shutdown(sender->fd, SHUT_WR);
    sender->is_ending = true;
}
