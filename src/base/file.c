/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/apart.h"
#include "base/error.h"
#include "base/foreign.h"
#include "base/guard.h"
#include "base/open.h"

static const char *kind_of(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFDIR:
        return "a folder";
    case S_IFIFO:
        return "a pipe";
    case S_IFSOCK:
        return "a socket";
    case S_IFCHR:
    case S_IFBLK:
        return "a device";
    default:
        return "something else";
    }
}

static int check_kind(int fd, const struct stat *st, const char *who, struct cairn_err *err)
{
    if (!S_ISREG(st->st_mode))
        return cairn_fail(err, CAIRN_E_FORMAT, "%s: is %s, expected a regular file", who,
                          kind_of(st->st_mode));
    if (cairn_open_is_kernels(fd))
        return cairn_fail(err, CAIRN_E_FORMAT,
                          "%s: is made up by the kernel as it is read, expected a regular file of "
                          "a disk",
                          who);
    return CAIRN_OK;
}

enum { LARGE = 1 << 30 };

static int map_bytes(int fd, const char *who, uint64_t size, struct cairn_span *ret_bytes,
                     struct cairn_err *err)
{
    *ret_bytes = (struct cairn_span){0};
    if (size == 0)
        return CAIRN_OK;
    if (size > SIZE_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, "%s: too large to map: %llu bytes", who,
                          (unsigned long long)size);
    void *mapped = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapped == MAP_FAILED && errno == ENOMEM && size > LARGE) /* this file's fault, not ours */
        return cairn_fail(err, CAIRN_E_LIMIT, "%s: cannot map %llu bytes: no address space", who,
                          (unsigned long long)size);
    if (mapped == MAP_FAILED)
        return cairn_fail_os(err, errno, "%s: cannot map %llu bytes", who,
                             (unsigned long long)size);
    struct cairn_span bytes = {mapped, (size_t)size};
    if (!cairn_guard_add(bytes)) {
        munmap(mapped, bytes.size);
        return cairn_fail_memory(err);
    }
    *ret_bytes = bytes;
    return CAIRN_OK;
}

int cairn_file_open_fd(int fd, const char *who, struct cairn_file *ret_file, struct cairn_err *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return cairn_fail_os(err, errno, "%s: cannot read its size", who);
    int result = check_kind(fd, &st, who, err);
    if (result < 0)
        return result;
    bool is_copy = cairn_foreign_is_copy(fd);
    struct cairn_span bytes;
    result = map_bytes(fd, who, (uint64_t)st.st_size, &bytes, err);
    if (result < 0)
        return result;
    *ret_file = (struct cairn_file){
        .bytes = bytes,
        .mapping = bytes,
        .dev = st.st_dev,
        .inode = st.st_ino,
        .mtime_ns = cairn_time_ns(&st.st_mtim),
        .ctime_ns = cairn_time_ns(&st.st_ctim),
        .uid = st.st_uid,
        .is_guarded = !is_copy && cairn_open_is_guarded(fd, &st), /* we own the copy alone */
        .is_copy = is_copy,
    };
    return CAIRN_OK;
}

/* Looks at the file before it is opened: base/open.h. In a command that looks at processes, with a
 * deadline: base/foreign.h. */
bool cairn_file_stat_guarded(const char *path, struct stat *ret_st, bool *ret_is_guarded)
{
    if (!cairn_apart_is_used())
        return cairn_open_stat(path, ret_st, ret_is_guarded) == 0;
    int result = cairn_foreign_stat(path, ret_st, ret_is_guarded);
    errno = -result;
    return result == 0;
}

bool cairn_file_stat(const char *path, struct stat *ret_st)
{
    return cairn_file_stat_guarded(path, ret_st, NULL);
}

static int open_below(const char *root, const char *path, int *ret_fd, struct cairn_err *err)
{
    struct stat st;
    int place = cairn_open_place_below(root, path);
    if (place < 0)
        return cairn_fail_os(err, errno, "%s", path);
    int fd = cairn_open_again(place, path, O_RDONLY), result = CAIRN_OK;
    if (fd < 0 && errno == EINVAL && fstat(place, &st) == 0)
        result = check_kind(place, &st, path, err);
    if (result == CAIRN_OK && fd < 0)
        result = cairn_fail_os(err, errno, "%s", path);
    close(place);
    *ret_fd = fd;
    return result;
}

int cairn_file_open_below(const char *root, const char *path, struct cairn_file *ret_file,
                          struct cairn_err *err)
{
    const struct cairn_foreign_wish wish = {.path = path, .root = root, .folder = -1};
    int fd = -1, result = cairn_apart_is_used() ? cairn_foreign_open(&wish, &fd, err)
                                                : open_below(root, path, &fd, err);
    if (result < 0)
        return result;
    result = cairn_file_open_fd(fd, path, ret_file, err);
    close(fd);
    return result;
}

int cairn_file_open(const char *path, struct cairn_file *ret_file, struct cairn_err *err)
{
    return cairn_file_open_below(NULL, path, ret_file, err);
}

void cairn_file_close(struct cairn_file *file)
{
    if (file->mapping.size) {
        cairn_guard_remove(file->mapping);
        munmap((void *)(uintptr_t)file->mapping.data, file->mapping.size);
    }
    cairn_free(file->owned);
    *file = (struct cairn_file){0};
}

static int read_to_end(int fd, const char *path, size_t limit, struct cairn_buffer *out,
                       struct cairn_err *err)
{
    enum { PIECE = 1 << 16 };
    size_t start = out->size;
    for (;;) {
        if (!cairn_buffer_reserve(out, PIECE))
            return cairn_fail_memory(err);
        ssize_t got = read(fd, out->data + out->size, PIECE);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return cairn_fail_os(err, errno, "%s: cannot read", path);
        out->size += (size_t)got;
        if (out->size - start > limit)
            return cairn_fail(err, CAIRN_E_LIMIT, "%s: larger than %zu bytes", path, limit);
        if (got == 0)
            return CAIRN_OK;
    }
}

/* Closes `fd`. */
static int slurp(int fd, const char *path, size_t limit, struct cairn_buffer *ret_bytes,
                 struct cairn_err *err)
{
    size_t start = ret_bytes->size;
    int result = read_to_end(fd, path, limit, ret_bytes, err);
    close(fd);
    if (result < 0)
        ret_bytes->size = start;
    if (ret_bytes->data)
        ret_bytes->data[ret_bytes->size] = 0;
    return result;
}

int cairn_file_slurp(const char *path, size_t limit, struct cairn_buffer *ret_bytes,
                     struct cairn_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return cairn_fail_os(err, errno, "%s", path);
    return slurp(fd, path, limit, ret_bytes, err);
}

int cairn_file_slurp_regular(const char *path, size_t limit, struct cairn_buffer *ret_bytes,
                             struct cairn_err *err)
{
    int fd = cairn_open_regular(path);
    if (fd < 0 && errno == EINVAL)
        return cairn_fail(err, CAIRN_E_FORMAT, "%s: is no regular file", path);
    if (fd < 0)
        return cairn_fail_os(err, errno, "%s", path);
    return slurp(fd, path, limit, ret_bytes, err);
}

/* A terminal or pipe that somebody set to O_NONBLOCK: wait until it takes more. */
static bool wait_writable(int fd)
{
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    return poll(&wait, 1, -1) >= 0 || errno == EINTR;
}

void cairn_file_will_need(struct cairn_span bytes, uint64_t off, uint64_t size)
{
    uintptr_t in_page = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
    if (!bytes.data || off >= bytes.size)
        return;
    uint64_t left = bytes.size - off;
    uintptr_t start = (uintptr_t)bytes.data + (uintptr_t)off;
    uintptr_t first = start & ~in_page;
    size_t n = (size_t)(size < left ? size : left) + (size_t)(start - first);
    (void)madvise((void *)first, n, MADV_WILLNEED); /* a hint: nothing depends on it */
}

/* Whole pages alone: a neighbour may be in use. */
void cairn_file_was_read(const struct cairn_file *file, struct cairn_span part)
{
    uintptr_t in_page = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
    uintptr_t start = (uintptr_t)part.data;
    uintptr_t mapped = (uintptr_t)file->mapping.data;
    bool is_mapped = mapped && start >= mapped && start - mapped <= file->mapping.size &&
                     part.size <= file->mapping.size - (start - mapped);
    if (file->is_copy || !is_mapped)
        return;
    uintptr_t first = (start + in_page) & ~in_page;
    uintptr_t end = (start + part.size) & ~in_page;
    if (first < end)
        (void)madvise((void *)first, end - first, MADV_DONTNEED);
}

int cairn_write_all(int fd, const void *bytes, size_t size, const char *who, struct cairn_err *err)
{
    const uint8_t *at = bytes;
    while (size > 0) {
        ssize_t put = write(fd, at, size);
        if (put >= 0) {
            at += put;
            size -= (size_t)put;
            continue;
        }
        if (errno == EINTR || (errno == EAGAIN && wait_writable(fd)))
            continue;
        int os_errno = errno;
        int code = cairn_fail_os(err, os_errno, "%s: cannot write", who);
        if (os_errno == ENOSPC || os_errno == EDQUOT)
            cairn_hint(err, "make room on that disk, or write elsewhere with -o");
        return code;
    }
    return CAIRN_OK;
}

bool cairn_file_env_id(const char *name, unsigned *ret_id)
{
    const char *text = getenv(name);
    if (!text || *text < '0' || *text > '9')
        return false;
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno || *end || value >= UINT32_MAX)
        return false;
    *ret_id = (unsigned)value;
    return true;
}

int cairn_file_give_to_caller(int fd, const char *who, struct cairn_err *err)
{
    unsigned uid, gid;
    if (geteuid() != 0 || !cairn_file_env_id("SUDO_UID", &uid) ||
        !cairn_file_env_id("SUDO_GID", &gid))
        return CAIRN_OK;
    if (fchown(fd, uid, gid) < 0)
        return cairn_fail_os(err, errno, "%s: cannot give it to uid %u, who called sudo", who, uid);
    return CAIRN_OK;
}
