/* SPDX-License-Identifier: MIT */
#include "cli/remote_session.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/version.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/escape.h"
#include "cli/remote_client.h"
#include "cli/term.h"

enum {
    PIECE = 65536,
    OUT_MAX = 512 << 20, /* what one host may send to be kept */
    LINE_MAX_BYTES = 4096
};
static const uint64_t BEAT_NS = 500000000, SILENCE_NS = 10000000000, HELLO_NS = 120000000000,
                      FRAME_NS = 60000000000;

/* "HOST: LINE" on stderr, escaped. */
static void say(const struct cli_remote_session *s, const char *line, size_t size)
{
    struct cairn_buffer text = {0};
    cairn_escape_terminal(&text, s->host->name, strlen(s->host->name));
    cairn_buffer_str(&text, ": ");
    cairn_escape_terminal(&text, line, size);
    cli_progress_done();
    fprintf(stderr, "%s\n", cairn_buffer_text(&text));
    cairn_buffer_done(&text);
}

static void end(struct cli_remote_session *s, bool is_urgent)
{
    s->state = CLI_REMOTE_DONE;
    s->ended_ns = cairn_now_ns();
    cli_remote_close(&s->to);
    cli_remote_close(&s->from);
    (void)cli_remote_client_reap(&s->pid, is_urgent);
    cli_remote_session_read_notes(s);
    cli_remote_close(&s->notes);
}

void cli_remote_session_fail(struct cli_remote_session *s, const struct cairn_err *err)
{
    if (s->state == CLI_REMOTE_DONE)
        return;
    s->failed = true;
    s->status = CLI_FAILED;
    s->err = *err;
    end(s, true);
}

__attribute__((format(printf, 3, 4))) static void fail(struct cli_remote_session *s,
                                                       const char *hint, const char *fmt, ...)
{
    char text[400];
    struct cairn_err err = {0};
    va_list values;
    va_start(values, fmt);
    vsnprintf(text, sizeof text, fmt, values);
    va_end(values);
    cairn_fail(&err, CAIRN_E_IO, "%s", text);
    if (hint)
        cairn_hint(&err, "%s", hint);
    cli_remote_session_fail(s, &err);
}

void cli_remote_session_start(struct cli_remote_session *s, const struct cli_remote *remote,
                              const struct cli_remote_host *host,
                              const struct cairn_buffer *program, const char *sha256)
{
    const char *argv[CLI_REMOTE_ARGV_MAX];
    struct cairn_buffer text = {0};
    struct cairn_err err = {0};
    int ends[] = {-1, -1, -1};
    const struct cli_remote_script script = {.build_id = cli_remote_build_id(),
                                             .sudo = remote->sudo,
                                             .install = remote->install,
                                             .program_bytes = program->size,
                                             .sha256 = sha256};
    *s = (struct cli_remote_session){
        .remote = remote, .host = host, .to = -1, .from = -1, .notes = -1};
    s->began_ns = s->heard_ns = s->frame_ns = s->beat_ns = cairn_now_ns();
    cli_remote_argv(remote, host->name, argv, &text);
    cli_remote_add_script(&s->send, &script);
    int code = cairn_remote_reader_new(1, &s->reader, &err);
    if (code == CAIRN_OK)
        code = cli_remote_client_start(argv, &s->pid, ends, &err);
    s->to = ends[0];
    s->from = ends[1];
    s->notes = ends[2];
    cairn_buffer_done(&text);
    if (code < 0)
        cli_remote_session_fail(s, &err);
}

void cli_remote_session_done(struct cli_remote_session *s)
{
    if (s->state != CLI_REMOTE_DONE)
        end(s, true);
    cairn_remote_reader_free(s->reader);
    cairn_buffer_done(&s->send);
    cairn_buffer_done(&s->out);
    cairn_buffer_done(&s->line);
    cairn_buffer_done(&s->note);
    cairn_buffer_done(&s->last);
    cairn_buffer_done(&s->ask);
}

/* Lines of the far stderr. One that goes on and on is printed in pieces. */
static void add_lines(struct cli_remote_session *s, struct cairn_buffer *line, const void *bytes,
                      size_t size)
{
    const char *at = bytes;
    for (size_t i = 0; i < size; i++) {
        bool ends = at[i] == '\n' || line->size >= LINE_MAX_BYTES;
        if (at[i] != '\n' && at[i] != '\r')
            cairn_buffer_char(line, at[i]);
        if (!ends)
            continue;
        if (line->size) {
            cairn_buffer_clear(&s->last);
            cairn_buffer_add(&s->last, line->data, line->size);
            say(s, cairn_buffer_text(line), line->size);
        }
        cairn_buffer_clear(line);
    }
}

static int put(void *session, const void *bytes, size_t size)
{
    struct cli_remote_session *s = session;
    cairn_buffer_add(&s->send, bytes, size);
    return s->send.failed;
}

static void send_frame(struct cli_remote_session *s, enum cairn_remote_kind kind, const void *bytes,
                       size_t size)
{
    struct cairn_err err = {0};
    if (s->state != CLI_REMOTE_DONE && cairn_remote_write(kind, bytes, size, put, s, &err) < 0)
        cli_remote_session_fail(s, &err);
}

static int take_hello(struct cli_remote_session *s, const struct cairn_remote_frame *frame,
                      struct cairn_err *err)
{
    char line[512];
    struct cairn_remote_hello hello = {.size = sizeof hello};
    int code = cairn_remote_read_hello(frame->data, frame->data_size, &hello, err);
    if (code < 0) {
        if (code == CAIRN_E_SUPPORT)
            cairn_hint(err, "install this version there, or give --install where there is none");
        return code;
    }
    struct cairn_remote_run run = {.size = sizeof run,
                                   .words = (char **)s->host->words.items,
                                   .n_words = s->host->words.n,
                                   .columns = cli_stdout_is_terminal() ? cli_width() : 0};
    run.wishes = s->remote->symbols_there ? 0 : CAIRN_REMOTE_ASK_NAMES;
    if (s->remote->out && (s->remote->result != CLI_RESULT_RAW || s->remote->symbols_there))
        run.wishes |= CAIRN_REMOTE_NAME_OUTPUT;
    if (s->remote->verbosity) {
        snprintf(line, sizeof line, "cairn %s on %s (%s), user %u, abilities %llx", hello.cairn,
                 hello.host, hello.machine, hello.uid, (unsigned long long)hello.abilities);
        say(s, line, strlen(line));
    }
    s->state = CLI_REMOTE_RUNNING;
    return cairn_remote_write_run(&run, put, s, err);
}

static int take_out(struct cli_remote_session *s, const struct cairn_remote_frame *frame,
                    struct cairn_err *err)
{
    if (s->out.size - s->out_pos + frame->data_size > OUT_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, "it sent more than %d MiB", OUT_MAX >> 20);
    cairn_buffer_add(&s->out, frame->data, frame->data_size);
    return s->out.failed ? cairn_fail_memory(err) : CAIRN_OK;
}

static int take_ask(struct cli_remote_session *s, const struct cairn_remote_frame *frame,
                    struct cairn_err *err)
{
    if (s->has_ask)
        return cairn_fail(err, CAIRN_E_FORMAT, "it asks for names twice at once");
    cairn_buffer_clear(&s->ask);
    cairn_buffer_add(&s->ask, frame->data, frame->data_size);
    s->has_ask = true;
    return s->ask.failed ? cairn_fail_memory(err) : CAIRN_OK;
}

static int take_frame(struct cli_remote_session *s, const struct cairn_remote_frame *frame,
                      struct cairn_err *err)
{
    bool is_hello = frame->kind == CAIRN_REMOTE_HELLO;
    if (is_hello != (s->state == CLI_REMOTE_WAIT_HELLO))
        return cairn_fail(err, CAIRN_E_FORMAT, "it sends a frame of kind %d %s its hello",
                          (int)frame->kind, is_hello ? "after" : "before");
    switch (frame->kind) {
    case CAIRN_REMOTE_HELLO:
        return take_hello(s, frame, err);
    case CAIRN_REMOTE_OUT:
        return take_out(s, frame, err);
    case CAIRN_REMOTE_ERR:
        add_lines(s, &s->line, frame->data, frame->data_size);
        return CAIRN_OK;
    case CAIRN_REMOTE_ASK:
        return take_ask(s, frame, err);
    case CAIRN_REMOTE_BEAT:
        return CAIRN_OK;
    case CAIRN_REMOTE_EXIT:
        if (frame->data_size != 1)
            return cairn_fail(err, CAIRN_E_FORMAT, "its exit status has %zu bytes, expected 1",
                              frame->data_size);
        add_lines(s, &s->line, "\n", 1);
        s->status = frame->data[0];
        end(s, false);
        return CAIRN_OK;
    default:
        return cairn_fail(err, CAIRN_E_FORMAT, "it sends a frame of kind %d, which is ours",
                          (int)frame->kind);
    }
}

/* "Linux x86_64 /root/.cache/cairn/bin": cairn is not there. */
static int take_absent(struct cli_remote_session *s, const char *line,
                       const struct cairn_buffer *program, struct cairn_err *err)
{
    struct utsname here;
    char system[64] = "", machine[64] = "", folder[512] = "";
    (void)sscanf(line, "%63s %63s %511[^\n]", system, machine, folder);
    if (!s->remote->install) {
        cairn_fail(err, CAIRN_E_MISSING, "cairn is neither in PATH there nor was it installed");
        cairn_hint(err, "give --install: it is sent into a private folder, which \"cairn remote "
                        "clean\" removes");
        return CAIRN_E_MISSING;
    }
    if (uname(&here) < 0 || strcmp(here.machine, machine) != 0 || strcmp(system, "Linux") != 0) {
        cairn_fail(err, CAIRN_E_SUPPORT, "it runs %s on %s, and this cairn is for Linux on %s",
                   *system ? system : "?", *machine ? machine : "?", here.machine);
        cairn_hint(err, "put a cairn for that CPU into PATH there");
        return CAIRN_E_SUPPORT;
    }
    if (!*folder) {
        cairn_fail(err, CAIRN_E_ACCESS, "there is no folder there that programs may be put into");
        cairn_hint(err, "set XDG_CACHE_HOME there to one that is writable and not mounted noexec");
        return CAIRN_E_ACCESS;
    }
    if (s->was_sent_program)
        return cairn_fail(err, CAIRN_E_FORMAT, "it wants the program twice");
    s->was_sent_program = true;
    if (s->remote->verbosity)
        say(s, folder, strlen(folder));
    cairn_remote_reader_restart(s->reader);
    return put(s, program->data, program->size) == 0 ? CAIRN_OK : cairn_fail_memory(err);
}

static int take_frames(struct cli_remote_session *s, const struct cairn_buffer *program,
                       struct cairn_err *err)
{
    int code = 1;
    while (code == 1 && s->state != CLI_REMOTE_DONE) {
        struct cairn_remote_frame frame = {.size = sizeof frame};
        code = cairn_remote_reader_next(s->reader, &frame, err);
        const char *absent = cairn_remote_reader_absent(s->reader);
        if (code == 1)
            s->frame_ns = s->heard_ns;
        if (code == 1 && take_frame(s, &frame, err) < 0)
            return -1;
        if (code == 0 && absent) {
            if (take_absent(s, absent, program, err) < 0)
                return -1;
            code = 1;
        }
    }
    return code < 0 ? -1 : 0;
}

/* The end of what the shell printed, from a whole line on. */
static void say_banner(struct cli_remote_session *s)
{
    enum { SHOWN = 500 };
    size_t size;
    const char *text = cairn_remote_reader_banner(s->reader, &size), *line = NULL;
    if (size > SHOWN) {
        text += size - SHOWN;
        size = SHOWN;
        line = memchr(text, '\n', size);
    }
    if (line) {
        size -= (size_t)(line + 1 - text);
        text = line + 1;
    }
    add_lines(s, &s->note, text, size);
    add_lines(s, &s->note, "\n", 1);
}

/* The connection ended before the far end said so. What the shell printed may say why. */
static void fail_at_end(struct cli_remote_session *s)
{
    const char *why = NULL;
    int status = cli_remote_client_reap(&s->pid, false);
    cli_remote_session_read_notes(s);
    add_lines(s, &s->note, "\n", 1);
    if (s->state == CLI_REMOTE_WAIT_HELLO)
        say_banner(s);
    if (s->state == CLI_REMOTE_WAIT_HELLO && (s->remote->sudo || !s->last.size))
        why = s->remote->sudo ? "does sudo there want a password? NOPASSWD lets it pass"
                              : "does the command open a shell there? try it with \"echo hello\"";
    if (WIFSIGNALED(status))
        fail(s, NULL, "the connection was ended by signal %d", WTERMSIG(status));
    else
        fail(s, why, "the connection ended %s (status %d)%s%s",
             s->state == CLI_REMOTE_WAIT_HELLO ? "before cairn answered" : "while the command ran",
             WEXITSTATUS(status), s->last.size ? ": " : "", cairn_buffer_text(&s->last));
}

void cli_remote_session_read(struct cli_remote_session *s, const struct cairn_buffer *program)
{
    uint8_t bytes[PIECE];
    struct cairn_err err = {0};
    ssize_t n = read(s->from, bytes, sizeof bytes);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        fail_at_end(s);
        return;
    }
    s->heard_ns = cairn_now_ns();
    s->received_bytes += (uint64_t)n;
    int code = cairn_remote_reader_add(s->reader, bytes, (size_t)n, &err);
    if (code == CAIRN_OK)
        code = take_frames(s, program, &err);
    if (code < 0)
        cli_remote_session_fail(s, &err);
}

void cli_remote_session_read_notes(struct cli_remote_session *s)
{
    uint8_t bytes[PIECE];
    ssize_t n = s->notes < 0 ? 0 : read(s->notes, bytes, sizeof bytes);
    if (n > 0)
        add_lines(s, &s->note, bytes, (size_t)n);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        cli_remote_close(&s->notes);
}

void cli_remote_session_write(struct cli_remote_session *s)
{
    ssize_t n = write(s->to, s->send.data + s->sent, s->send.size - s->sent);
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        cli_remote_close(&s->to); /* why is read from the other side */
    s->sent += n > 0 ? (size_t)n : 0;
    cli_remote_drop_written(&s->send, &s->sent);
}

void cli_remote_session_tick(struct cli_remote_session *s)
{
    uint64_t now = cairn_now_ns();
    if (s->state == CLI_REMOTE_WAIT_HELLO && now - s->began_ns > HELLO_NS && !s->was_sent_program)
        fail(s, NULL, "no answer for %d s", (int)(HELLO_NS / 1000000000));
    if (s->state != CLI_REMOTE_RUNNING)
        return;
    if (now - s->heard_ns > SILENCE_NS) {
        fail(s, NULL, "nothing was heard of it for %d s", (int)(SILENCE_NS / 1000000000));
        return;
    }
    if (now - s->frame_ns > FRAME_NS) {
        fail(s, NULL, "it sends a frame that does not end");
        return;
    }
    if (now - s->beat_ns < BEAT_NS)
        return;
    s->beat_ns = now;
    if (s->send.size == s->sent)
        send_frame(s, CAIRN_REMOTE_BEAT, NULL, 0);
}

void cli_remote_session_cancel(struct cli_remote_session *s)
{
    if (s->state == CLI_REMOTE_WAIT_HELLO)
        fail(s, NULL, "given up before it answered");
    else if (s->state == CLI_REMOTE_RUNNING)
        send_frame(s, CAIRN_REMOTE_CANCEL, NULL, 0);
}

void cli_remote_session_answer(struct cli_remote_session *s, const void *answer, size_t size)
{
    s->has_ask = false;
    send_frame(s, CAIRN_REMOTE_ANSWER, answer, size <= CAIRN_REMOTE_FRAME_MAX ? size : 0);
}
