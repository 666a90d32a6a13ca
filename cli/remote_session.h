/* SPDX-License-Identifier: MIT */
/*
 * Session: one far end, from the shell that is started to the exit status that it sends.
 *
 *     WAIT_HELLO ──absent──► (the program is sent) ──► WAIT_HELLO
 *         │ hello
 *     RUNNING ──EXIT──► DONE        what breaks is DONE, with `failed` and a reason
 */
#ifndef CAIRN_CLI_REMOTE_SESSION_H
#define CAIRN_CLI_REMOTE_SESSION_H

#include "cli/remote.h"

enum cli_remote_state { CLI_REMOTE_WAIT_HELLO, CLI_REMOTE_RUNNING, CLI_REMOTE_DONE };

struct cli_remote_session {
    const struct cli_remote *remote;
    const struct cli_remote_host *host;
    enum cli_remote_state state;
    int pid;             /* of the shell's client; 0: none */
    int to, from, notes; /* its stdin, stdout, stderr; -1: closed */
    struct cairn_remote_reader *reader;
    struct cairn_buffer send; /* what is to be written, from `sent` on */
    size_t sent;
    struct cairn_buffer out; /* of the far command's stdout, from `out_pos` on */
    size_t out_pos;
    struct cairn_buffer line, note; /* begun lines of its stderr, and of the client's own */
    struct cairn_buffer last;       /* the last whole line of either */
    struct cairn_buffer ask;        /* waits for the namer */
    bool has_ask, was_sent_program;
    uint64_t heard_ns, frame_ns, beat_ns, began_ns, ended_ns, received_bytes;
    int status; /* of the far command; CLI_FAILED where it failed */
    bool failed;
    struct cairn_err err; /* why */
};

/* Starts the shell; a failure is one of this session alone. */
void cli_remote_session_start(struct cli_remote_session *s, const struct cli_remote *remote,
                              const struct cli_remote_host *host,
                              const struct cairn_buffer *program, const char *sha256);
void cli_remote_session_done(struct cli_remote_session *s);

/* What its descriptors are ready for. */
void cli_remote_session_read(struct cli_remote_session *s, const struct cairn_buffer *program);
void cli_remote_session_read_notes(struct cli_remote_session *s);
void cli_remote_session_write(struct cli_remote_session *s);

/* Heartbeats, and far ends that have none. Called twice a second or more. */
void cli_remote_session_tick(struct cli_remote_session *s);

/* The near end was told to end: the far command gets a SIGINT, and its results still come. */
void cli_remote_session_cancel(struct cli_remote_session *s);
void cli_remote_session_answer(struct cli_remote_session *s, const void *answer, size_t size);
/* Ends it for this reason. */
void cli_remote_session_fail(struct cli_remote_session *s, const struct cairn_err *err);

#endif /* CAIRN_CLI_REMOTE_SESSION_H */
