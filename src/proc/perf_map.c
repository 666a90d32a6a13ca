/* SPDX-License-Identifier: MIT */
#include "proc/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/foreign.h"
#include "proc/process.h"

enum { PATH_SIZE = 64, PIECE_BYTES = 1 << 16 };

/* Where the map of a process is to be, and whose it may be. */
struct home {
    char root[PATH_SIZE], name[PATH_SIZE];
    uint32_t uid, euid;
    bool ended; /* the process: then nobody can say whose it was */
};

static struct home home_of(int pid)
{
    struct home home = {.root = "/", .uid = getuid(), .euid = geteuid(), .ended = true};
    struct cairn_process_status status;
    int ns_pid = pid;
    if (cairn_process_status(pid, &status, NULL) == CAIRN_OK && status.state != 'Z') {
        snprintf(home.root, sizeof home.root, "/proc/%d/root", pid);
        home.uid = status.uid;
        home.euid = status.euid;
        home.ended = false;
        ns_pid = status.ns_pid;
    }
    snprintf(home.name, sizeof home.name, "perf-%d.map", ns_pid);
    return home;
}

static int fail_place(int os_errno, const char *path, struct cairn_err *err)
{
    switch (os_errno) {
    case ELOOP:
    case ENOTDIR:
        return cairn_fail(err, CAIRN_E_FORMAT,
                          "%s: a link on the way to it, which could lead anywhere", path);
    case EXDEV:
        return cairn_fail(err, CAIRN_E_FORMAT, "%s: another file is mounted over it", path);
    case ETIMEDOUT:
        return cairn_fail(err, CAIRN_E_LIMIT, "%s: its file system did not answer in time", path);
    default:
        return cairn_fail_os(err, os_errno, "%s", path);
    }
}

static int check(const struct home *home, const struct stat *st, const char *path,
                 struct cairn_err *err)
{
    if (!S_ISREG(st->st_mode))
        return cairn_fail(err, CAIRN_E_FORMAT, "%s: is no regular file", path);
    if (st->st_uid != home->uid && st->st_uid != home->euid && st->st_uid != 0) {
        if (home->ended)
            cairn_fail(err, CAIRN_E_ACCESS,
                       "%s: belongs to uid %u, and the process has ended, so that nobody knows "
                       "whether it was that user's",
                       path, st->st_uid);
        else
            cairn_fail(err, CAIRN_E_ACCESS,
                       "%s: belongs to uid %u, the process to uid %u: names from it could be "
                       "anything",
                       path, st->st_uid, home->euid);
        cairn_hint(err, "give it with --perf-map where it is to be trusted");
        return CAIRN_E_ACCESS;
    }
    if (st->st_size > CAIRN_PERF_MAP_BYTES_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, "%s: %lld bytes, at most %d", path,
                          (long long)st->st_size, CAIRN_PERF_MAP_BYTES_MAX);
    return CAIRN_OK;
}

/*
 * No link is followed but the kernel's own /proc/PID/root, and nothing is opened before check() has
 * seen it. A process in a user namespace of its own can mount any file over its map, /proc/kmsg
 * too, which takes away what root reads of it: no mount point is crossed in /tmp. It can mount a
 * FUSE file system whose server never answers over /tmp or its root: each step has a deadline.
 */
static int open_map(const struct home *home, const char *path, int *ret_fd, struct cairn_err *err)
{
    struct stat st;
    char inside[sizeof "tmp/" + PATH_SIZE];
    int root = open(home->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return fail_place(errno, path, err);
    snprintf(inside, sizeof inside, "tmp/%s", home->name);
    struct cairn_foreign_wish wish = {.path = inside, .folder = root, .is_strict = true};
    int result = cairn_foreign_stat_of(&wish, &st, NULL);
    int code = result < 0 ? fail_place(-result, path, err) : check(home, &st, path, err);
    wish.inode = code == CAIRN_OK ? st.st_ino : 0;
    if (code == CAIRN_OK && (code = cairn_foreign_open(&wish, ret_fd, err)) < 0)
        cairn_fail_in(err, code, home->root);
    close(root);
    return code;
}

/* It may grow meanwhile. */
static int read_text(int fd, const char *path, struct cairn_buffer *text, struct cairn_err *err)
{
    size_t start = text->size;
    for (ssize_t got = 1; got > 0;) {
        if (!cairn_buffer_reserve(text, PIECE_BYTES))
            return cairn_fail_memory(err);
        got = read(fd, text->data + text->size, PIECE_BYTES);
        if (got < 0 && errno == EINTR)
            got = 1;
        else if (got < 0)
            return cairn_fail_os(err, errno, "%s", path);
        else
            text->size += (size_t)got;
        text->data[text->size] = 0;
        if (text->size - start > CAIRN_PERF_MAP_BYTES_MAX)
            return cairn_fail(err, CAIRN_E_LIMIT, "%s: more than %d bytes", path,
                              CAIRN_PERF_MAP_BYTES_MAX);
    }
    return CAIRN_OK;
}

int cairn_perf_map_read(int pid, struct cairn_buffer *ret_text, struct cairn_buffer *ret_path,
                        struct cairn_err *err)
{
    struct home home = home_of(pid);
    int fd;
    cairn_buffer_printf(ret_path, "%s%stmp/%s", home.root, home.root[1] ? "/" : "", home.name);
    const char *path = cairn_buffer_text(ret_path);
    int code = open_map(&home, path, &fd, err);
    if (code < 0)
        return code;
    code = read_text(fd, path, ret_text, err);
    close(fd);
    return code;
}
