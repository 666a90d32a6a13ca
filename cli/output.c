/* SPDX-License-Identifier: MIT */
/*
 * Output that appears whole or not at all. While a temporary file exists, SIGINT, SIGTERM and
 * SIGHUP remove it before they end the program, unless the command handles them itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dest.h"
#include "base/error.h"
#include "base/file.h"
#include "cli/term.h"
#include "cli/writer.h"

enum { BUFFER_BYTES = 1 << 20, N_BUFFERS = 2 };

struct cli_output {
    struct cairn_replace replace; /* all-zero: written straight to `fd` */
    int fd;
    char *name; /* for messages */
    bool is_stdout, give_away, failed;
    struct cairn_err err;      /* of the first write that failed */
    struct cli_writer *writer; /* from the first full buffer on, where there can be one */
    size_t used;               /* of the buffer that is being filled */
    unsigned filling;
    uint8_t buffers[N_BUFFERS][BUFFER_BYTES];
};

static const int deadly[] = {SIGINT, SIGTERM, SIGHUP};
enum { N_DEADLY = sizeof deadly / sizeof *deadly };

/* The temporary file to remove when a signal ends us; one output at a time is enough for us. */
static _Atomic(const struct cairn_replace *) doomed;

static void remove_doomed(void)
{
    const struct cairn_replace *replace = atomic_exchange(&doomed, NULL);
    if (replace)
        cairn_replace_unlink(replace);
}

static void on_deadly(int number)
{
    remove_doomed();
    sigaction(number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    raise(number);
}

static void watch_signals(const struct cairn_replace *replace)
{
    atomic_store(&doomed, replace);
    for (size_t i = 0; i < N_DEADLY; i++) {
        struct sigaction old;
        if (sigaction(deadly[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(deadly[i], &(struct sigaction){.sa_handler = on_deadly}, NULL);
    }
}

static void unwatch_signals(void)
{
    atomic_store(&doomed, NULL);
    for (size_t i = 0; i < N_DEADLY; i++) {
        struct sigaction old;
        if (sigaction(deadly[i], NULL, &old) == 0 && old.sa_handler == on_deadly)
            sigaction(deadly[i], &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    }
}

void cli_end_quietly(void)
{
    remove_doomed();
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
    _exit(128 + SIGPIPE);
}

static struct cli_output *output_new(const char *name)
{
    struct cli_output *output = calloc(1, sizeof *output);
    if (output)
        output->name = strdup(name);
    if (!output || !output->name) {
        free(output);
        return NULL;
    }
    output->fd = -1;
    output->replace.fd = -1;
    return output;
}

static void output_free(struct cli_output *output)
{
    unwatch_signals();
    if (!output->is_stdout && output->fd >= 0 && !output->replace.target)
        close(output->fd);
    free(output->name);
    free(output);
}

/* Signals wait meanwhile: what is there already must be known to on_deadly(). */
static int open_watched(const char *path, enum cairn_replace_mode mode,
                        struct cairn_replace *ret_replace, struct cairn_err *err)
{
    sigset_t held, before;
    sigemptyset(&held);
    for (size_t i = 0; i < N_DEADLY; i++)
        sigaddset(&held, deadly[i]);
    pthread_sigmask(SIG_BLOCK, &held, &before);
    int result = cairn_replace_open(path, mode, ret_replace, err);
    if (result == CAIRN_OK)
        watch_signals(ret_replace);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}

static int open_file(struct cli_output *output, const char *path, enum cairn_replace_mode mode,
                     struct cairn_err *err)
{
    int result = open_watched(path, mode, &output->replace, err);
    if (result < 0)
        return result;
    output->fd = output->replace.fd;
    output->give_away = mode != CAIRN_REPLACE_IN_PLACE;
    return CAIRN_OK;
}

/* A device or a pipe has nothing that could be overwritten, and cannot be renamed over. */
static int open_special(struct cli_output *output, const struct cairn_dest *target,
                        struct cairn_err *err)
{
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", target->file);
    output->fd = open(link, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    return output->fd < 0 ? cairn_fail_os(err, errno, "%s", output->name) : CAIRN_OK;
}

static int open_path(struct cli_output *output, const char *path, enum cairn_replace_mode mode,
                     struct cairn_err *err)
{
    struct cairn_dest target;
    int result = cairn_dest_find(path, &target, err);
    if (result < 0)
        return result;
    if (target.exists && !S_ISREG(target.st.st_mode) && !S_ISDIR(target.st.st_mode))
        result = open_special(output, &target, err);
    else
        result = open_file(output, path, mode, err);
    cairn_dest_done(&target);
    return result;
}

int cli_output_open(const char *path, bool force, struct cli_output **ret_output,
                    struct cairn_err *err)
{
    bool is_stdout = strcmp(path, "-") == 0;
    struct cli_output *output = output_new(is_stdout ? "stdout" : path);
    if (!output)
        return cairn_fail_memory(err);
    int result = CAIRN_OK;
    if (is_stdout) {
        output->is_stdout = true;
        output->fd = STDOUT_FILENO;
    } else {
        result = open_path(output, path, force ? CAIRN_REPLACE_FORCE : CAIRN_REPLACE_NEVER, err);
    }
    if (result < 0)
        output_free(output);
    else
        *ret_output = output;
    return result;
}

int cli_output_open_in_place(const char *path, struct cli_output **ret_output,
                             struct cairn_err *err)
{
    struct cli_output *output = output_new(path);
    if (!output)
        return cairn_fail_memory(err);
    int result = open_file(output, path, CAIRN_REPLACE_IN_PLACE, err);
    if (result < 0)
        output_free(output);
    else
        *ret_output = output;
    return result;
}

/* Runs in the writer's thread; the error is read once that has said that it failed. */
static int put(void *output_ctx, const void *bytes, size_t size)
{
    struct cli_output *output = output_ctx;
    int result = cairn_write_all(output->fd, bytes, size, output->name, &output->err);
    /* Lets the disk begin now, so that the fsync at the end has little left to wait for. */
    if (output->replace.target)
        sync_file_range(output->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
    if (result < 0 && output->is_stdout && output->err.os_errno == EPIPE)
        cli_end_quietly();
    return result;
}

/* The buffer is full: it is written while the other one is filled. */
static int hand_over(struct cli_output *output)
{
    const uint8_t *bytes = output->buffers[output->filling];
    size_t used = output->used;
    output->used = 0;
    if (!output->writer)
        output->writer = cli_writer_start(put, output);
    if (!output->writer)
        return put(output, bytes, used);
    output->filling = (output->filling + 1) % N_BUFFERS;
    return cli_writer_give(output->writer, bytes, used);
}

int cli_output_write(void *output_ctx, const void *bytes, size_t size)
{
    struct cli_output *output = output_ctx;
    const uint8_t *from = bytes;
    while (size && !output->failed) {
        size_t room = BUFFER_BYTES - output->used, part = size < room ? size : room;
        memcpy(output->buffers[output->filling] + output->used, from, part);
        output->used += part;
        from += part;
        size -= part;
        output->failed = output->used == BUFFER_BYTES && hand_over(output) < 0;
    }
    return output->failed ? (int)output->err.code : CAIRN_OK;
}

/* Waits for the thread, after which `err` may be read. The first failure. */
static int end_writer(struct cli_output *output)
{
    int result = cli_writer_end(output->writer);
    output->writer = NULL;
    return result;
}

/* Writes the rest. */
static int flush(struct cli_output *output)
{
    output->failed |= end_writer(output) < 0;
    if (!output->failed && output->used)
        output->failed = put(output, output->buffers[output->filling], output->used) < 0;
    output->used = 0;
    return output->failed ? (int)output->err.code : CAIRN_OK;
}

int cli_output_flush(struct cli_output *output)
{
    return flush(output);
}

const char *cli_output_name(const struct cli_output *output)
{
    return output->name;
}

int cli_output_error(const struct cli_output *output, struct cairn_err *err)
{
    if (output->failed)
        *err = output->err;
    return output->failed ? (int)output->err.code : CAIRN_OK;
}

/* Closes what is not ours to rename; close() may be the first to tell of a full disk. */
static int close_special(struct cli_output *output, struct cairn_err *err)
{
    int fd = output->fd;
    output->fd = -1;
    if (output->is_stdout || close(fd) == 0 || errno == EINTR)
        return CAIRN_OK;
    return cairn_fail_os(err, errno, "%s", output->name);
}

/* Everything but the rename. */
static int finish(struct cli_output *output, struct cairn_err *err)
{
    int result = flush(output);
    if (result < 0)
        *err = output->err;
    bool is_file = output->replace.target;
    if (result == CAIRN_OK && !is_file)
        result = close_special(output, err);
    if (result == CAIRN_OK && is_file && output->give_away)
        result = cairn_file_give_to_caller(output->fd, output->name, err);
    return result;
}

static int end(struct cli_output *output, int result, struct cairn_err *err)
{
    if (result < 0)
        return cli_output_fail(output, result, err);
    cairn_replace_drop(&output->replace);
    output_free(output);
    return CAIRN_OK;
}

int cli_output_commit(struct cli_output *output, struct cairn_err *err)
{
    int result = finish(output, err);
    if (result == CAIRN_OK && output->replace.target)
        result = cairn_replace_commit(&output->replace, err);
    return end(output, result, err);
}

int cli_output_rename(struct cli_output *output, const char *name, struct cairn_err *err)
{
    char *copy = strdup(name);
    if (!copy)
        return cairn_fail_memory(err);
    int result =
        output->replace.target ? cairn_replace_rename(&output->replace, name, err) : CAIRN_OK;
    if (result < 0) {
        free(copy);
        return result;
    }
    free(output->name);
    output->name = copy;
    return CAIRN_OK;
}

/* Where a number goes: before the last ending, and before .pb in .pb.gz. */
static size_t stem_size(const char *name)
{
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
    size_t size = strlen(base), n = size;
    if (n > 3 && strcmp(base + n - 3, ".gz") == 0)
        n -= 3;
    while (n > 1 && base[n - 1] != '.')
        n--;
    return (size_t)(base - name) + (n > 1 ? n - 1 : size);
}

/* Under the first free one of name.1, name.2 and so on. */
static int commit_numbered(struct cli_output *output, const char *name, struct cairn_err *err)
{
    enum { NAMES_MAX = 1000 };
    size_t stem = stem_size(name);
    int result = CAIRN_E_EXISTS;
    for (int i = 1; result == CAIRN_E_EXISTS && i <= NAMES_MAX; i++) {
        struct cairn_buffer other = {0};
        cairn_buffer_printf(&other, "%.*s.%d%s", (int)stem, name, i, name + stem);
        result = other.failed ? cairn_fail_memory(err)
                              : cli_output_rename(output, cairn_buffer_text(&other), err);
        cairn_buffer_done(&other);
        if (result == CAIRN_OK)
            result = cairn_replace_commit(&output->replace, err);
    }
    if (result == CAIRN_OK)
        cli_say("%s came into being meanwhile, and stays; the new file is %s", name, output->name);
    return result;
}

int cli_output_commit_anyway(struct cli_output *output, struct cairn_buffer *ret_name,
                             struct cairn_err *err)
{
    char *name = strdup(output->name);
    int result = name ? finish(output, err) : cairn_fail_memory(err);
    if (result == CAIRN_OK && output->replace.target)
        result = cairn_replace_commit(&output->replace, err);
    if (result == CAIRN_E_EXISTS)
        result = commit_numbered(output, name, err);
    free(name);
    cairn_buffer_str(ret_name, output->name);
    return end(output, result, err);
}

int cli_output_fail(struct cli_output *output, int code, struct cairn_err *err)
{
    end_writer(output);
    unwatch_signals();
    if (output->replace.target)
        code = cairn_replace_fail(&output->replace, code, err);
    output->fd = output->is_stdout || output->replace.target ? -1 : output->fd;
    output_free(output);
    return code;
}

void cli_output_drop(struct cli_output *output)
{
    if (!output)
        return;
    end_writer(output);
    unwatch_signals();
    bool is_file = output->replace.target;
    cairn_replace_drop(&output->replace);
    output->fd = is_file || output->is_stdout ? -1 : output->fd;
    output_free(output);
}
