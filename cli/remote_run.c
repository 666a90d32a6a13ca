/* SPDX-License-Identifier: MIT */
/*
 * All hosts at once: one loop over their connections, the process that names, and our stdout.
 *
 * A text of one host is printed as it comes; while stdout is full nothing more is read of it. Texts
 * of several hosts are printed one after the other, and profiles are kept until remote_result.c
 * makes one of them.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "cli/pass_on.h"
#include "cli/remote_result.h"
#include "cli/remote_session.h"
#include "cli/term.h"

enum {
    FDS_OF_ONE = 3,
    TICK_MS = 100,
    OUT_WAITS = 1 << 20, /* what waits for a stdout that is full */
    PIPE_PIECE = 4096    /* POSIX: so much fits where poll() says that something does */
};

struct run {
    struct cli_remote *remote;
    struct cli_remote_session *sessions;
    size_t n;
    struct cli_remote_namer namer;
    struct cli_remote_session *named; /* whose ASK the namer has; NULL: it waits */
    struct cairn_buffer program;
    struct pollfd *fds; /* three a session, then the namer and stdout */
    unsigned n_ends;
    bool is_closed; /* our stdout takes nothing more; */
    struct cairn_err why;
};

static bool is_live_text(const struct run *run)
{
    return !run->remote->out && run->n == 1;
}

static bool has_text_left(const struct run *run)
{
    const struct cli_remote_session *s = run->sessions;
    return is_live_text(run) && s->out.size > s->out_pos && !run->is_closed;
}

/* While stdout is full, no more is read from the host that fills it. */
static bool is_held_back(const struct run *run, const struct cli_remote_session *s)
{
    return is_live_text(run) && s->out.size - s->out_pos > OUT_WAITS;
}

static void set_fds(struct run *run)
{
    struct pollfd *at = run->fds;
    for (size_t i = 0; i < run->n; i++, at += FDS_OF_ONE) {
        const struct cli_remote_session *s = &run->sessions[i];
        at[0] = (struct pollfd){.fd = is_held_back(run, s) ? -1 : s->from, .events = POLLIN};
        at[1] = (struct pollfd){.fd = s->send.size > s->sent ? s->to : -1, .events = POLLOUT};
        at[2] = (struct pollfd){.fd = s->notes, .events = POLLIN};
    }
    at[0] = (struct pollfd){.fd = run->named ? run->namer.fd : -1, .events = POLLIN};
    at[1] = (struct pollfd){.fd = has_text_left(run) ? STDOUT_FILENO : -1, .events = POLLOUT};
}

static void ask_namer(struct run *run)
{
    for (size_t i = 0; i < run->n && !run->named; i++) {
        struct cli_remote_session *s = &run->sessions[i];
        /* One that asks on and reads no answer is left to wait. */
        if (!s->has_ask || s->state == CLI_REMOTE_DONE || s->send.size > s->sent)
            continue;
        if (cli_remote_namer_send(&run->namer, s->ask.data, s->ask.size))
            run->named = s;
        else
            cli_remote_session_answer(s, NULL, 0);
    }
}

static void read_namer(struct run *run)
{
    const uint8_t *answer = NULL;
    size_t size = 0;
    int code = cli_remote_namer_read(&run->namer, &answer, &size);
    if (code == 0)
        return;
    cli_remote_session_answer(run->named, answer, size);
    run->named = NULL;
    if (code < 0)
        cli_remote_namer_end(&run->namer);
}

static void serve_fds(struct run *run)
{
    const struct pollfd *at = run->fds;
    for (size_t i = 0; i < run->n; i++, at += FDS_OF_ONE) {
        struct cli_remote_session *s = &run->sessions[i];
        if (at[2].revents && s->notes >= 0)
            cli_remote_session_read_notes(s);
        if (at[1].revents && s->to >= 0)
            cli_remote_session_write(s);
        if (at[0].revents && s->from >= 0)
            cli_remote_session_read(s, &run->program);
    }
    if (at[0].revents)
        read_namer(run);
    if (at[1].revents && cli_remote_put_text(run->sessions, PIPE_PIECE, &run->why) < 0)
        run->is_closed = true;
}

/* The first Ctrl-C ends the far commands, whose results come; the next one ends the connections. */
static void take_ends(struct run *run)
{
    unsigned n = cli_pass_on_n_ends();
    struct cairn_err err = {0};
    if (run->is_closed && !n)
        n = run->n_ends + 2;
    if (n == run->n_ends)
        return;
    run->n_ends = n;
    cairn_fail(&err, CAIRN_E_STOPPED, "given up");
    for (size_t i = 0; i < run->n; i++) {
        struct cli_remote_session *s = &run->sessions[i];
        if (s->state == CLI_REMOTE_DONE)
            continue;
        if (n > 1)
            cli_remote_session_fail(s, &err);
        else
            cli_remote_session_cancel(s);
    }
}

static size_t count_open(const struct run *run)
{
    size_t n = 0;
    for (size_t i = 0; i < run->n; i++)
        n += run->sessions[i].state != CLI_REMOTE_DONE;
    return n;
}

/* A host that is not read does not count as silent: a pager may block our stdout for long. */
static void tick(const struct run *run, struct cli_remote_session *s)
{
    if (is_held_back(run, s))
        s->heard_ns = s->frame_ns = cairn_now_ns();
    cli_remote_session_tick(s);
}

static void loop(struct run *run)
{
    size_t n_open;
    while ((n_open = count_open(run)) > 0 || has_text_left(run)) {
        set_fds(run);
        int ready = poll(run->fds, run->n * FDS_OF_ONE + 2, TICK_MS);
        take_ends(run);
        if (ready > 0)
            serve_fds(run);
        ask_namer(run);
        for (size_t i = 0; i < run->n; i++)
            tick(run, &run->sessions[i]);
        if (run->n > 1 || run->remote->out)
            cli_progress("%zu of %zu host%s; Ctrl-C ends", n_open, run->n, run->n == 1 ? "" : "s");
    }
    cli_progress_done();
}

/* The namer comes first: it must not hold the ends of connections that are not its own. */
static int start(struct run *run, struct cairn_err *err)
{
    char sha256[CAIRN_SHA256_TEXT] = "";
    int code = CAIRN_OK;
    run->namer.fd = -1;
    run->sessions = calloc(run->n, sizeof *run->sessions);
    run->fds = calloc(run->n * FDS_OF_ONE + 2, sizeof *run->fds);
    if (!run->sessions || !run->fds)
        return cairn_fail_memory(err);
    if (run->remote->install)
        code = cli_remote_read_program(&run->program, sha256, err);
    if (code == CAIRN_OK && !run->remote->symbols_there)
        code = cli_remote_namer_start(run->remote, &run->namer, err);
    if (code < 0)
        return code;
    cli_pass_on_begin(true);
    for (size_t i = 0; i < run->n; i++)
        cli_remote_session_start(&run->sessions[i], run->remote, &run->remote->hosts[i],
                                 &run->program, sha256);
    return CAIRN_OK;
}

bool cli_remote_take(const struct cli_command *command, char **words, int *ret_status)
{
    struct cli_remote remote = {0};
    int code = cli_remote_read(command, words, &remote);
    if (code)
        *ret_status = code < 0 ? CLI_USAGE : cli_remote_run(&remote);
    cli_remote_done(&remote);
    return code != 0;
}

int cli_remote_run(struct cli_remote *remote)
{
    struct run run = {.remote = remote, .n = remote->n_hosts};
    struct cairn_err err = {0};
    struct cli_output *output = NULL;
    int status = CLI_FAILED, code = CAIRN_OK;
    cli_log_open(remote->verbosity);
    if (remote->out) /* what cannot be written is not worth recording */
        code = cli_output_open(remote->out, remote->force, &output, &err);
    if (code == CAIRN_OK)
        code = start(&run, &err);
    if (code == CAIRN_OK) {
        loop(&run);
        cli_remote_namer_end(&run.namer);
        cli_pass_on_release_keys();
        if (run.is_closed)
            cairn_buffer_clear(&run.sessions->out), run.sessions->out_pos = 0;
        status = cli_remote_finish(remote, run.sessions, output);
        output = NULL;
    } else {
        status = cli_report(&err);
    }
    cli_output_drop(output);
    for (size_t i = 0; run.sessions && code == CAIRN_OK && i < run.n; i++)
        cli_remote_session_done(&run.sessions[i]);
    cli_remote_namer_end(&run.namer);
    cli_pass_on_end();
    cairn_buffer_done(&run.program);
    free(run.sessions);
    free(run.fds);
    if (run.is_closed && run.why.os_errno == EPIPE)
        cli_end_quietly();
    return run.is_closed ? cli_report(&run.why) : status;
}
