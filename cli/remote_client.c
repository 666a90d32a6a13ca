/* SPDX-License-Identifier: MIT */
#include "cli/remote_client.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "cli/remote.h"

enum { NO_SUCH_COMMAND = 127 };
static const uint64_t GRACE_NS = 1000000000;

/* The terminal's Ctrl-C is for us alone: we ask the far end to end, and its results still come. */
__attribute__((noreturn)) static void become_client(const char *const *argv, const int fds[3])
{
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    if (dup2(fds[0], STDIN_FILENO) < 0 || dup2(fds[1], STDOUT_FILENO) < 0 ||
        dup2(fds[2], STDERR_FILENO) < 0)
        _exit(NO_SUCH_COMMAND);
    execvp(argv[0], (char *const *)argv);
    dprintf(STDERR_FILENO, "%s: %s\n", argv[0], strerror(errno));
    _exit(NO_SUCH_COMMAND);
}

int cli_remote_client_start(const char *const *argv, int *ret_pid, int ret_ends[3],
                            struct cairn_err *err)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1}, notes[2] = {-1, -1};
    int code = CAIRN_OK, pid = -1;
    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(notes, O_CLOEXEC) < 0 ||
        (pid = fork()) < 0)
        code = cairn_fail_os(err, errno, "cannot start %s", argv[0]);
    else if (pid == 0)
        become_client(argv, (const int[3]){in[0], out[1], notes[1]});
    cli_remote_close(&in[0]);
    cli_remote_close(&out[1]);
    cli_remote_close(&notes[1]);
    *ret_pid = pid > 0 ? pid : 0;
    ret_ends[0] = in[1];
    ret_ends[1] = out[0];
    ret_ends[2] = notes[0];
    for (size_t i = 0; i < 3; i++)
        if (ret_ends[i] >= 0)
            (void)fcntl(ret_ends[i], F_SETFL, O_NONBLOCK);
    return code;
}

int cli_remote_client_reap(int *pid, bool is_urgent)
{
    uint64_t start = cairn_now_ns();
    int status = 0;
    while (*pid && waitpid(*pid, &status, WNOHANG) == 0) {
        uint64_t waited = cairn_now_ns() - start;
        if (waited > 2 * GRACE_NS)
            kill(*pid, SIGKILL);
        else if (is_urgent || waited > GRACE_NS)
            kill(*pid, SIGTERM);
        usleep(2000);
    }
    *pid = 0;
    return status;
}
