/* SPDX-License-Identifier: MIT */
#include "base/own_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

enum { FOLDER_MODE = 0700 };

/* Length of the folder part of a path, slashes behind it left out; 0 where it has none. */
static size_t parent_size(const char *path)
{
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/')
        size--;
    while (size && path[size - 1] != '/')
        size--;
    while (size > 1 && path[size - 1] == '/')
        size--;
    return size;
}

static bool is_root(void)
{
    return geteuid() == 0;
}

/* Where a folder may be made. Root makes none in a folder of another user, who could not delete it,
 * nor where others could replace it. */
static bool may_make_in(int parent)
{
    struct stat st;
    if (fstat(parent, &st) < 0)
        return false;
    if (!is_root() ||
        (st.st_uid == 0 && (!(st.st_mode & (S_IWGRP | S_IWOTH)) || (st.st_mode & S_ISVTX))))
        return true;
    errno = EPERM;
    return false;
}

/* One folder by its path. -1 and errno. */
static int make_folder(const char *path)
{
    char parent[PATH_MAX];
    size_t size = parent_size(path);
    if (size >= sizeof parent) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(parent, size ? path : ".", size ? size : 1);
    parent[size ? size : 1] = '\0';
    int fd = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const char *name = path + size + strspn(path + size, "/");
    int result = fd >= 0 && may_make_in(fd) ? mkdirat(fd, name, FOLDER_MODE) : -1;
    int os_errno = errno;
    if (fd >= 0)
        close(fd);
    errno = os_errno;
    return result;
}

/* FOLDER itself and what it is in, such as ~/.cache; where more than `levels` is missing, the path
 * is wrong, or there is no home. */
static int make_levels(const char *folder, unsigned levels)
{
    char parent[PATH_MAX];
    size_t size = parent_size(folder);
    if (make_folder(folder) == 0 || errno == EEXIST)
        return 0;
    if (errno != ENOENT || size < 2 || size >= sizeof parent || levels < 2)
        return -1;
    memcpy(parent, folder, size);
    parent[size] = '\0';
    if (make_levels(parent, levels - 1) < 0)
        return -1;
    return make_folder(folder) == 0 || errno == EEXIST ? 0 : -1;
}

/* A symlink in FOLDER's place is followed where we made it. */
static int open_link(const char *folder)
{
    struct stat link;
    if (lstat(folder, &link) < 0 || !S_ISLNK(link.st_mode)) {
        errno = ENOTDIR;
        return -1;
    }
    if (link.st_uid == geteuid())
        return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    errno = EPERM;
    return -1;
}

static int open_top(const char *folder, unsigned levels)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = open(folder, flags);
    if (fd < 0 && errno == ENOENT && levels && make_levels(folder, levels) == 0)
        fd = open(folder, flags);
    return fd < 0 && (errno == ELOOP || errno == ENOTDIR) ? open_link(folder) : fd;
}

int cairn_own_folder_open(const char *folder, unsigned levels, int *ret_fd, struct cairn_err *err)
{
    int fd = open_top(folder, levels);
    if (fd < 0 && errno == ENOTDIR)
        return cairn_fail(err, CAIRN_E_ARG, "%s: is no folder", folder);
    if (fd < 0)
        return cairn_fail_os(err, errno, "%s", folder);
    int code = cairn_own_folder_check(fd, folder, err);
    if (code < 0)
        close(fd);
    else
        *ret_fd = fd;
    return code;
}

int cairn_own_folder_check(int fd, const char *folder, struct cairn_err *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return cairn_fail_os(err, errno, "%s", folder);
    if (st.st_uid != geteuid())
        return cairn_fail(err, CAIRN_E_ACCESS, "%s: belongs to uid %u, expected %u", folder,
                          st.st_uid, geteuid());
    if (is_root() && (st.st_mode & (S_IWGRP | S_IWOTH)))
        return cairn_fail(err, CAIRN_E_ACCESS,
                          "%s: mode %04o, expected a folder that only root can write", folder,
                          st.st_mode & 07777);
    return CAIRN_OK;
}

int cairn_own_folder_below(int parent, const char *name, bool make)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(parent, name, flags);
    if (fd >= 0 || errno != ENOENT || !make)
        return fd;
    if (mkdirat(parent, name, FOLDER_MODE) < 0 && errno != EEXIST)
        return -1;
    return openat(parent, name, flags);
}

bool cairn_own_folder_trusts(const struct stat *st)
{
    return S_ISREG(st->st_mode) && st->st_uid == geteuid() && !(st->st_mode & (S_IWGRP | S_IWOTH));
}
