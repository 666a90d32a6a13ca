/* SPDX-License-Identifier: MIT */
#include "base/open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/path.h"

#ifndef SYS_openat2
#define SYS_openat2 437 /* one number on every CPU */
#endif

/* linux/openat2.h, which Debian 10 and older do not have. */
enum { NO_XDEV = 0x01, NO_MAGICLINKS = 0x02, NO_SYMLINKS = 0x04, IN_ROOT = 0x10 };
struct open_how {
    uint64_t flags, mode, resolve;
};

enum {
    LINK_BYTES = 64, /* /proc/self/fd/N */
    LINKS_MAX = 40,  /* as in the kernel */
    TRIES_MAX = 32,
    PLACE_FLAGS = O_PATH | O_CLOEXEC,
    FILE_FLAGS = O_CLOEXEC | O_NONBLOCK | O_NOCTTY
};

/* File systems whose files the kernel makes up: statfs(2), linux/magic.h. */
static const uint32_t kernels[] = {
    0x9fa0,     /* proc */
    0x62656572, /* sysfs */
    0x64626720, /* debugfs */
    0x74726163, /* tracefs */
    0x73636673, /* securityfs */
    0xf97cff8c, /* selinuxfs */
    0x43415d53, /* smackfs */
    0x0027e0eb, /* cgroup */
    0x63677270, /* cgroup2 */
    0x62656570, /* configfs */
    0x65735543, /* fusectl */
    0xde5e81e4, /* efivarfs */
    0x6165676c, /* pstore */
    0xcafe4a11, /* bpf */
    0x42494e4d, /* binfmt_misc */
    0x19800202, /* mqueue */
    0x1cd1,     /* devpts */
    0xabababab, /* vmwgfx, xenfs */
};

static int fail_closed(int fd, int os_errno)
{
    if (fd >= 0)
        close(fd);
    errno = os_errno;
    return -1;
}

/* Closes `fd`, and leaves errno to whom `result` is returned. */
static int keep_errno(int fd, int result)
{
    int os_errno = errno;
    close(fd);
    errno = os_errno;
    return result;
}

bool cairn_open_is_kernels(int fd)
{
    struct statfs fs;
    if (fstatfs(fd, &fs) < 0)
        return false;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if ((uint32_t)fs.f_type == kernels[i])
            return true;
    return false;
}

/* One path with what is left of it to walk, for kernels without openat2(2). */
struct steps {
    int root, at; /* `at` is owned unless it is `root` */
    unsigned n_links, limits;
    dev_t device; /* of the root: another one tells that a mount point was crossed */
    char rest[PATH_MAX];
    char walked[PATH_MAX]; /* folders from the root to `at`: ".." goes back by it */
};

static void go_to(struct steps *s, int fd)
{
    if (s->at != s->root)
        close(s->at);
    s->at = fd;
}

/* The rest of the path becomes `head`/rest. False: too long. */
static bool put_before(struct steps *s, const char *head)
{
    char joined[PATH_MAX];
    int needed = snprintf(joined, sizeof joined, "%s/%s", head, s->rest);
    if (needed < 0 || (size_t)needed >= sizeof joined) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(s->rest, joined, (size_t)needed + 1);
    return true;
}

/* From the root again, to the folder above: the kernel's ".." could lead out after a rename. */
static bool go_up(struct steps *s)
{
    char walked[PATH_MAX];
    char *slash = strrchr(s->walked, '/');
    if (slash)
        *slash = '\0';
    memcpy(walked, s->walked, sizeof walked);
    s->walked[0] = '\0';
    go_to(s, s->root);
    return put_before(s, walked);
}

static bool follow_link(struct steps *s, int link)
{
    char text[PATH_MAX];
    ssize_t size = readlinkat(link, "", text, sizeof text - 1);
    close(link);
    if (size < 0 || s->n_links++ == LINKS_MAX) {
        errno = size < 0 ? errno : ELOOP;
        return false;
    }
    text[size] = '\0';
    if (text[0] == '/') {
        go_to(s, s->root);
        s->walked[0] = '\0';
    }
    return put_before(s, text);
}

/* Takes the first name off the rest; "" where there is none. False: too long. */
static bool next_name(struct steps *s, char ret_name[NAME_MAX + 1])
{
    const char *from = s->rest + strspn(s->rest, "/");
    size_t size = strcspn(from, "/");
    if (size > NAME_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(ret_name, from, size);
    ret_name[size] = '\0';
    memmove(s->rest, from + size, strlen(from + size) + 1);
    return true;
}

/* What the limits say of a step to `st`; `size`: of its path. */
static int refusal(const struct steps *s, const struct stat *st, size_t size)
{
    if (S_ISLNK(st->st_mode))
        return s->limits & CAIRN_OPEN_NO_LINKS ? ELOOP : 0;
    if (st->st_dev != s->device && s->limits & CAIRN_OPEN_NO_MOUNTS)
        return EXDEV;
    return size > sizeof s->walked ? ENAMETOOLONG : 0;
}

static bool step(struct steps *s, const char *name)
{
    struct stat st;
    size_t used = strlen(s->walked);
    if (strcmp(name, ".") == 0)
        return true;
    if (strcmp(name, "..") == 0)
        return go_up(s);
    int fd = openat(s->at, name, PLACE_FLAGS | O_NOFOLLOW);
    int os_errno = fd < 0 || fstat(fd, &st) < 0 ? errno : refusal(s, &st, used + strlen(name) + 2);
    if (os_errno) {
        fail_closed(fd, os_errno);
        return false;
    }
    if (S_ISLNK(st.st_mode))
        return follow_link(s, fd);
    snprintf(s->walked + used, sizeof s->walked - used, "/%s", name);
    go_to(s, fd);
    return true;
}

/* A link of procfs is a text here, resolved below the root as any other. */
static int walk(int root, const char *path, unsigned limits)
{
    struct steps s = {.root = root, .at = root, .limits = limits};
    struct stat st;
    char name[NAME_MAX + 1];
    if (strlen(path) >= sizeof s.rest)
        return fail_closed(-1, ENAMETOOLONG);
    if (fstat(root, &st) < 0)
        return -1;
    s.device = st.st_dev;
    memcpy(s.rest, path, strlen(path) + 1);
    bool fine;
    while ((fine = next_name(&s, name)) && *name && (fine = step(&s, name)))
        ;
    if (!fine)
        return s.at == root ? -1 : keep_errno(s.at, -1);
    return s.at == root ? fcntl(root, F_DUPFD_CLOEXEC, 3) : s.at;
}

/* EAGAIN: something was renamed or mounted while the kernel followed a "..". */
static int open_how(int root, const char *path, uint64_t resolve)
{
    const struct open_how how = {.flags = PLACE_FLAGS, .resolve = resolve};
    int fd = -1;
    errno = EAGAIN;
    for (int i = 0; fd < 0 && errno == EAGAIN && i < TRIES_MAX; i++)
        fd = (int)syscall(SYS_openat2, root, path, &how, sizeof how);
    return fd;
}

/* Filters of containers that are older than the call say EPERM. */
static bool lacks_call(void)
{
    return errno == ENOSYS || errno == EPERM;
}

int cairn_open_place_in(int root, const char *path, unsigned limits)
{
    static bool told;
    uint64_t resolve = IN_ROOT | NO_MAGICLINKS;
    resolve |= limits & CAIRN_OPEN_NO_LINKS ? NO_SYMLINKS : 0;
    resolve |= limits & CAIRN_OPEN_NO_MOUNTS ? NO_XDEV : 0;
    int fd = open_how(root, path, resolve);
    if (fd >= 0 || !lacks_call())
        return fd;
    if (!told)
        cairn_log(CAIRN_LOG_INFO, "without openat2(2) (Linux 5.6): paths below another root are "
                                  "walked step by step");
    told = true;
    return walk(root, path, limits);
}

/* Bytes of "/proc/PID/root" before a path that goes on from there; 0: it is no such path. */
static size_t root_bytes(const char *path)
{
    static const char proc[] = "/proc/", root[] = "/root";
    size_t at = sizeof proc - 1;
    if (strncmp(path, proc, at) != 0)
        return 0;
    size_t digits = strspn(path + at, "0123456789");
    if (!digits && strncmp(path + at, "self", 4) == 0)
        digits = 4;
    at += digits;
    if (!digits || strncmp(path + at, root, sizeof root - 1) != 0)
        return 0;
    at += sizeof root - 1;
    return path[at] == '/' ? at : 0;
}

int cairn_open_place(const char *path)
{
    char prefix[LINK_BYTES];
    size_t size = root_bytes(path);
    if (!size || size >= sizeof prefix)
        return open(path, PLACE_FLAGS);
    memcpy(prefix, path, size);
    prefix[size] = '\0';
    int root = open(prefix, PLACE_FLAGS | O_DIRECTORY);
    if (root < 0)
        return -1;
    return keep_errno(root, cairn_open_place_in(root, path + size, 0));
}

int cairn_open_place_below(const char *root, const char *path)
{
    const char *behind = root ? cairn_path_behind(root, path) : NULL;
    if (!behind || root_bytes(path))
        return cairn_open_place(path);
    int folder = open(root, PLACE_FLAGS | O_DIRECTORY);
    return folder < 0 ? -1 : keep_errno(folder, cairn_open_place_in(folder, behind, 0));
}

int cairn_open_stat(const char *path, struct stat *ret_st, bool *ret_is_guarded)
{
    int place = cairn_open_place(path);
    if (place < 0)
        return -1;
    int result = fstat(place, ret_st);
    if (ret_is_guarded)
        *ret_is_guarded = result == 0 && cairn_open_is_guarded(place, ret_st);
    return keep_errno(place, result);
}

/* Only if the path still leads to the same file. */
static int open_same(const char *path, int place, int access)
{
    struct stat then, now;
    int fd = open(path, access | FILE_FLAGS);
    if (fd < 0)
        return -1;
    bool same = fstat(place, &then) == 0 && fstat(fd, &now) == 0 && then.st_dev == now.st_dev &&
                then.st_ino == now.st_ino;
    return same ? fd : fail_closed(fd, ENOENT);
}

int cairn_open_again(int place, const char *path, int access)
{
    char link[LINK_BYTES];
    struct stat st;
    if (fstat(place, &st) < 0)
        return -1;
    if (!S_ISREG(st.st_mode) || cairn_open_is_kernels(place))
        return fail_closed(-1, EINVAL);
    snprintf(link, sizeof link, "/proc/self/fd/%d", place);
    int fd = open(link, access | FILE_FLAGS);
    if (fd >= 0 || errno != ENOENT || !path)
        return fd;
    return open_same(path, place, access);
}

int cairn_open_regular(const char *path)
{
    int place = cairn_open_place(path);
    if (place < 0)
        return -1;
    int fd = cairn_open_again(place, path, O_RDONLY);
    return keep_errno(place, fd);
}

static bool is_trusted_owner(uid_t uid)
{
    return uid == 0 || uid == geteuid();
}

/* A folder that others cannot rename or replace what is not theirs in. */
static bool is_guarded_folder(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && is_trusted_owner(st.st_uid) &&
           (!(st.st_mode & (S_IWGRP | S_IWOTH)) || (st.st_mode & S_ISVTX));
}

/* All folders of an absolute path without links. The last one asked for is remembered: the files of
 * a module lie in few. */
static bool are_guarded_folders(const char *path)
{
    static _Thread_local char last[PATH_MAX];
    static _Thread_local bool last_was;
    char folder[PATH_MAX];
    size_t size = (size_t)(strrchr(path, '/') - path);
    if (size == strlen(last) && memcmp(last, path, size) == 0 && size)
        return last_was;
    memcpy(folder, path, size);
    folder[size] = '\0';
    bool fine = is_guarded_folder("/");
    for (char *at = folder + 1; fine && size && at;) {
        char *slash = strchr(at, '/');
        if (slash)
            *slash = '\0';
        fine = is_guarded_folder(folder);
        if (slash)
            *slash = '/';
        at = slash ? slash + 1 : NULL;
    }
    memcpy(last, path, size);
    last[size] = '\0';
    last_was = fine;
    return fine;
}

bool cairn_open_is_guarded(int fd, const struct stat *st)
{
    char link[LINK_BYTES], path[PATH_MAX];
    struct stat there;
    if (!is_trusted_owner(st->st_uid) || (st->st_mode & (S_IWGRP | S_IWOTH)))
        return false;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size <= 0 || path[0] != '/')
        return false;
    path[size] = '\0';
    /* The text is one of our own mount namespace only if it leads to the file. It is followed after
     * its folders were found to be guarded: no user's own mount lies on the way. */
    return are_guarded_folders(path) && lstat(path, &there) == 0 && there.st_dev == st->st_dev &&
           there.st_ino == st->st_ino;
}
