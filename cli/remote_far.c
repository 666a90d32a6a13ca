/* SPDX-License-Identifier: MIT */
/*
 * The far end: `cairn remote serve`, which a shell became.
 *
 *     stdin  ──► RUN ──► a child that runs the command line ──┬─ stdout ──► OUT
 *            ──► CANCEL ──► SIGINT ──►                         ├─ stderr ──► ERR
 *            ──► ANSWER ──► its socket of names ◄── ASK ◄──────┘
 *
 * The end of stdin, silence, or bytes that make no sense end the child: what it captures would be
 * lost. It gets a SIGTERM, by which commands detach and end, and a second later a SIGKILL.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cairn/version.h>

#include "base/clock.h"
#include "base/error.h"
#include "cli/pass_on.h"
#include "cli/remote.h"
#include "cli/remote_child.h"
#include "cli/term.h"

enum {
    PIECE = 65536,
    SEND_WAITS = 256 << 10, /* while so much waits, the child's output is left in its pipe */
    TICK_MS = 100,
    IDLE_MS = 500
};
static const uint64_t BEAT_NS = 500000000, SILENCE_NS = 10000000000, GRACE_NS = 1000000000,
                      GIVE_UP_NS = 2000000000;

struct far {
    struct cairn_remote_reader *reader;
    struct cairn_buffer send, ask;
    size_t sent;
    struct cli_remote_child child;
    bool has_run, has_asked, is_lost, was_killed;
    int status;
    uint64_t heard_ns, beat_ns, lost_ns;
    int (*run)(char **words);
};

static int put(void *far, const void *bytes, size_t size)
{
    struct far *f = far;
    if (!f->is_lost)
        cairn_buffer_add(&f->send, bytes, size);
    return f->send.failed;
}

/* The near end has gone: ends the child. */
static void lose(struct far *f)
{
    if (f->is_lost)
        return;
    f->is_lost = true;
    f->lost_ns = cairn_now_ns();
    cairn_buffer_clear(&f->send);
    f->sent = 0;
    if (f->child.pid)
        kill(f->child.pid, SIGTERM);
}

static uint64_t abilities(void)
{
    char line[256];
    uint64_t bits = 0;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "CapEff:", 7) == 0)
            bits = strtoull(line + 7, NULL, 16);
    if (file)
        fclose(file);
    return bits;
}

static int say_hello(struct far *f, struct cairn_err *err)
{
    struct cairn_remote_hello hello = {
        .size = sizeof hello, .uid = geteuid(), .abilities = abilities()};
    struct utsname here;
    int code = cairn_remote_write_magic(put, f, err);
    if (uname(&here) == 0) {
        snprintf(hello.machine, sizeof hello.machine, "%.60s", here.machine);
        snprintf(hello.host, sizeof hello.host, "%.120s", here.nodename);
    }
    snprintf(hello.cairn, sizeof hello.cairn, "%s", cairn_version());
    snprintf(hello.features, sizeof hello.features, "names");
    return code < 0 ? code : cairn_remote_write_hello(&hello, put, f, err);
}

static int take_answer(struct far *f, const struct cairn_remote_frame *frame, struct cairn_err *err)
{
    if (!f->has_asked) /* the child reads none, and writing it could block */
        return cairn_fail(err, CAIRN_E_FORMAT, "names that were not asked for");
    f->has_asked = false;
    if (f->child.names < 0)
        return CAIRN_OK;
    if (cli_remote_write_message(f->child.names, frame->data, frame->data_size, "names", err) < 0)
        cli_remote_close(&f->child.names); /* the child has gone, and its exit status says how */
    return CAIRN_OK;
}

static int take_frame(struct far *f, const struct cairn_remote_frame *frame, struct cairn_err *err)
{
    struct cairn_remote_run run = {.size = sizeof run};
    int code;
    switch (frame->kind) {
    case CAIRN_REMOTE_RUN:
        if (f->has_run)
            return cairn_fail(err, CAIRN_E_FORMAT, "a second command line");
        f->has_run = true;
        code = cairn_remote_read_run(frame->data, frame->data_size, &run, err);
        if (code == CAIRN_OK)
            code = cli_remote_child_start(&run, f->run, &f->child, err);
        cairn_remote_run_done(&run);
        return code;
    case CAIRN_REMOTE_CANCEL:
        if (f->child.pid)
            kill(f->child.pid, SIGINT);
        return CAIRN_OK;
    case CAIRN_REMOTE_ANSWER:
        return take_answer(f, frame, err);
    case CAIRN_REMOTE_BEAT:
        return CAIRN_OK;
    default:
        return cairn_fail(err, CAIRN_E_FORMAT, "a frame of kind %d, which only we send",
                          (int)frame->kind);
    }
}

/* Ends the connection with words for the near end. */
static void refuse(struct far *f, const struct cairn_err *err)
{
    char line[1024];
    const uint8_t status = CLI_FAILED;
    int n = snprintf(line, sizeof line, "cairn: %s\n", err->msg);
    (void)cairn_remote_write(CAIRN_REMOTE_ERR, line, (size_t)n, put, f, NULL);
    (void)cairn_remote_write(CAIRN_REMOTE_EXIT, &status, 1, put, f, NULL);
    /* What is queued goes out as far as it goes at once. */
    (void)!write(STDOUT_FILENO, f->send.data + f->sent, f->send.size - f->sent);
    lose(f);
}

static void read_near(struct far *f)
{
    uint8_t bytes[PIECE];
    struct cairn_err err = {0};
    ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        lose(f);
        return;
    }
    f->heard_ns = cairn_now_ns();
    int code = cairn_remote_reader_add(f->reader, bytes, (size_t)n, &err);
    for (int more = 1; code == CAIRN_OK && more == 1 && !f->is_lost;) {
        struct cairn_remote_frame frame = {.size = sizeof frame};
        more = cairn_remote_reader_next(f->reader, &frame, &err);
        code = more < 0 ? more : more == 1 ? take_frame(f, &frame, &err) : CAIRN_OK;
    }
    if (code < 0)
        refuse(f, &err);
}

static void pass_output(struct far *f, int *fd, enum cairn_remote_kind kind)
{
    uint8_t bytes[PIECE];
    ssize_t n = read(*fd, bytes, sizeof bytes);
    if (n > 0)
        (void)cairn_remote_write(kind, bytes, (size_t)n, put, f, NULL);
    else if (n == 0 || errno != EINTR)
        cli_remote_close(fd);
}

static void pass_ask(struct far *f)
{
    const uint8_t *ask;
    size_t size;
    int got = cli_remote_read_message(f->child.names, &f->ask, "the child", &ask, &size, NULL);
    if (got < 0)
        cli_remote_close(&f->child.names);
    if (got <= 0)
        return;
    f->has_asked = true;
    (void)cairn_remote_write(CAIRN_REMOTE_ASK, ask, size, put, f, NULL);
}

static void write_near(struct far *f)
{
    ssize_t n = write(STDOUT_FILENO, f->send.data + f->sent, f->send.size - f->sent);
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        lose(f);
    f->sent += n > 0 ? (size_t)n : 0;
    cli_remote_drop_written(&f->send, &f->sent);
}

/* The child's exit status, once all that it wrote was read. What its own children hold open is not
 * waited for. */
static void look_for_exit(struct far *f)
{
    int status;
    if (!f->child.pid || waitpid(f->child.pid, &status, WNOHANG) != f->child.pid)
        return;
    f->child.pid = 0;
    f->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    int *ends[] = {&f->child.out, &f->child.err};
    for (size_t i = 0; i < 2; i++) {
        struct pollfd at = {.fd = *ends[i], .events = POLLIN};
        while (*ends[i] >= 0 && poll(&at, 1, 0) > 0)
            pass_output(f, ends[i], i ? CAIRN_REMOTE_ERR : CAIRN_REMOTE_OUT);
        cli_remote_close(ends[i]);
    }
    cli_remote_close(&f->child.names);
    const uint8_t byte = (uint8_t)f->status;
    (void)cairn_remote_write(CAIRN_REMOTE_EXIT, &byte, 1, put, f, NULL);
}

static void tick(struct far *f)
{
    uint64_t now = cairn_now_ns();
    if (!f->is_lost && now - f->heard_ns > SILENCE_NS)
        lose(f);
    if (f->is_lost && f->child.pid && !f->was_killed && now - f->lost_ns > GRACE_NS) {
        f->was_killed = true;
        kill(f->child.pid, SIGKILL);
    }
    if (f->child.pid && now - f->beat_ns > BEAT_NS && f->send.size == f->sent) {
        f->beat_ns = now;
        (void)cairn_remote_write(CAIRN_REMOTE_BEAT, NULL, 0, put, f, NULL);
    }
}

static bool is_over(const struct far *f)
{
    if (f->child.pid)
        return f->is_lost && cairn_now_ns() - f->lost_ns > GIVE_UP_NS;
    return f->is_lost || (f->has_run && f->send.size == f->sent);
}

static void loop(struct far *f)
{
    while (!is_over(f)) {
        bool is_full = f->send.size - f->sent > SEND_WAITS;
        struct pollfd at[] = {
            {.fd = f->is_lost ? -1 : STDIN_FILENO, .events = POLLIN},
            {.fd = f->send.size > f->sent ? STDOUT_FILENO : -1, .events = POLLOUT},
            {.fd = is_full ? -1 : f->child.out, .events = POLLIN},
            {.fd = is_full ? -1 : f->child.err, .events = POLLIN},
            {.fd = f->child.names, .events = POLLIN},
        };
        if (poll(at, sizeof at / sizeof *at, f->child.pid ? TICK_MS : IDLE_MS) < 0 &&
            errno != EINTR)
            break;
        if (at[0].revents)
            read_near(f);
        if (at[2].revents && f->child.out >= 0)
            pass_output(f, &f->child.out, CAIRN_REMOTE_OUT);
        if (at[3].revents && f->child.err >= 0)
            pass_output(f, &f->child.err, CAIRN_REMOTE_ERR);
        if (at[4].revents && f->child.names >= 0)
            pass_ask(f);
        look_for_exit(f);
        tick(f);
        if (at[1].revents && !f->is_lost)
            write_near(f);
    }
}

/* A terminal between the ends would echo, and change bytes. False: there is none. */
static bool make_raw(struct termios *ret_before)
{
    if (tcgetattr(STDIN_FILENO, ret_before) < 0)
        return false;
    struct termios mode = *ret_before;
    cfmakeraw(&mode);
    return tcsetattr(STDIN_FILENO, TCSANOW, &mode) == 0;
}

int cli_remote_serve(int (*run)(char **words))
{
    struct far f = {.child = {.out = -1, .err = -1, .names = -1}, .run = run};
    struct cairn_err err = {0};
    struct termios before;
    bool is_raw = make_raw(&before);
    signal(SIGINT, SIG_IGN);
    f.heard_ns = f.beat_ns = cairn_now_ns();
    int code = cairn_remote_reader_new(0, &f.reader, &err);
    if (code == CAIRN_OK)
        code = say_hello(&f, &err);
    if (code < 0)
        return cli_report(&err);
    (void)fcntl(STDOUT_FILENO, F_SETFL, fcntl(STDOUT_FILENO, F_GETFL) | O_NONBLOCK);
    loop(&f);
    if (f.child.pid)
        kill(f.child.pid, SIGKILL);
    if (is_raw)
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
    cairn_remote_reader_free(f.reader);
    cairn_buffer_done(&f.send);
    cairn_buffer_done(&f.ask);
    return CLI_OK;
}
