/* SPDX-License-Identifier: MIT */
#include "cli/remote_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cairn/resolve.h>

#include "base/buffer.h"
#include "base/error.h"
#include "cli/remote.h"

static bool is_far;

bool cli_remote_is_far(void)
{
    return is_far;
}

/* In the child: an ASK and its ANSWER, over the socket. */
static int exchange(void *socket, const void *ask, size_t size, const void **ret_answer,
                    size_t *ret_size, struct cairn_err *err)
{
    static struct cairn_buffer in;
    static const char who[] = "the near end";
    const int fd = *(const int *)socket;
    const uint8_t *answer = NULL;
    int got = cli_remote_write_message(fd, ask, size, who, err);
    while (got == 0)
        got = cli_remote_read_message(fd, &in, who, &answer, ret_size, err);
    *ret_answer = answer;
    return got < 0 ? got : CAIRN_OK;
}

static int ask_names(void *socket, struct cairn_profile *profile, struct cairn_err *err)
{
    return cairn_remote_ask_names(profile, exchange, socket, err);
}

/* A process group of its own: a terminal's Ctrl-C is not for it where both ends are on one machine.
 */
__attribute__((noreturn)) static void become_command(const struct cairn_remote_run *run,
                                                     int (*run_words)(char **words),
                                                     const int fds[3], pid_t parent)
{
    static int names;
    char columns[16];
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) /* it went before that */
        _exit(CLI_FAILED);
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
    int status = run_words(run->words);
    fflush(NULL);
    _exit(status);
}

int cli_remote_child_start(const struct cairn_remote_run *run, int (*run_words)(char **words),
                           struct cli_remote_child *ret_child, struct cairn_err *err)
{
    int out[2] = {-1, -1}, errors[2] = {-1, -1}, names[2] = {-1, -1}, code = CAIRN_OK;
    pid_t parent = getpid();
    if (run->n_words == 0 || strcmp(run->words[0], "remote") == 0)
        return cairn_fail(err, CAIRN_E_ARG, "no command that can be run at the far end");
    if (pipe2(out, O_CLOEXEC) < 0 || pipe2(errors, O_CLOEXEC) < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, names) < 0 ||
        (ret_child->pid = fork()) < 0) {
        code = cairn_fail_os(err, errno, "cannot run the command");
        ret_child->pid = 0;
    } else if (ret_child->pid == 0) {
        close(names[0]);
        become_command(run, run_words, (const int[3]){out[1], errors[1], names[1]}, parent);
    }
    cli_remote_close(&out[1]);
    cli_remote_close(&errors[1]);
    cli_remote_close(&names[1]);
    ret_child->out = out[0];
    ret_child->err = errors[0];
    ret_child->names = names[0];
    return code;
}
