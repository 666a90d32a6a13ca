/* SPDX-License-Identifier: MIT */
/*
 * Remote: a command line with -H HOST runs on another machine.
 *
 *     main ─► remote_options ─► one command line a host ─► remote_run ─┬─► text on stdout
 *                                                            │         └─► one profile, here
 *     remote_session: a shell, its script, a cairn there ◄───┤
 *     remote_namer: a process that knows names ◄─────────────┘
 *
 * remote_far is the other side: it runs one command line, and its output goes through the protocol
 * of <cairn/remote.h>.
 */
#ifndef CAIRN_CLI_REMOTE_H
#define CAIRN_CLI_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cairn/remote.h>
#include <cairn/symbolizer.h>

#include "base/buffer.h"
#include "base/sha256.h"
#include "cli/args.h"
#include "cli/result.h"

enum { CLI_REMOTE_HOSTS_MAX = 1000 };

/* One machine, and what is to run there. */
struct cli_remote_host {
    char *name; /* as given: "admin@db1:2222", "docker:web"; of --rsh alone its command */
    struct cli_list words; /* the far command line, behind the program's name */
};

struct cli_remote {
    const struct cli_command *command;
    struct cli_remote_host *hosts;
    size_t n_hosts;
    const char *rsh;    /* NULL: ssh */
    bool has_host_word; /* hosts have names, which --rsh gets as its last word */
    bool install, sudo, symbols_there, strict;
    const char *out; /* NULL: text on stdout */
    bool force;
    enum cli_result result;
    struct cli_list symbol_dirs;
    struct cairn_symbolizer_opts symbols;
    int verbosity;
    bool json;
    struct cli_list owned; /* texts that words borrow */
    char default_out[256];
};

/* The rows that every command with .remote takes beside its own. */
extern const struct cli_option cli_remote_options[];

/* 1: the words ask for another machine, and `ret_remote` is filled; 0: they do not; -1: wrongly
 * used, and that was said. Give it to cli_remote_done() whatever comes back. */
int cli_remote_read(const struct cli_command *command, char **words, struct cli_remote *ret_remote);
void cli_remote_done(struct cli_remote *remote);

/* A name that a host can have: false after having said why it has not. */
bool cli_remote_host_is_sound(const char *name);

/* The command that opens a shell there; ends with NULL. Its words are in `ret_text`. */
enum { CLI_REMOTE_ARGV_MAX = 16 };
void cli_remote_argv(const struct cli_remote *remote, const char *host,
                     const char *argv[CLI_REMOTE_ARGV_MAX], struct cairn_buffer *text);

/* What the shell reads: finds cairn and becomes it, or says that it is not there. With `install`
 * the program of so many bytes and that SHA-256 is taken from stdin then. */
struct cli_remote_script {
    const char *build_id; /* of our own program */
    bool sudo, install;
    uint64_t program_bytes;
    const char *sha256; /* in hex */
};
void cli_remote_add_script(struct cairn_buffer *out, const struct cli_remote_script *script);
/* Removes what was installed. */
void cli_remote_add_clean_script(struct cairn_buffer *out);

/* Our own build ID in hex, "" where there is none; its file; its SHA-256 in hex. */
const char *cli_remote_build_id(void);
int cli_remote_read_program(struct cairn_buffer *ret_bytes, char sha256[CAIRN_SHA256_TEXT],
                            struct cairn_err *err);

/* Runs the command line elsewhere where it asks for that: true, and its exit status. */
bool cli_remote_take(const struct cli_command *command, char **words, int *ret_status);

/* Runs it on all hosts; returns the exit status of the program. */
int cli_remote_run(struct cli_remote *remote);

/* Between processes of one machine each ASK and each ANSWER is behind its size, in 4 bytes. */
int cli_remote_write_message(int fd, const void *bytes, size_t size, const char *who,
                             struct cairn_err *err);
/* One read of a message: 1 and its bytes, borrowed from `in` until the next call; 0: not all of it
 * came; negative: the other side, `who`, has gone. `in` is empty before the first call, and the
 * other side sends no second message before this one is answered. */
int cli_remote_read_message(int fd, struct cairn_buffer *in, const char *who,
                            const uint8_t **ret_bytes, size_t *ret_size, struct cairn_err *err);

/* The process that answers ASKs. */
struct cli_remote_namer {
    int fd; /* -1: there is none */
    int pid;
    struct cairn_buffer in;
};
int cli_remote_namer_start(const struct cli_remote *remote, struct cli_remote_namer *ret_namer,
                           struct cairn_err *err);
/* False: it has gone. */
bool cli_remote_namer_send(struct cli_remote_namer *namer, const void *ask, size_t size);
/* Reads what came: 1 and the answer, borrowed until the next call; 0: not all of it; -1: it has
 * gone. */
int cli_remote_namer_read(struct cli_remote_namer *namer, const uint8_t **ret_answer,
                          size_t *ret_size);
/* Says which names were found here, once anything was asked. */
void cli_remote_namer_end(struct cli_remote_namer *namer);

/* The far end: speaks the protocol on stdin and stdout, runs one command line by `run`, and returns
 * an exit status. */
int cli_remote_serve(int (*run)(char **words));
/* Is this process the child of the far end that runs a command line? */
bool cli_remote_is_far(void);

/* Closes an end of a pipe that may be closed already: -1. */
static inline void cli_remote_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Drops what was written of a queue. It moves no more bytes than that, so that a queue that never
 * becomes empty neither grows nor costs more than its bytes. */
static inline void cli_remote_drop_written(struct cairn_buffer *queue, size_t *written)
{
    size_t left = queue->size - *written;
    if (*written < left || !*written)
        return;
    memmove(queue->data, queue->data + *written, left);
    queue->size = left;
    queue->data[left] = 0;
    *written = 0;
}

/* main.c: one command line, as main() runs it. */
int cli_run_words(char **words);

#endif /* CAIRN_CLI_REMOTE_H */
