/* SPDX-License-Identifier: MIT */
/*
 * The process that knows names. It is one of its own, so that the connections go on while it reads
 * symbols, and what the far ends send is taken apart where it can do least.
 *
 *     socket: size(4) ASK ──► resolver ──► size(4) ANSWER
 *
 * One ASK at a time. The end of the socket ends it, and then it says what was found here.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/log.h>
#include <cairn/resolve.h>

#include "base/error.h"
#include "cli/namer.h"
#include "cli/numbers.h"
#include "cli/remote.h"
#include "cli/term.h"

enum {
    FILES_SHOWN = 3,
    ASKED_MAX = 64 << 20, /* bytes in all; a resolver keeps every file that it was asked for */
};

static int add(void *out, const void *bytes, size_t size)
{
    cairn_buffer_add(out, bytes, size);
    return 0;
}

/* "prog, libc.so.6 and 3 more" of the files that gave names, or of those that gave none. */
static void add_files(struct cairn_buffer *out, const struct cairn_resolver *resolver, bool here)
{
    struct cairn_resolved_module module = {.size = sizeof module};
    size_t n = 0;
    for (size_t i = 0; cairn_resolver_module(resolver, i, &module); i++) {
        if ((module.n_unique_named > 0) != here || !module.n_unique)
            continue;
        if (n < FILES_SHOWN) {
            cairn_buffer_str(out, n ? ", " : " (");
            cli_add_base(out, module.path);
        }
        n++;
    }
    if (n > FILES_SHOWN)
        cairn_buffer_printf(out, " and %zu more", n - FILES_SHOWN);
    if (n)
        cairn_buffer_char(out, ')');
}

static void say_sums(const struct cairn_resolver *resolver, const struct cairn_remote_count *sums)
{
    struct cairn_buffer line = {0};
    unsigned long long there = sums->n_asked - sums->n_named;
    if (!sums->n_asked)
        return;
    cairn_buffer_printf(&line, "names: %llu of %llu addresses by files here",
                        (unsigned long long)sums->n_named, (unsigned long long)sums->n_asked);
    add_files(&line, resolver, true);
    if (there) {
        cairn_buffer_printf(&line, ", %llu left to the files there", there);
        add_files(&line, resolver, false);
    }
    cli_say("%s", cairn_buffer_text(&line));
    cairn_buffer_done(&line);
}

static void serve(int fd, struct cairn_resolver *resolver)
{
    struct cairn_remote_count sums = {0};
    struct cairn_buffer in = {0}, answer = {0};
    const uint8_t *ask;
    size_t size;
    uint64_t asked = 0;
    for (int got; (got = cli_remote_read_message(fd, &in, "asks", &ask, &size, NULL)) >= 0;) {
        struct cairn_remote_count count = {.size = sizeof count};
        struct cairn_err err = {0};
        if (!got)
            continue;
        cairn_buffer_clear(&answer);
        /* What is no ASK gets no names; the session goes on. */
        asked += size;
        int code = asked <= ASKED_MAX
                       ? cairn_remote_answer_names(resolver, ask, size, add, &answer, &count, &err)
                       : CAIRN_OK;
        if (code == CAIRN_OK && answer.failed)
            code = cairn_fail_memory(&err);
        if (code < 0) {
            cli_report(&err);
            cairn_buffer_clear(&answer);
        }
        sums.n_asked += count.n_asked;
        sums.n_named += count.n_named;
        if (cli_remote_write_message(fd, answer.data, answer.size, "names", NULL) < 0)
            break;
    }
    say_sums(resolver, &sums);
    cairn_buffer_done(&in);
    cairn_buffer_done(&answer);
}

/* Never returns. Signals are the near end's, whose end ends this, too. */
__attribute__((noreturn)) static void become_namer(const struct cli_remote *remote, int fd)
{
    struct cairn_resolver *resolver;
    struct cairn_err err;
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    if (!remote->verbosity) /* a file that is missing here may well be there */
        cairn_log_set(NULL, NULL, CAIRN_LOG_WARNING);
    if (cli_namer_new(&remote->symbols, &remote->symbol_dirs, 0, &resolver, &err) < 0)
        _exit(cli_report(&err));
    serve(fd, resolver);
    cairn_resolver_free(resolver);
    fflush(stderr);
    _exit(CLI_OK);
}

int cli_remote_namer_start(const struct cli_remote *remote, struct cli_remote_namer *ret_namer,
                           struct cairn_err *err)
{
    int ends[2];
    *ret_namer = (struct cli_remote_namer){.fd = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return cairn_fail_os(err, errno, "cannot start the process that names");
    fflush(stdout);
    int pid = fork();
    if (pid == 0) {
        close(ends[0]);
        become_namer(remote, ends[1]);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return cairn_fail_os(err, errno, "cannot start the process that names");
    }
    ret_namer->fd = ends[0];
    ret_namer->pid = pid;
    return CAIRN_OK;
}

bool cli_remote_namer_send(struct cli_remote_namer *namer, const void *ask, size_t size)
{
    return namer->fd >= 0 &&
           cli_remote_write_message(namer->fd, ask, size, "names", NULL) == CAIRN_OK;
}

int cli_remote_namer_read(struct cli_remote_namer *namer, const uint8_t **ret_answer,
                          size_t *ret_size)
{
    return cli_remote_read_message(namer->fd, &namer->in, "names", ret_answer, ret_size, NULL);
}

void cli_remote_namer_end(struct cli_remote_namer *namer)
{
    if (namer->fd < 0)
        return;
    close(namer->fd);
    namer->fd = -1;
    while (waitpid(namer->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    cairn_buffer_done(&namer->in);
}
