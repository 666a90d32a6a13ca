/* SPDX-License-Identifier: MIT */
/*
 * Opening a file whose path or links another user may have chosen.
 *
 *     path ──► O_PATH: nothing is opened yet ──► fstat: a regular file? ──► /proc/self/fd/N: read
 *
 * open(2) itself has effects on devices, pipes and files of the kernel: /dev/watchdog starts to
 * count, a read of /proc/kmsg takes the message away. So the file is looked at first, by a
 * descriptor that cannot change what it refers to.
 *
 * A path below /proc/PID/root is resolved inside of that root, as the process itself would: an
 * absolute link or ".." does not lead out, and links of procfs are not followed.
 */
#ifndef CAIRN_BASE_OPEN_H
#define CAIRN_BASE_OPEN_H

#include <stdbool.h>
#include <sys/stat.h>

/* An O_PATH descriptor of what `path` leads to. -1 and errno. */
int cairn_open_place(const char *path);

/* What else a path below a folder must not do. */
enum cairn_open_limits {
    CAIRN_OPEN_NO_LINKS = 1, /* ELOOP: a link on the way */
    CAIRN_OPEN_NO_MOUNTS = 2 /* EXDEV: a mount point on the way; before Linux 5.6 a bind mount of
                                the same file system is not noticed */
};

/* The same for a path below the folder `root`, which no link and no ".." leaves: openat2(2) with
 * RESOLVE_IN_ROOT and RESOLVE_NO_MAGICLINKS; before Linux 5.6 step by step. `limits` are of enum
 * cairn_open_limits. -1 and errno. */
int cairn_open_place_in(int root, const char *path, unsigned limits);

/* cairn_open_place() of a path that may begin with the text `root`, a folder that was named as the
 * root of another system: what follows is resolved inside of it. NULL: no such folder. */
int cairn_open_place_below(const char *root, const char *path);

/* stat(2) of what cairn_open_place() opens, and cairn_open_is_guarded() unless that is NULL. -1 and
 * errno. */
int cairn_open_stat(const char *path, struct stat *ret_st, bool *ret_is_guarded);

/* Opens what an O_PATH descriptor refers to, for O_RDONLY or O_RDWR. Without /proc it is opened by
 * `path`, if that leads to the same file; NULL: not then. EINVAL: it is not a regular file, or the
 * kernel makes it up as it is read (procfs, sysfs and the like). -1 and errno. */
int cairn_open_again(int place, const char *path, int access);

/* cairn_open_place() and cairn_open_again() to be read. -1 and errno. */
int cairn_open_regular(const char *path);

/* Is the file on a file system that the kernel makes up, such as procfs or sysfs? */
bool cairn_open_is_kernels(int fd);

/*
 * Can nobody but root and us have chosen the bytes of this file? It and all folders above it belong
 * to root or to us, and no other user can write them; in a folder with the sticky bit, such as
 * /tmp, others cannot replace what is not theirs. False where that cannot be seen, as for a file of
 * another mount namespace.
 */
bool cairn_open_is_guarded(int fd, const struct stat *st);

#endif /* CAIRN_BASE_OPEN_H */
