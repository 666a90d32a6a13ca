/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "heap/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rt/btrfs.h"
#include "rt/sys.h"

enum {
    HIGH_FD = 900, /* programs count on low numbers, and select(2) ends at 1,024 */
    MAX_PROGRAMS = 10000,
    PUNCH = 2 | 1, /* FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE of <linux/falloc.h> */
    STAT_BYTES = 1024,
    STAT_FIELD = 22
};

/* Puts `text` at `*at`, false if it does not fit with a zero behind. */
static bool put(char path[CAIRN_HEAP_PATH], size_t *at, const char *text)
{
    for (; *text; text++) {
        if (*at + 1 >= CAIRN_HEAP_PATH)
            return false;
        path[(*at)++] = *text;
    }
    path[*at] = 0;
    return true;
}

static bool put_number(char path[CAIRN_HEAP_PATH], size_t *at, uint64_t number)
{
    char digits[21];
    size_t first = sizeof(digits) - 1;
    digits[first] = 0;
    do
        digits[--first] = (char)('0' + number % 10);
    while (number /= 10);
    return put(path, at, digits + first);
}

bool cairn_heap_file_name(char path[CAIRN_HEAP_PATH], const char *dir, uint64_t start_ticks,
                          uint32_t number)
{
    size_t at = 0;
    return put(path, &at, dir) && put(path, &at, "/") &&
           put_number(path, &at, (uint64_t)getpid()) && put(path, &at, "-") &&
           put_number(path, &at, start_ticks) &&
           (number == 0 || (put(path, &at, ".") && put_number(path, &at, number))) &&
           put(path, &at, ".heap");
}

/* Behind the program's name, which may hold anything, but ends at the last parenthesis. */
uint64_t cairn_heap_file_start_ticks(const char *stat_path)
{
    char text[STAT_BYTES];
    long n = cairn_sys_read_file(stat_path, text, sizeof(text));
    long at = n - 1;
    while (at >= 0 && text[at] != ')')
        at--;
    for (int field = 2; at >= 0 && at < n && field < STAT_FIELD; at++)
        field += text[at] == ' ';
    uint64_t ticks = 0;
    for (; at >= 0 && at < n && text[at] >= '0' && text[at] <= '9'; at++)
        ticks = ticks * 10 + (uint64_t)(text[at] - '0');
    return ticks;
}

bool cairn_heap_file_may_make(const char *dir)
{
    struct cairn_sys_stat found;
    return cairn_sys_stat_path(dir, &found) == 0 && S_ISDIR(found.mode) &&
           found.uid == cairn_sys_uid() && (found.mode & 077) == 0;
}

bool cairn_heap_file_make(struct cairn_heap_file *file, const char *dir, uint64_t start_ticks,
                          uint32_t *ret_before)
{
    int fd = -EEXIST;
    uint32_t n = 0;
    if (!cairn_heap_file_may_make(dir))
        return false;
    for (; fd == -EEXIST && n < MAX_PROGRAMS; n++)
        fd = cairn_heap_file_name(file->path, dir, start_ticks, n)
                 ? cairn_sys_open(file->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600)
                 : -ENAMETOOLONG;
    struct cairn_sys_stat found;
    if (fd < 0 || cairn_sys_stat_fd(fd, &found) != 0)
        return false;
    if (!cairn_btrfs_write_in_place(fd)) {
        cairn_sys_unlink(file->path);
        cairn_sys_close(fd);
        return false;
    }
    file->fd = cairn_sys_move(fd, HIGH_FD);
    file->dev = found.dev;
    file->ino = found.ino;
    *ret_before = n - 1;
    return true;
}

int cairn_heap_file_copy_begin(const char *dir, uint64_t bytes)
{
    if (bytes > cairn_sys_limit(RLIMIT_FSIZE) || !cairn_heap_file_may_make(dir))
        return -1;
    int fd = cairn_sys_open(dir, O_RDWR | O_TMPFILE, 0600);
    if (fd >= 0)
        (void)cairn_btrfs_write_in_place(fd);
    return fd < 0 ? -1 : cairn_sys_move(fd, HIGH_FD);
}

bool cairn_heap_file_copy(int fd, const void *from, uint64_t off, uint64_t bytes)
{
    enum { PIECE = 1 << 20 };
    if (!from)
        return cairn_sys_write_zeros(fd, off, bytes) == 0;
    (void)cairn_sys_fallocate(fd, 0, off, bytes);
    for (uint64_t at = 0; at < bytes;) {
        size_t n = bytes - at < PIECE ? (size_t)(bytes - at) : PIECE;
        long done = cairn_sys_write_at(fd, (const char *)from + at, n, off + at);
        if (done <= 0)
            return false;
        at += (uint64_t)done;
    }
    return true;
}

/* proc(5): what that links to is the file itself. */
static bool link_to(int fd, const char *path)
{
    char of_fd[CAIRN_HEAP_PATH];
    size_t at = 0;
    return put(of_fd, &at, "/proc/self/fd/") && put_number(of_fd, &at, (uint64_t)fd) &&
           cairn_sys_link(of_fd, path) == 0;
}

bool cairn_heap_file_adopt(struct cairn_heap_file *file, int fd, const char *dir,
                           uint64_t start_ticks)
{
    struct cairn_sys_stat found;
    bool done = false;
    for (uint32_t n = 0; !done && n < MAX_PROGRAMS; n++) {
        if (!cairn_heap_file_name(file->path, dir, start_ticks, n))
            return false;
        done = link_to(fd, file->path);
        if (!done && cairn_sys_stat_path(file->path, &found) != 0)
            return false; /* it is not that there is one */
    }
    if (!done || cairn_sys_stat_fd(fd, &found) != 0)
        return false;
    file->fd = fd;
    file->dev = found.dev;
    file->ino = found.ino;
    return true;
}

void cairn_heap_file_close(int fd)
{
    cairn_sys_close(fd);
}

static bool is_it(const struct cairn_heap_file *file, int fd)
{
    struct cairn_sys_stat found;
    return fd >= 0 && cairn_sys_stat_fd(fd, &found) == 0 && found.dev == file->dev &&
           found.ino == file->ino;
}

int cairn_heap_file_fd(struct cairn_heap_file *file)
{
    if (is_it(file, file->fd))
        return file->fd;
    int fd = cairn_sys_open(file->path, O_RDWR | O_NOFOLLOW, 0);
    if (fd < 0)
        return -1;
    if (!is_it(file, fd)) {
        cairn_sys_close(fd);
        return -1;
    }
    file->fd = cairn_sys_move(fd, HIGH_FD);
    return file->fd;
}

bool cairn_heap_file_grow(struct cairn_heap_file *file, uint64_t off, uint64_t bytes)
{
    /* Beyond the limit comes SIGXFSZ. */
    if (off + bytes > cairn_sys_limit(RLIMIT_FSIZE))
        return false;
    int fd = cairn_heap_file_fd(file);
    if (fd < 0)
        return false;
    long got = cairn_sys_fallocate(fd, 0, off, bytes);
    if (got == -EOPNOTSUPP || got == -ENOSYS)
        got = cairn_sys_write_zeros(fd, off, bytes);
    return got == 0;
}

bool cairn_heap_file_shrink(struct cairn_heap_file *file, uint64_t off, uint64_t bytes)
{
    int fd = cairn_heap_file_fd(file);
    return fd >= 0 && cairn_sys_fallocate(fd, PUNCH, off, bytes) == 0;
}
