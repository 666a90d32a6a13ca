/* SPDX-License-Identifier: MIT */
#include "cli/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/term.h"

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* perf record --threads makes a folder, whose file "data" is the recording's beginning. */
static int open_in_folder(struct cli_source *source, struct cairn_err *err)
{
    struct stat st;
    int fd = openat(source->fd, "data", O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        if (fd >= 0)
            close(fd);
        return cairn_fail(err, CAIRN_E_ARG, "%s: is a folder, expected a file", source->name);
    }
    close(source->fd);
    source->fd = fd;
    source->st = st;
    source->is_folder = true;
    return CAIRN_OK;
}

static int open_named(struct cli_source *source, struct cairn_err *err)
{
    source->fd = open(source->name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (source->fd < 0 || fstat(source->fd, &source->st) < 0)
        return cairn_fail_os(err, errno, "%s", source->name);
    return S_ISDIR(source->st.st_mode) ? open_in_folder(source, err) : CAIRN_OK;
}

static void wait_for_lock(const struct cli_source *source)
{
    if (flock(source->fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return; /* a file system without locks: the check at the end still holds */
    cli_say("%s: another run is replacing it, waiting for it to end", source->name);
    while (flock(source->fd, LOCK_EX) < 0 && errno == EINTR)
        ;
}

/* The lock is on the file and not on its name: after a wait it may be that of a file that has no
 * name any more, and what the other run has made is to be read. */
static int open_locked(struct cli_source *source, struct cairn_err *err)
{
    for (;;) {
        struct stat now;
        int result = open_named(source, err);
        if (result < 0 || source->is_folder)
            return result;
        wait_for_lock(source);
        if (stat(source->name, &now) < 0 || fstat(source->fd, &source->st) < 0)
            return cairn_fail_os(err, errno, "%s", source->name);
        if (same_file(&now, &source->st))
            return CAIRN_OK;
        close(source->fd);
    }
}

int cli_source_open(const char *path, bool replaced, struct cli_source *ret_source,
                    struct cairn_err *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    struct cli_source source = {.fd = -1, .name = is_stdin ? "stdin" : path, .replaced = replaced};
    int result;
    if (is_stdin) {
        source.fd = STDIN_FILENO;
        result = fstat(source.fd, &source.st) < 0 ? cairn_fail_os(err, errno, "stdin") : CAIRN_OK;
    } else {
        result = replaced ? open_locked(&source, err) : open_named(&source, err);
    }
    if (result < 0)
        cli_source_close(&source);
    else
        *ret_source = source;
    return result;
}

void cli_source_close(struct cli_source *source)
{
    if (source->fd > STDERR_FILENO)
        close(source->fd);
    source->fd = -1;
}

static ssize_t read_again(int fd, void *buf, size_t size)
{
    ssize_t got;
    do
        got = read(fd, buf, size);
    while (got < 0 && errno == EINTR);
    return got;
}

static void show_progress(const struct cli_source *source)
{
    unsigned long long done = source->read_bytes >> 20;
    if (S_ISREG(source->st.st_mode) && source->st.st_size > 0)
        cli_progress("%s: %llu of %llu MB", source->name, done,
                     (unsigned long long)source->st.st_size >> 20);
    else
        cli_progress("%s: %llu MB", source->name, done);
}

long cli_source_read(void *source_ctx, void *buf, size_t size)
{
    struct cli_source *source = source_ctx;
    size_t left = source->head_size - source->head_used;
    if (left) {
        size = size < left ? size : left;
        memcpy(buf, source->head + source->head_used, size);
        source->head_used += size;
        return (long)size;
    }
    ssize_t got = read_again(source->fd, buf, size);
    if (got < 0)
        source->os_errno = errno;
    else
        source->read_bytes += (uint64_t)got;
    show_progress(source);
    return (long)got;
}

static long read_at(void *source_ctx, uint64_t off, void *buf, size_t size)
{
    struct cli_source *source = source_ctx;
    size_t done = 0;
    while (done < size) {
        ssize_t got = pread(source->fd, (char *)buf + done, size - done, (off_t)(off + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            source->os_errno = errno;
        if (got <= 0)
            return got < 0 ? -1 : (long)done;
        done += (size_t)got;
    }
    source->read_bytes = off + done;
    show_progress(source);
    return (long)done;
}

int cli_source_import(struct cli_source *source, const struct cairn_import_opts *opts,
                      struct cairn_profile **ret_profile, struct cairn_err *err)
{
    struct cairn_import_opts all = *opts;
    all.read_at = S_ISREG(source->st.st_mode) ? read_at : NULL;
    all.folder = source->is_folder ? source->name : NULL;
    return cairn_import_profile(cli_source_read, source, &all, ret_profile, err);
}

size_t cli_source_peek(struct cli_source *source, size_t wanted, const uint8_t **ret_bytes)
{
    while (source->head_size < wanted) {
        ssize_t got = read_again(source->fd, source->head + source->head_size,
                                 sizeof source->head - source->head_size);
        if (got <= 0)
            break;
        source->head_size += (size_t)got;
        source->read_bytes += (uint64_t)got;
    }
    *ret_bytes = source->head;
    return source->head_size;
}

int cli_source_check(const struct cli_source *source, struct cairn_err *err)
{
    struct stat now;
    const struct stat *then = &source->st;
    if (!S_ISREG(then->st_mode))
        return CAIRN_OK;
    if (fstat(source->fd, &now) < 0)
        return cairn_fail_os(err, errno, "%s", source->name);
    bool changed = now.st_size != then->st_size || now.st_mtim.tv_sec != then->st_mtim.tv_sec ||
                   now.st_mtim.tv_nsec != then->st_mtim.tv_nsec;
    bool gone = source->replaced && (stat(source->name, &now) < 0 || !same_file(&now, then));
    if (!changed && !gone)
        return CAIRN_OK;
    cairn_fail(err, CAIRN_E_IO, "%s: %s while it was read", source->name,
               changed ? "changed" : "was removed or replaced");
    cairn_hint(err, "run it again once whoever writes it is done");
    return CAIRN_E_IO;
}

int cli_read_profile(const char *path, enum cairn_format format, unsigned keeps,
                     struct cairn_profile **ret_profile, struct cairn_err *err)
{
    struct cli_source source;
    int result = cli_source_open(path, false, &source, err);
    if (result < 0)
        return result;
    struct cairn_import_opts opts = {.size = sizeof opts, .format = format, .keeps = keeps};
    result = cli_source_import(&source, &opts, ret_profile, err);
    cli_source_close(&source);
    cli_progress_done();
    if (result < 0 && source.os_errno)
        return cairn_fail_os(err, source.os_errno, "%s", source.name);
    return result < 0 ? cairn_fail_in(err, result, source.name) : CAIRN_OK;
}
