/* SPDX-License-Identifier: MIT */
#include "debuginfod/client_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cairn/debuginfod.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/own_folder.h"

enum { MADE_LEVELS = 2, MISS_S = 600, FILE_MODE = 0400, NUMBER_BYTES = 24 };

int cairn_debuginfod_folder(char *ret_path, size_t size, struct cairn_err *err)
{
    static const struct {
        const char *variable, *below;
    } rows[] = {{"DEBUGINFOD_CACHE_PATH", ""},
                {"XDG_CACHE_HOME", "/debuginfod_client"},
                {"HOME", "/.cache/debuginfod_client"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *value = getenv(rows[i].variable);
        if (!value || value[0] != '/')
            continue;
        int needed = snprintf(ret_path, size, "%s%s", value, rows[i].below);
        if (needed > 0 && (size_t)needed < size && needed < PATH_MAX)
            return CAIRN_OK;
        return cairn_fail(err, CAIRN_E_LIMIT, "%s: the folder of debuginfod is a path of %d bytes",
                          rows[i].variable, needed);
    }
    return cairn_fail(
        err, CAIRN_E_MISSING,
        "none of DEBUGINFOD_CACHE_PATH, XDG_CACHE_HOME and HOME holds an absolute path");
}

int cairn_client_folder_open(const char *path, struct cairn_client_folder *ret_folder,
                             struct cairn_err *err)
{
    struct cairn_client_folder folder = {.fd = -1, .path = cairn_strdup(path)};
    if (!folder.path)
        return cairn_fail_memory(err);
    int code = cairn_own_folder_open(path, MADE_LEVELS, &folder.fd, err);
    if (code < 0)
        cairn_free(folder.path);
    else
        *ret_folder = folder;
    return code;
}

void cairn_client_folder_close(struct cairn_client_folder *folder)
{
    if (folder->fd >= 0)
        close(folder->fd);
    cairn_free(folder->path);
    *folder = (struct cairn_client_folder){.fd = -1};
}

static time_t miss_seconds(const struct cairn_client_folder *folder)
{
    char text[NUMBER_BYTES] = {0};
    int fd = openat(folder->fd, "cache_miss_s", O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    char *end;
    long seconds = strtol(text, &end, 10);
    return size > 0 && end != text && seconds >= 0 ? (time_t)seconds : MISS_S;
}

enum cairn_client_state cairn_client_folder_look(const struct cairn_client_folder *folder,
                                                 const char *id, const char *name)
{
    struct stat st;
    int below = cairn_own_folder_below(folder->fd, id, false);
    enum cairn_client_state state = CAIRN_CLIENT_ABSENT;
    if (below < 0)
        return state;
    if (fstatat(below, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)) {
        time_t age = time(NULL) - st.st_mtime;
        if (st.st_size)
            state = CAIRN_CLIENT_HELD;
        else if (age >= 0 && age <= miss_seconds(folder))
            state = CAIRN_CLIENT_MISS;
        else
            unlinkat(below, name, 0);
    }
    close(below);
    return state;
}

/* Where a file system has no files without a name, one that is deleted at once would do, but could
 * not get a name again: it is refused, and the file is not fetched. */
int cairn_client_folder_temp(const struct cairn_client_folder *folder, const char *id, int *ret_fd,
                             struct cairn_err *err)
{
    int below = cairn_own_folder_below(folder->fd, id, true);
    int fd = below < 0 ? -1 : openat(below, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, FILE_MODE);
    int os_errno = errno;
    if (below >= 0)
        close(below);
    if (fd < 0)
        return cairn_fail_os(err, os_errno, "%s/%s: no file can be made", folder->path, id);
    *ret_fd = fd;
    return CAIRN_OK;
}

int cairn_client_folder_put(const struct cairn_client_folder *folder, const char *id,
                            const char *name, int fd, struct cairn_err *err)
{
    char own[48];
    int below = cairn_own_folder_below(folder->fd, id, false);
    snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
    int result = below < 0 ? -1 : linkat(AT_FDCWD, own, below, name, AT_SYMLINK_FOLLOW);
    if (result < 0 && errno == EEXIST) { /* an old one, or one that another process put there */
        unlinkat(below, name, 0);
        result = linkat(AT_FDCWD, own, below, name, AT_SYMLINK_FOLLOW);
    }
    int os_errno = errno;
    if (below >= 0)
        close(below);
    if (result < 0)
        return cairn_fail_os(err, os_errno, "%s/%s/%s: cannot be put in place", folder->path, id,
                             name);
    return CAIRN_OK;
}

void cairn_client_folder_miss(const struct cairn_client_folder *folder, const char *id,
                              const char *name)
{
    int below = cairn_own_folder_below(folder->fd, id, true);
    int fd = below < 0
                 ? -1
                 : openat(below, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd >= 0)
        close(fd);
    if (below >= 0)
        close(below);
}
