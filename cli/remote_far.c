/* SPDX-License-Identifier: MIT */
/*
 * The far end: `cairn remote serve`, which a shell became.
 *
 *     stdin  ──► RUN ──► a child that runs the command line ──┬─ stdout ──► OUT
 *            ──► CANCEL ──► SIGINT ──►                         ├─ stderr ──► ERR
 *            ──► ANSWER ──► its socket of names ◄── ASK ◄──────┘
 *
 * The end of stdin, silence, or bytes that make no sense end the child: nobody would read what it
 * captures. It gets a SIGTERM, by which commands detach and end, and a second later a SIGKILL.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cairn/resolve.h>
#include <cairn/version.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "cli/pass_on.h"
#include "cli/remote.h"
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
    int pid;             /* of the child; 0: none yet, or ended */
    int out, err, names; /* -1: closed */
    bool has_run, is_lost, was_killed;
    int status;
    uint64_t heard_ns, beat_ns, lost_ns;
    int (*run)(char **words);
};

static bool is_far;

bool cli_remote_is_far(void)
{
    return is_far;
}

static int put(void *far, const void *bytes, size_t size)
{
    struct far *f = far;
    if (!f->is_lost)
        cairn_buffer_add(&f->send, bytes, size);
    return f->send.failed;
}

/* Whoever is to read this has gone: ends what runs. */
static void lose(struct far *f)
{
    if (f->is_lost)
        return;
    f->is_lost = true;
    f->lost_ns = cairn_now_ns();
    cairn_buffer_clear(&f->send);
    f->sent = 0;
    if (f->pid)
        kill(f->pid, SIGTERM);
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

/* In the child: an ASK and its ANSWER, over the socket, each behind its size. */
static int exchange(void *socket, const void *ask, size_t size, const void **ret_answer,
                    size_t *ret_size, struct cairn_err *err)
{
    static struct cairn_buffer answer;
    const int fd = *(const int *)socket;
    uint32_t n = (uint32_t)size;
    int code = cairn_write_all(fd, &n, sizeof n, "the near end", err);
    if (code == CAIRN_OK)
        code = cairn_write_all(fd, ask, size, "the near end", err);
    if (code < 0)
        return code;
    cairn_buffer_clear(&answer);
    for (size_t want = sizeof n; answer.size < want;) {
        if (!cairn_buffer_reserve(&answer, want - answer.size))
            return cairn_fail_memory(err);
        ssize_t got = read(fd, answer.data + answer.size, want - answer.size);
        if (got == 0 || (got < 0 && errno != EINTR))
            return cairn_fail(err, CAIRN_E_IO, "the near end has gone");
        answer.size += got > 0 ? (size_t)got : 0;
        if (answer.size == sizeof n && want == sizeof n) {
            memcpy(&n, answer.data, sizeof n);
            want += n;
        }
    }
    *ret_answer = answer.data + sizeof n;
    *ret_size = n;
    return CAIRN_OK;
}

static int ask_names(void *socket, struct cairn_profile *profile, struct cairn_err *err)
{
    return cairn_remote_ask_names(profile, exchange, socket, err);
}

/* A process group of its own: a terminal's Ctrl-C is not for it where both ends are on one machine.
 */
__attribute__((noreturn)) static void
become_command(struct far *f, const struct cairn_remote_run *run, const int fds[3])
{
    static int names;
    char columns[16];
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(fds[0], STDOUT_FILENO) < 0 ||
        dup2(fds[1], STDERR_FILENO) < 0)
        _exit(CLI_FAILED);
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
    if (run->columns) {
        snprintf(columns, sizeof columns, "%u", run->columns);
        setenv("COLUMNS", columns, 1);
    }
    names = fds[2];
    is_far = true;
    if (run->wishes & CAIRN_REMOTE_ASK_NAMES)
        cairn_resolve_ask_first(ask_names, &names);
    if (run->wishes & CAIRN_REMOTE_NAME_OUTPUT)
        cli_result_name_stdout();
    int status = f->run(run->words);
    fflush(NULL);
    _exit(status);
}

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static int start(struct far *f, const struct cairn_remote_run *run, struct cairn_err *err)
{
    int out[2] = {-1, -1}, errors[2] = {-1, -1}, names[2] = {-1, -1}, code = CAIRN_OK;
    if (run->n_words == 0 || strcmp(run->words[0], "remote") == 0)
        return cairn_fail(err, CAIRN_E_ARG, "no command that can be run at the far end");
    if (pipe2(out, O_CLOEXEC) < 0 || pipe2(errors, O_CLOEXEC) < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, names) < 0 || (f->pid = fork()) < 0) {
        code = cairn_fail_os(err, errno, "cannot run the command");
        f->pid = 0;
    } else if (f->pid == 0) {
        close(names[0]);
        become_command(f, run, (const int[3]){out[1], errors[1], names[1]});
    }
    close_end(&out[1]);
    close_end(&errors[1]);
    close_end(&names[1]);
    f->out = out[0];
    f->err = errors[0];
    f->names = names[0];
    return code;
}

static int take_answer(struct far *f, const struct cairn_remote_frame *frame, struct cairn_err *err)
{
    uint32_t size = (uint32_t)frame->data_size;
    if (f->names < 0)
        return CAIRN_OK;
    int code = cairn_write_all(f->names, &size, sizeof size, "names", err);
    if (code == CAIRN_OK && size)
        code = cairn_write_all(f->names, frame->data, size, "names", err);
    if (code < 0) /* the child has gone, and its exit status says how */
        close_end(&f->names);
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
            code = start(f, &run, err);
        cairn_remote_run_done(&run);
        return code;
    case CAIRN_REMOTE_CANCEL:
        if (f->pid)
            kill(f->pid, SIGINT);
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
        close_end(fd);
}

/* An ASK of the child, behind its size. */
static void pass_ask(struct far *f)
{
    uint32_t size;
    size_t had = f->ask.size;
    if (!cairn_buffer_reserve(&f->ask, PIECE)) {
        close_end(&f->names);
        return;
    }
    ssize_t n = read(f->names, f->ask.data + had, PIECE);
    if (n <= 0) {
        if (n == 0 || errno != EINTR)
            close_end(&f->names);
        return;
    }
    f->ask.size += (size_t)n;
    if (f->ask.size < sizeof size)
        return;
    memcpy(&size, f->ask.data, sizeof size);
    if (f->ask.size < sizeof size + size)
        return;
    (void)cairn_remote_write(CAIRN_REMOTE_ASK, f->ask.data + sizeof size, size, put, f, NULL);
    f->ask.size = 0;
}

static void write_near(struct far *f)
{
    ssize_t n = write(STDOUT_FILENO, f->send.data + f->sent, f->send.size - f->sent);
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        lose(f);
    f->sent += n > 0 ? (size_t)n : 0;
    if (f->sent == f->send.size) {
        f->sent = 0;
        cairn_buffer_clear(&f->send);
    }
}

/* The child's exit status, once all that it wrote was read. What its own children hold open is not
 * waited for. */
static void look_for_exit(struct far *f)
{
    int status;
    if (!f->pid || waitpid(f->pid, &status, WNOHANG) != f->pid)
        return;
    f->pid = 0;
    f->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    int *ends[] = {&f->out, &f->err};
    for (size_t i = 0; i < 2; i++) {
        struct pollfd at = {.fd = *ends[i], .events = POLLIN};
        while (*ends[i] >= 0 && poll(&at, 1, 0) > 0)
            pass_output(f, ends[i], i ? CAIRN_REMOTE_ERR : CAIRN_REMOTE_OUT);
        close_end(ends[i]);
    }
    close_end(&f->names);
    const uint8_t byte = (uint8_t)f->status;
    (void)cairn_remote_write(CAIRN_REMOTE_EXIT, &byte, 1, put, f, NULL);
}

static void tick(struct far *f)
{
    uint64_t now = cairn_now_ns();
    if (!f->is_lost && now - f->heard_ns > SILENCE_NS)
        lose(f);
    if (f->is_lost && f->pid && !f->was_killed && now - f->lost_ns > GRACE_NS) {
        f->was_killed = true;
        kill(f->pid, SIGKILL);
    }
    if (f->pid && now - f->beat_ns > BEAT_NS && f->send.size == f->sent) {
        f->beat_ns = now;
        (void)cairn_remote_write(CAIRN_REMOTE_BEAT, NULL, 0, put, f, NULL);
    }
}

static bool is_over(const struct far *f)
{
    if (f->pid)
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
            {.fd = is_full ? -1 : f->out, .events = POLLIN},
            {.fd = is_full ? -1 : f->err, .events = POLLIN},
            {.fd = f->names, .events = POLLIN},
        };
        if (poll(at, sizeof at / sizeof *at, f->pid ? TICK_MS : IDLE_MS) < 0 && errno != EINTR)
            break;
        if (at[0].revents)
            read_near(f);
        if (at[2].revents && f->out >= 0)
            pass_output(f, &f->out, CAIRN_REMOTE_OUT);
        if (at[3].revents && f->err >= 0)
            pass_output(f, &f->err, CAIRN_REMOTE_ERR);
        if (at[4].revents && f->names >= 0)
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
    struct far f = {.out = -1, .err = -1, .names = -1, .run = run};
    struct cairn_err err = {0};
    struct termios before;
    bool is_raw = make_raw(&before);
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    f.heard_ns = f.beat_ns = cairn_now_ns();
    int code = cairn_remote_reader_new(0, &f.reader, &err);
    if (code == CAIRN_OK)
        code = say_hello(&f, &err);
    if (code < 0)
        return cli_report(&err);
    (void)fcntl(STDOUT_FILENO, F_SETFL, fcntl(STDOUT_FILENO, F_GETFL) | O_NONBLOCK);
    loop(&f);
    if (f.pid)
        kill(f.pid, SIGKILL);
    if (is_raw)
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
    cairn_remote_reader_free(f.reader);
    cairn_buffer_done(&f.send);
    cairn_buffer_done(&f.ask);
    return CLI_OK;
}
