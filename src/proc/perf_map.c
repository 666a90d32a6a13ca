/* SPDX-License-Identifier: MIT */
#include "proc/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
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

/* Step by step, no link followed but the kernel's own /proc/PID/root. */
static int open_map(const struct home *home, int *ret_fd)
{
    int root = open(home->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int folder = root < 0 ? -1 : openat(root, "tmp", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int fd = folder < 0 ? -1
                        : openat(folder, home->name,
                                 O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    int os_errno = errno;
    if (root >= 0)
        close(root);
    if (folder >= 0)
        close(folder);
    *ret_fd = fd;
    return fd < 0 ? os_errno : 0;
}

static int check(const struct home *home, int fd, const char *path, struct cairn_err *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return cairn_fail_os(err, errno, "%s", path);
    if (!S_ISREG(st.st_mode))
        return cairn_fail(err, CAIRN_E_FORMAT, "%s: is no regular file", path);
    if (st.st_uid != home->uid && st.st_uid != home->euid && st.st_uid != 0) {
        if (home->ended)
            cairn_fail(err, CAIRN_E_ACCESS,
                       "%s: belongs to uid %u, and the process has ended, so that nobody knows "
                       "whether it was that user's",
                       path, st.st_uid);
        else
            cairn_fail(err, CAIRN_E_ACCESS,
                       "%s: belongs to uid %u, the process to uid %u: names from it could be "
                       "anything",
                       path, st.st_uid, home->euid);
        cairn_hint(err, "give it with --perf-map where it is to be trusted");
        return CAIRN_E_ACCESS;
    }
    if (st.st_size > CAIRN_PERF_MAP_BYTES_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, "%s: %lld bytes, at most %d", path,
                          (long long)st.st_size, CAIRN_PERF_MAP_BYTES_MAX);
    return CAIRN_OK;
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
    int fd, os_errno = open_map(&home, &fd);
    cairn_buffer_printf(ret_path, "%s%stmp/%s", home.root, home.root[1] ? "/" : "", home.name);
    const char *path = cairn_buffer_text(ret_path);
    if (os_errno == ELOOP || os_errno == ENOTDIR)
        return cairn_fail(err, CAIRN_E_FORMAT,
                          "%s: a link on the way to it, which could lead anywhere", path);
    if (os_errno)
        return cairn_fail_os(err, os_errno, "%s", path);
    int code = check(&home, fd, path, err);
    if (code == CAIRN_OK)
        code = read_text(fd, path, ret_text, err);
    close(fd);
    return code;
}
