/* SPDX-License-Identifier: MIT */
/*
 * Replacing a file: all of the new one, or all of the old one.
 *
 *     path --base/dest.h--> target = FOLDER/NAME, FOLDER held open
 *     open:    FOLDER/.NAME.cairn-XXXXXX is made and written
 *     commit:  fsync it, rename it over the target, fsync FOLDER
 *
 * All by names in the one descriptor of FOLDER, so that another user who renames a folder or plants
 * a link meanwhile does not choose where the file goes.
 *
 * Two runs on one target have a temporary file each; whoever renames last wins, whole.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dest.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"

enum { NAME_KEPT = 200, TRIES_MAX = 100 };

/* Bytes of the folder part of `path` with its last '/'; 0 where there is none. */
static size_t folder_size(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* May the target be what `mode` says? */
static int check_target(const struct cairn_replace *r, const struct cairn_dest *t,
                        struct cairn_err *err)
{
    if (!t->exists)
        return r->mode == CAIRN_REPLACE_IN_PLACE ? cairn_fail_os(err, ENOENT, "%s", r->target)
                                                 : CAIRN_OK;
    if (r->mode == CAIRN_REPLACE_NEVER) {
        cairn_fail(err, CAIRN_E_EXISTS, "%s: is there already", r->target);
        cairn_hint(err, "choose another name, or replace it with --force");
        return CAIRN_E_EXISTS;
    }
    if (!S_ISREG(t->st.st_mode)) {
        cairn_fail(err, CAIRN_E_ARG, "%s: is no regular file, and only those are replaced",
                   r->target);
        cairn_hint(err, "write to stdout with -o -");
        return CAIRN_E_ARG;
    }
    /* A rename asks only the folder; who made the file read-only meant it. */
    if (faccessat(r->folder, cairn_dest_name(t), W_OK, AT_EACCESS) < 0) {
        int code = cairn_fail_os(err, errno, "%s: may not be written", r->target);
        cairn_hint(err, "chmod u+w %s, or write elsewhere with -o", r->target);
        return code;
    }
    return CAIRN_OK;
}

/* FOLDER/.NAME.cairn-XXXXXX, long names cut to what a folder can hold. */
static char *temp_name(const char *target)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
    uint8_t random[6];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return NULL;
    char suffix[sizeof random + 1] = {0};
    for (size_t i = 0; i < sizeof random; i++)
        suffix[i] = letters[random[i] & 31];
    size_t size = folder_size(target);
    struct cairn_buffer text = {0};
    cairn_buffer_printf(&text, "%.*s.%.*s.cairn-%s", (int)size, target, NAME_KEPT, target + size,
                        suffix);
    if (text.failed)
        cairn_buffer_done(&text);
    return (char *)text.data;
}

static const char *temp_in_folder(const struct cairn_replace *r)
{
    return r->temp + folder_size(r->temp);
}

/* open() and not mkstemp(), so that a new file gets the mode that umask and the folder's default
 * ACL ask for; one that takes an old file's place is private until it has that file's mode. */
static int make_temp(struct cairn_replace *r, mode_t mode, struct cairn_err *err)
{
    int os_errno = EEXIST;
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        r->temp = temp_name(r->target);
        if (!r->temp)
            return cairn_fail_memory(err);
        r->fd = openat(r->folder, temp_in_folder(r),
                       O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
        if (r->fd >= 0)
            return CAIRN_OK;
        os_errno = errno;
        cairn_free(r->temp);
        r->temp = NULL;
        if (os_errno != EEXIST)
            break;
    }
    size_t size = folder_size(r->target);
    int code = cairn_fail_os(err, os_errno, "%s: cannot make a temporary file in %.*s", r->target,
                             (int)size, r->target);
    cairn_hint(err,
               os_errno == ENOSPC || os_errno == EDQUOT
                   ? "make room in %.*s, or write elsewhere with -o"
                   : "make %.*s writable, or write elsewhere with -o",
               (int)size, r->target);
    return code;
}

/* Takes over the owner where that is allowed, and notes the mode for the commit: the kernel takes
 * set-ID bits away with every write. They must not outlive a change of owner either. */
static void follow_old_file(struct cairn_replace *r, const struct stat *st)
{
    bool owned = fchown(r->fd, st->st_uid, st->st_gid) == 0;
    if (!owned) {
        int kept = fchown(r->fd, (uid_t)-1, st->st_gid);
        cairn_log(CAIRN_LOG_INFO, "%s: the new file cannot keep owner %u%s", r->target, st->st_uid,
                  kept < 0 ? " and its group" : "");
    }
    if (st->st_nlink > 1)
        cairn_log(CAIRN_LOG_WARNING, "%s: has %lu hard links; the other names keep the old file",
                  r->target, (unsigned long)st->st_nlink);
    r->has_old_mode = true;
    r->old_mode = st->st_mode & (owned ? 07777 : 0777);
}

int cairn_replace_open(const char *path, enum cairn_replace_mode mode,
                       struct cairn_replace *ret_replace, struct cairn_err *err)
{
    struct cairn_replace r = {.fd = -1, .mode = mode};
    struct cairn_dest t;
    int result = cairn_dest_find(path, &t, err);
    if (result < 0)
        return result;
    r.target = t.path;
    r.folder = t.folder;
    result = check_target(&r, &t, err);
    if (result == CAIRN_OK)
        result = make_temp(&r, t.exists ? 0600 : 0666, err);
    if (t.file >= 0)
        close(t.file);
    if (result < 0) {
        cairn_replace_drop(&r);
        return result;
    }
    if (t.exists)
        follow_old_file(&r, &t.st);
    *ret_replace = r;
    return CAIRN_OK;
}

/* The name must still be free. Old kernels and some file systems know no RENAME_NOREPLACE; a second
 * link fails in the same way where the name is taken. */
static int rename_to_new(int folder, const char *from, const char *to)
{
    enum { NO_REPLACE = 1 };
    if (syscall(SYS_renameat2, folder, from, folder, to, NO_REPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    if (linkat(folder, from, folder, to, 0) < 0)
        return -1;
    unlinkat(folder, from, 0);
    return 0;
}

static int rename_temp(const struct cairn_replace *r, struct cairn_err *err)
{
    const char *from = temp_in_folder(r), *to = r->target + folder_size(r->target);
    int renamed = r->mode == CAIRN_REPLACE_NEVER ? rename_to_new(r->folder, from, to)
                                                 : renameat(r->folder, from, r->folder, to);
    if (renamed == 0)
        return CAIRN_OK;
    if (errno == EEXIST) {
        cairn_fail(err, CAIRN_E_EXISTS, "%s: came into being meanwhile", r->target);
        cairn_hint(err, "choose another name, or replace it with --force");
        return CAIRN_E_EXISTS;
    }
    return cairn_fail_os(err, errno, "%s: cannot rename the temporary file to it", r->target);
}

/* The file is in place by now, so what goes wrong here is worth a warning and no more. */
static void sync_folder(const struct cairn_replace *r)
{
    int fd = openat(r->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool failed = fd >= 0 && fsync(fd) < 0 && errno != EINVAL;
    if (fd < 0 || failed)
        cairn_log(CAIRN_LOG_WARNING, "%.*s: cannot fsync the folder: %s",
                  (int)folder_size(r->target), r->target, strerror(errno));
    if (fd >= 0)
        close(fd);
}

static int sync_and_close(struct cairn_replace *r, struct cairn_err *err)
{
    int os_errno = 0;
    if ((r->has_old_mode && fchmod(r->fd, r->old_mode) < 0) ||
        (fsync(r->fd) < 0 && errno != EINVAL))
        os_errno = errno;
    if (close(r->fd) < 0 && !os_errno && errno != EINTR)
        os_errno = errno;
    r->fd = -1;
    if (!os_errno)
        return CAIRN_OK;
    int code = cairn_fail_os(err, os_errno, "%s: cannot write", r->target);
    if (os_errno == ENOSPC || os_errno == EDQUOT)
        cairn_hint(err, "make room on that disk, or write elsewhere with -o");
    return code;
}

int cairn_replace_rename(struct cairn_replace *r, const char *name, struct cairn_err *err)
{
    struct cairn_buffer text = {0};
    cairn_buffer_printf(&text, "%.*s%s", (int)folder_size(r->target), r->target,
                        name + folder_size(name));
    if (text.failed) {
        cairn_buffer_done(&text);
        return cairn_fail_memory(err);
    }
    cairn_free(r->target);
    r->target = (char *)text.data;
    return CAIRN_OK;
}

/* cairn_replace_unlink() may run in a signal handler at any moment. */
static void forget_temp(struct cairn_replace *r)
{
    char *temp = r->temp;
    r->temp = NULL;
    atomic_signal_fence(memory_order_seq_cst);
    cairn_free(temp);
}

int cairn_replace_commit(struct cairn_replace *r, struct cairn_err *err)
{
    int result = r->fd >= 0 ? sync_and_close(r, err) : CAIRN_OK;
    if (result == CAIRN_OK)
        result = rename_temp(r, err);
    if (result < 0)
        return result;
    forget_temp(r);
    sync_folder(r);
    return CAIRN_OK;
}

void cairn_replace_keep(struct cairn_replace *r)
{
    if (r->target) { /* all-zero has descriptors 0, which are not ours */
        if (r->fd >= 0)
            close(r->fd);
        close(r->folder);
    }
    forget_temp(r);
    cairn_free(r->target);
    *r = (struct cairn_replace){.fd = -1, .folder = -1};
}

void cairn_replace_unlink(const struct cairn_replace *r)
{
    if (r->temp)
        unlinkat(r->folder, temp_in_folder(r), 0);
}

void cairn_replace_drop(struct cairn_replace *r)
{
    cairn_replace_unlink(r);
    cairn_replace_keep(r);
}

int cairn_replace_fail(struct cairn_replace *r, int code, struct cairn_err *err)
{
    struct stat st;
    bool written = r->temp &&
                   fstatat(r->folder, temp_in_folder(r), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                   st.st_size > 0;
    if (!written) {
        cairn_replace_drop(r);
        return code;
    }
    size_t used = err ? strnlen(err->msg, sizeof err->msg - 1) : 0;
    if (err)
        snprintf(err->msg + used, sizeof err->msg - used, "; what was written is in %s", r->temp);
    cairn_replace_keep(r);
    return code;
}
