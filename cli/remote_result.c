/* SPDX-License-Identifier: MIT */
#include "cli/remote_result.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cairn/profile.h>

#include "base/error.h"
#include "base/escape.h"
#include "base/file.h"

enum { SIGNAL_STATUS = 128 };

/* Whole lines where there are some, for a sequence of UTF-8 does not go over the end of a line. */
static size_t piece_of(const struct cli_remote_session *s, size_t most)
{
    size_t left = s->out.size - s->out_pos, size = most && left > most ? most : left;
    const uint8_t *from = s->out.data + s->out_pos;
    const uint8_t *end = size ? memrchr(from, '\n', size) : NULL;
    return end ? (size_t)(end - from) + 1 : size;
}

int cli_remote_put_text(struct cli_remote_session *s, size_t most, struct cairn_err *err)
{
    size_t size = piece_of(s, most);
    const char *from = (const char *)s->out.data + s->out_pos;
    struct cairn_buffer safe = {0};
    if (!size)
        return CAIRN_OK;
    if (cli_stdout_is_terminal()) {
        for (size_t at = 0, n; at < size; at += n + 1) {
            const char *end = memchr(from + at, '\n', size - at);
            n = end ? (size_t)(end - from) - at : size - at;
            cairn_escape_terminal(&safe, from + at, n);
            if (end)
                cairn_buffer_char(&safe, '\n');
        }
    }
    int code = safe.failed ? cairn_fail_memory(err)
                           : cairn_write_all(STDOUT_FILENO, safe.size ? safe.data : (void *)from,
                                             safe.size ? safe.size : size, "stdout", err);
    cairn_buffer_done(&safe);
    s->out_pos += size;
    cli_remote_drop_written(&s->out, &s->out_pos);
    return code;
}

static int put_texts(const struct cli_remote *remote, struct cli_remote_session *sessions,
                     struct cairn_err *err)
{
    struct cairn_buffer head = {0};
    int code = CAIRN_OK;
    for (size_t i = 0; i < remote->n_hosts && code == CAIRN_OK; i++) {
        struct cli_remote_session *s = &sessions[i];
        if (s->out.size == s->out_pos)
            continue;
        if (remote->n_hosts > 1 && !remote->json) {
            cairn_buffer_clear(&head);
            cairn_buffer_str(&head, i ? "\n== " : "== ");
            cairn_escape_terminal(&head, s->host->name, strlen(s->host->name));
            cairn_buffer_str(&head, " ==\n");
            code = cairn_write_all(STDOUT_FILENO, head.data, head.size, "stdout", err);
        }
        while (code == CAIRN_OK && s->out.size > s->out_pos)
            code = cli_remote_put_text(s, 0, err);
    }
    cairn_buffer_done(&head);
    return code;
}

static long read_out(void *session, void *buf, size_t size)
{
    struct cli_remote_session *s = session;
    size_t left = s->out.size - s->out_pos, n = left < size ? left : size;
    if (n)
        memcpy(buf, s->out.data + s->out_pos, n);
    s->out_pos += n;
    return (long)n;
}

/* Adds the profile that a host sent; its samples say whose they are where there are several. */
static int merge(const struct cli_remote *remote, struct cli_remote_session *s,
                 struct cairn_profile *all, struct cairn_err *err)
{
    struct cairn_profile *one;
    int code = cairn_profile_read(read_out, s, CAIRN_FORMAT_PPROF, &one, err);
    if (code < 0)
        return code;
    if (remote->n_hosts > 1)
        code = cairn_profile_label_all(one, "host", s->host->name, err);
    if (code == CAIRN_OK)
        code = cairn_profile_merge(all, one, err);
    cairn_profile_free(one);
    cairn_buffer_done(&s->out);
    s->out_pos = 0;
    return code;
}

/* The far end has left out what --guest says. */
static int write_profile(const struct cli_remote *remote, struct cairn_profile *all,
                         struct cli_output *output, struct cairn_err *err)
{
    char title[300];
    struct cairn_buffer name = {0}, line = {0};
    if (remote->n_hosts > 1)
        snprintf(title, sizeof title, "%zu hosts", remote->n_hosts);
    else
        snprintf(title, sizeof title, "%s", remote->hosts[0].name);
    int code = cli_result_write(remote->result, CAIRN_GUEST_ALL, all, title, output, err);
    code = code == CAIRN_OK ? cli_output_commit_anyway(output, &name, err)
                            : cli_result_end(output, code, err);
    cairn_escape_terminal(&line, cairn_buffer_text(&name), name.size);
    if (code == CAIRN_OK && strcmp(remote->out, "-") != 0)
        cli_say("wrote %s", cairn_buffer_text(&line));
    cairn_buffer_done(&name);
    cairn_buffer_done(&line);
    return code;
}

/* A host without a profile is a failed one, and costs the others nothing. */
static int put_profile(const struct cli_remote *remote, struct cli_remote_session *sessions,
                       struct cli_output *output, struct cairn_err *err)
{
    struct cairn_profile *all;
    size_t n_merged = 0;
    int code = cairn_profile_new(&all, err);
    for (size_t i = 0; i < remote->n_hosts && code == CAIRN_OK; i++) {
        struct cli_remote_session *s = &sessions[i];
        if (s->failed || !s->out.size)
            continue;
        if (merge(remote, s, all, &s->err) < 0) {
            s->failed = true;
            s->status = CLI_FAILED;
        } else {
            n_merged++;
        }
    }
    if (code < 0 || !n_merged)
        cli_output_drop(output);
    else
        code = write_profile(remote, all, output, err);
    cairn_profile_free(code < 0 && !n_merged ? NULL : all);
    return code;
}

static void say_failure(const struct cli_remote_session *s)
{
    struct cairn_err err = s->err;
    struct cairn_buffer name = {0};
    cairn_escape_terminal(&name, s->host->name, strlen(s->host->name));
    cairn_fail_in(&err, (int)err.code, cairn_buffer_text(&name));
    cli_report(&err);
    cairn_buffer_done(&name);
}

static const char *outcome(const struct cli_remote_session *s, char *buf, size_t size)
{
    if (s->failed)
        return s->err.msg;
    if (!s->status)
        return "done";
    if (s->status > SIGNAL_STATUS)
        snprintf(buf, size, "ended by signal %d", s->status - SIGNAL_STATUS);
    else
        snprintf(buf, size, "exit status %d%s%s", s->status, s->last.size ? ": " : "",
                 cairn_buffer_text(&s->last));
    return buf;
}

static void say_table(const struct cli_remote *remote, const struct cli_remote_session *sessions)
{
    char buf[200];
    size_t width = 4, n_failed = 0;
    for (size_t i = 0; i < remote->n_hosts; i++) {
        size_t size = strlen(sessions[i].host->name);
        width = size > width ? size : width;
        n_failed += sessions[i].failed || sessions[i].status;
    }
    fprintf(stderr, "%-*s  %8s  %8s  outcome\n", (int)width, "host", "seconds", "received");
    for (size_t i = 0; i < remote->n_hosts; i++) {
        const struct cli_remote_session *s = &sessions[i];
        struct cairn_buffer line = {0};
        const char *text = outcome(s, buf, sizeof buf);
        cairn_buffer_printf(&line, "%-*s  %8.2f  %6.1f kB  ", (int)width, s->host->name,
                            (double)(s->ended_ns - s->began_ns) / 1e9,
                            (double)s->received_bytes / 1000);
        cairn_escape_terminal(&line, text, strlen(text));
        fprintf(stderr, "%s\n", cairn_buffer_text(&line));
        cairn_buffer_done(&line);
    }
    fprintf(stderr, "%zu of %zu hosts done\n", remote->n_hosts - n_failed, remote->n_hosts);
}

/* One that was done is enough, but for --strict; a gate that closed anywhere is closed. */
static int status_of(const struct cli_remote *remote, const struct cli_remote_session *sessions)
{
    int failed = CLI_OK;
    bool any = false;
    for (size_t i = 0; i < remote->n_hosts; i++) {
        int status = sessions[i].failed ? CLI_FAILED : sessions[i].status;
        if (status == CLI_GATE)
            return CLI_GATE;
        failed = status ? status : failed;
        any |= !status;
    }
    if (remote->n_hosts == 1 || !failed)
        return failed;
    return any && !remote->strict ? CLI_OK : CLI_FAILED;
}

int cli_remote_finish(const struct cli_remote *remote, struct cli_remote_session *sessions,
                      struct cli_output *output)
{
    struct cairn_err err = {0};
    int code = CAIRN_OK;
    if (output)
        code = put_profile(remote, sessions, output, &err);
    else
        code = put_texts(remote, sessions, &err);
    for (size_t i = 0; i < remote->n_hosts; i++)
        if (sessions[i].failed)
            say_failure(&sessions[i]);
    if (remote->n_hosts > 1)
        say_table(remote, sessions);
    if (code < 0 && err.os_errno == EPIPE)
        cli_end_quietly();
    return code < 0 ? cli_report(&err) : status_of(remote, sessions);
}
