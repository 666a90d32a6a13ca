/* SPDX-License-Identifier: MIT */
/*
 * Foreign: files that a target chose. Their server may never answer (FUSE), what looks like a file
 * may be a pipe or a device. Every call here has a deadline (base/apart.h).
 */
#ifndef CAIRN_BASE_FOREIGN_H
#define CAIRN_BASE_FOREIGN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cairn/error.h>

#include "base/buffer.h"

/* A larger file on FUSE is not read, for its bytes are copied; nor is one beyond so many bytes of
 * all of them. */
enum { CAIRN_FOREIGN_COPY_MAX = 256000000, CAIRN_FOREIGN_COPIES_MAX = 1000000000 };

struct cairn_foreign_wish {
    const char *path; /* may be a link of /proc */
    const char *root; /* as of cairn_open_place_below(); NULL: none */
    int folder;       /* an open folder that `path` is resolved inside of; -1: none */
    bool is_strict;   /* in `folder`: no link on the way, and no other file mounted over it */
    uint64_t inode;   /* its lower half must be the file's; 0: any */
};

/*
 * A descriptor of a regular file whose mapping can be read without waiting for anybody: the file
 * itself, or where it lies on FUSE a copy of it in memory. CAIRN_E_MISSING, CAIRN_E_ACCESS,
 * CAIRN_E_FORMAT (no regular file, another inode), CAIRN_E_LIMIT (it did not answer in time, or is
 * too large to copy).
 */
int cairn_foreign_open(const struct cairn_foreign_wish *wish, int *ret_fd, struct cairn_err *err);

/* The same for a path, with no further wish. */
int cairn_foreign_open_path(const char *path, int *ret_fd, struct cairn_err *err);

/* Is this the copy of a file in memory? Its inode and times are those of the copy. */
bool cairn_foreign_is_copy(int fd);

/* stat(2), and cairn_open_is_guarded() unless that is NULL. 0 or a negative errno; -ETIMEDOUT: its
 * file system did not answer. For a strict wish -ELOOP and -ENOTDIR say that a link is on the way,
 * -EXDEV that another file is mounted there. */
int cairn_foreign_stat(const char *path, struct stat *ret_st, bool *ret_is_guarded);
int cairn_foreign_stat_of(const struct cairn_foreign_wish *wish, struct stat *ret_st,
                          bool *ret_is_guarded);

/* The first bytes of a regular file, CAIRN_FOREIGN_HEAD_MAX at most; returns how many. Nothing is
 * copied of a file on FUSE beyond them. */
enum { CAIRN_FOREIGN_HEAD_MAX = 64 };
size_t cairn_foreign_head(const char *path, void *out, size_t size);

/* cairn_file_slurp() of a file in /proc that the kernel makes of the target's memory or mappings:
 * cmdline, maps, smaps. */
int cairn_foreign_slurp(const char *path, size_t limit, struct cairn_buffer *ret_bytes,
                        struct cairn_err *err);

#endif /* CAIRN_BASE_FOREIGN_H */
