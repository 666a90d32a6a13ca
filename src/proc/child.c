/* SPDX-License-Identifier: MIT */
/*
 *     cairn                         child (after fork)
 *     attach events or ptrace       read(go): waits
 *     write(go, 1 byte)        ──►  execvp()
 *     read(fail)               ◄──  closed by a successful exec, errno by a failed one
 */
#include "proc/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"

enum { SERVE_EVERY_MS = 2, NOT_STARTED = 127 };

struct before {
    cairn_child_fn fn;
    const void *ctx;
};

static void run_child(char *const *argv, char *const *env, const struct before *before, int go_fd,
                      int fail_fd)
{
    char byte;
    ssize_t n;
    do
        n = read(go_fd, &byte, 1);
    while (n < 0 && errno == EINTR);
    if (n == 1) {
        int os_errno = before->fn ? -before->fn(before->ctx) : 0;
        if (!os_errno) {
            execvpe(argv[0], argv, env ? env : environ);
            os_errno = errno;
        }
        (void)!write(fail_fd, &os_errno, sizeof os_errno);
    }
    _exit(NOT_STARTED);
}

int cairn_child_start(char *const *argv, char *const *env, struct cairn_child *ret_child,
                      struct cairn_err *err)
{
    return cairn_child_start_by(argv, env, NULL, NULL, ret_child, err);
}

int cairn_child_start_by(char *const *argv, char *const *env, cairn_child_fn fn, const void *ctx,
                         struct cairn_child *ret_child, struct cairn_err *err)
{
    const struct before before = {fn, ctx};
    int go[2], fail[2];
    if (pipe2(go, O_CLOEXEC) < 0)
        return cairn_fail_os(err, errno, "%s: cannot start", argv[0]);
    if (pipe2(fail, O_CLOEXEC) < 0) {
        int os_errno = errno;
        close(go[0]);
        close(go[1]);
        return cairn_fail_os(err, os_errno, "%s: cannot start", argv[0]);
    }
    pid_t pid = fork();
    int os_errno = errno;
    if (pid == 0) {
        close(go[1]);
        run_child(argv, env, &before, go[0], fail[1]);
    }
    close(go[0]);
    close(fail[1]);
    *ret_child = (struct cairn_child){.pid = pid, .go_fd = go[1], .fail_fd = fail[0]};
    if (pid > 0)
        return CAIRN_OK;
    ret_child->pid = 0;
    cairn_child_drop(ret_child);
    return cairn_fail_os(err, os_errno, "%s: cannot start", argv[0]);
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* A negative number is the errno of what the child calls before execve(2). */
static int fail_exec(int os_errno, const char *name, struct cairn_err *err)
{
    if (os_errno < 0)
        return cairn_fail_os(err, -os_errno, "%s: cannot be started under a filter", name);
    int code = cairn_fail_os(err, os_errno, "%s: cannot be started", name);
    if (os_errno == ENOENT && !strchr(name, '/'))
        cairn_hint(err, "no program of that name is in PATH; for one in this folder: ./%s", name);
    return code;
}

int cairn_child_release(struct cairn_child *child, const char *name, void (*serve)(void *),
                        void *ctx, struct cairn_err *err)
{
    int os_errno = 0;
    ssize_t n;
    if (write(child->go_fd, "g", 1) != 1)
        return cairn_fail_os(err, errno, "%s: cannot be started", name);
    close_fd(&child->go_fd);
    struct pollfd wait = {.fd = child->fail_fd, .events = POLLIN};
    while (serve && poll(&wait, 1, SERVE_EVERY_MS) <= 0)
        serve(ctx);
    do
        n = read(child->fail_fd, &os_errno, sizeof os_errno);
    while (n < 0 && errno == EINTR);
    close_fd(&child->fail_fd);
    return n == sizeof os_errno ? fail_exec(os_errno, name, err) : CAIRN_OK;
}

void cairn_child_drop(struct cairn_child *child)
{
    bool held = child->pid > 0 && child->go_fd >= 0;
    close_fd(&child->go_fd);
    close_fd(&child->fail_fd);
    if (held) {
        kill(child->pid, SIGKILL);
        while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    child->pid = 0;
}
