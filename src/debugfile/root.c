/* SPDX-License-Identifier: MIT */
#include "debugfile/root.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/open.h"

/* Most processes have the host's root. Then its files are read as this process sees them, and not
 * in the mount namespace of the other. */
static bool is_hosts(const char *path)
{
    struct stat own, other;
    return !*path || strcmp(path, "/") == 0 ||
           (stat("/", &own) == 0 && stat(path, &other) == 0 && own.st_dev == other.st_dev &&
            own.st_ino == other.st_ino);
}

bool cairn_root_open(const char *path, struct cairn_root *ret_root)
{
    bool is_host = is_hosts(path);
    int fd = open(is_host ? "/" : path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return false;
    *ret_root = (struct cairn_root){fd, !is_host};
    return true;
}

void cairn_root_close(struct cairn_root *root)
{
    if (root->fd >= 0)
        close(root->fd);
    root->fd = -1;
}

static int find(const struct cairn_root *root, int folder, const char *path)
{
    return cairn_open_place_in(folder >= 0 ? folder : root->fd, path,
                               root->is_foreign ? CAIRN_OPEN_NO_MOUNTS : 0);
}

DIR *cairn_root_list(const struct cairn_root *root, const char *path)
{
    int place = find(root, -1, path);
    int fd = place < 0 ? -1 : openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
    if (place >= 0)
        close(place);
    if (fd >= 0 && !list)
        close(fd);
    return list;
}

/* The host's own files are opened at once: there are thousands, and nobody but root made them. */
static int open_regular(const struct cairn_root *root, int folder, const char *path,
                        struct stat *ret_status)
{
    if (!root->is_foreign) {
        int own = openat(folder >= 0 ? folder : root->fd, path,
                         O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        bool is_regular = own >= 0 && fstat(own, ret_status) == 0 && S_ISREG(ret_status->st_mode);
        if (own >= 0 && !is_regular)
            close(own);
        return is_regular ? own : -1;
    }
    int place = find(root, folder, path);
    if (place < 0)
        return -1;
    int fd = fstat(place, ret_status) == 0 ? cairn_open_again(place, NULL, O_RDONLY) : -1;
    close(place);
    return fd;
}

bool cairn_root_read(const struct cairn_root *root, int folder, const char *path, size_t limit,
                     struct cairn_buffer *out)
{
    struct stat status;
    cairn_buffer_clear(out);
    int fd = open_regular(root, folder, path, &status);
    if (fd < 0)
        return false;
    size_t size = (size_t)status.st_size;
    bool fits = status.st_size >= 0 && (uint64_t)status.st_size <= limit;
    ssize_t got = fits && cairn_buffer_reserve(out, size + 1) ? 1 : -1;
    while (got > 0 && out->size < size) {
        got = read(fd, out->data + out->size, size - out->size);
        out->size += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    return got >= 0;
}
