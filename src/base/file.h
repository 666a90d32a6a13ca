/* SPDX-License-Identifier: MIT */
/* Files: mapped to be read, replaced whole or not at all. */
#ifndef CAIRN_BASE_FILE_H
#define CAIRN_BASE_FILE_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include <cairn/error.h>

#include "base/buffer.h"

/* A file mapped to be read. The mapping is registered with the guard below. */
struct cairn_file {
    struct cairn_span bytes;
    struct cairn_span mapping; /* all of the file, where `bytes` was narrowed to a part of it */
    void *owned;               /* `bytes`, where they were made out of those; NULL: mapped */
    /* Identity, for a caller that caches. */
    uint64_t dev, inode, mtime_ns, ctime_ns;
    uint32_t uid;
    bool is_guarded; /* nobody but root and us can have chosen its bytes: base/open.h */
    bool is_copy;    /* in memory: the identity above is only that of this copy */
};

/* Nanoseconds since 1970. */
static inline uint64_t cairn_time_ns(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

/* Regular files only; an empty file gives an empty span. A device, a pipe or a file that the kernel
 * makes up is not even opened: CAIRN_E_FORMAT, as for a folder. In a command that looks at
 * processes a target may have chosen the path: then with a deadline, as base/foreign.h does.
 * CAIRN_E_MISSING, CAIRN_E_ACCESS, CAIRN_E_IO. */
int cairn_file_open(const char *path, struct cairn_file *ret_file, struct cairn_err *err);

/* The same where the path may begin with `root`, the root of another system: links do not lead out
 * of it. NULL: there is no such folder. */
int cairn_file_open_below(const char *root, const char *path, struct cairn_file *ret_file,
                          struct cairn_err *err);
int cairn_file_open_fd(int fd, const char *who, struct cairn_file *ret_file, struct cairn_err *err);
/* stat(2), with the same care; false: errno says why. */
bool cairn_file_stat(const char *path, struct stat *ret_st);
/* The same, and whether nobody else can have chosen its bytes (base/open.h). */
bool cairn_file_stat_guarded(const char *path, struct stat *ret_st, bool *ret_is_guarded);
void cairn_file_close(struct cairn_file *file); /* all-zero is fine */

/*
 * A mapped file that someone else truncates raises SIGBUS on the next touch. Once a program (the
 * command, never the library on its own) has called this, such a page reads as zeros instead, and
 * cairn_file_was_cut() tells. A SIGBUS outside our mappings goes to whoever handled it before.
 */
int cairn_file_guard(struct cairn_err *err);
bool cairn_file_was_cut(const struct cairn_file *file);
bool cairn_file_any_cut(void); /* was any so far? One load, for those who ask at every turn */

/* The whole of a file or a pipe into memory, at most `limit` bytes (beyond: CAIRN_E_LIMIT). For
 * small files and those in /proc, which have no size. */
int cairn_file_slurp(const char *path, size_t limit, struct cairn_buffer *ret_bytes,
                     struct cairn_err *err);

/* The same for a file whose path the caller did not choose: regular files alone, as in
 * cairn_file_open(). */
int cairn_file_slurp_regular(const char *path, size_t limit, struct cairn_buffer *ret_bytes,
                             struct cairn_err *err);

/* Says that bytes of a mapped file, [off, off + size) of them, will be read soon, so that the disk
 * fetches what is not in memory yet while other things are done; what lies outside is cut off. */
void cairn_file_will_need(struct cairn_span bytes, uint64_t off, uint64_t size);

/* Says that a part of a mapped file was read and is not needed soon: the process gives its memory
 * back. The bytes can be read as before; those of a copy in memory stay. */
void cairn_file_was_read(const struct cairn_file *file, struct cairn_span part);

/* All `size` bytes to `fd`, through short writes and EINTR. */
int cairn_write_all(int fd, const void *bytes, size_t size, const char *who, struct cairn_err *err);

enum cairn_replace_mode {
    CAIRN_REPLACE_NEVER,   /* the target must not exist: CAIRN_E_EXISTS, also at the commit */
    CAIRN_REPLACE_FORCE,   /* an existing target is replaced */
    CAIRN_REPLACE_IN_PLACE /* the target must exist */
};

/*
 * A file that appears whole or not at all: a temporary file in the target's own folder (a symlink
 * is followed first, if base/dest.h allows it), then fsync, rename, fsync of the folder. Where
 * there was a file, its mode and, if allowed, its owner are kept; a file that may not be written is
 * not replaced either. After an error the target is as it was; the temporary file stays and the
 * error names it once anything was written, for it may be all that is left of hours of work;
 * cairn_replace_drop() removes it.
 */
struct cairn_replace {
    int fd;       /* write here */
    int folder;   /* of target and temp */
    char *target; /* symlinks resolved */
    char *temp;
    enum cairn_replace_mode mode;
    bool has_old_mode; /* there was a file: the new one gets its mode at the commit */
    mode_t old_mode;
};

int cairn_replace_open(const char *path, enum cairn_replace_mode mode,
                       struct cairn_replace *ret_replace, struct cairn_err *err);
/* After CAIRN_E_EXISTS the temporary file is there still, written and synced: it may be committed
 * under another name. */
int cairn_replace_commit(struct cairn_replace *r, struct cairn_err *err);
/* Another name in the target's folder, for what is not committed yet. The last part of `name`
 * counts. On failure the name stays. */
int cairn_replace_rename(struct cairn_replace *r, const char *name, struct cairn_err *err);

/* Removes the temporary file and frees; after a commit it only frees. All-zero is fine. */
void cairn_replace_drop(struct cairn_replace *r);

/* Removes the temporary file and does no more. Signal-safe. */
void cairn_replace_unlink(const struct cairn_replace *r);

/* Frees, but leaves the temporary file where it is. */
void cairn_replace_keep(struct cairn_replace *r);

/* What to do after a failure between open and commit, or of the commit: keeps the temporary file
 * and names it in `err` where anything was written, else removes it. Frees; returns `code`. */
int cairn_replace_fail(struct cairn_replace *r, int code, struct cairn_err *err);

/* The value of an environment variable, such as SUDO_UID, as an ID; false where it is none. */
bool cairn_file_env_id(const char *name, unsigned *ret_id);

/* Under sudo, the caller is the owner of what we write: chowns to SUDO_UID and SUDO_GID where
 * geteuid() is 0 and both are set. */
int cairn_file_give_to_caller(int fd, const char *who, struct cairn_err *err);

#endif /* CAIRN_BASE_FILE_H */
