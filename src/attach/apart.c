/* SPDX-License-Identifier: MIT */
/*
 * Apart: a child process, in a session of its own, does a job that holds a thread of another
 * process. A signal that ends the command does not end the child: else the held thread would go on
 * in the middle of a call of ours. What the child reports comes through a pipe:
 *
 *     struct news | line ... | struct news, is_last | report | error
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/job.h"
#include "base/error.h"
#include "base/file.h"

enum { LINE_BYTES = 512 };

struct news {
    bool is_last;
    int result;
    char line[LINE_BYTES];
    struct cairn_attach_report report;
    struct cairn_err err;
};

static bool get(int fd, struct news *news)
{
    char *bytes = (char *)news;
    for (size_t done = 0; done < sizeof *news;) {
        ssize_t n = read(fd, bytes + done, sizeof *news - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

/* The command may have ended: the job goes on without it. */
static void say_through(void *context, const char *line)
{
    struct news news = {.is_last = false};
    size_t size = strnlen(line, LINE_BYTES - 1);
    memcpy(news.line, line, size);
    cairn_write_all(*(int *)context, &news, sizeof news, "the command", NULL);
}

__attribute__((noreturn)) static void work(int pid, const struct cairn_attach_opts *opts,
                                           cairn_attach_work_fn *fn, int fd)
{
    struct cairn_attach_opts own = *opts;
    struct news news = {.is_last = true, .report = {.size = sizeof news.report}};
    sigset_t all;
    setsid();
    signal(SIGCHLD, SIG_DFL); /* ignored, it would not end our waits for a stop */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    own.say = opts->say ? say_through : NULL;
    own.say_context = &fd;
    news.result = fn(pid, &own, &news.report, &news.err);
    cairn_write_all(fd, &news, sizeof news, "the command", NULL);
    _exit(0);
}

static int listen_to(int fd, const struct cairn_attach_opts *opts, struct news *news,
                     struct cairn_err *err)
{
    while (get(fd, news)) {
        if (news->is_last)
            return CAIRN_OK;
        news->line[LINE_BYTES - 1] = '\0';
        if (opts->say)
            opts->say(opts->say_context, news->line);
    }
    return cairn_fail(err, CAIRN_E_IO, "our helper was ended before it was done");
}

int cairn_attach_apart(int pid, const struct cairn_attach_opts *given, cairn_attach_work_fn *fn,
                       struct cairn_attach_report *ret_report, struct cairn_err *err)
{
    const struct cairn_attach_opts opts = cairn_attach_opts_of(given);
    struct news news;
    int pipes[2];
    if (pipe2(pipes, O_CLOEXEC) < 0)
        return cairn_fail_os(err, errno, "no pipe to a helper");
    pid_t child = fork();
    if (child == 0) {
        close(pipes[0]);
        work(pid, &opts, fn, pipes[1]);
    }
    int os_errno = errno;
    close(pipes[1]);
    int result = child < 0 ? cairn_fail_os(err, os_errno, "no helper can be started")
                           : listen_to(pipes[0], &opts, &news, err);
    close(pipes[0]);
    if (child > 0)
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            continue;
    if (result < 0)
        return result;
    if (news.result < 0 && err)
        *err = news.err;
    if (news.result == CAIRN_OK && ret_report) {
        size_t size = ret_report->size < sizeof news.report ? ret_report->size : sizeof news.report;
        memcpy(ret_report, &news.report, size);
        ret_report->size = size;
    }
    return news.result;
}
