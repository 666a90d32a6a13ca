/* SPDX-License-Identifier: MIT */
/*
 * Replacing a file: all of the new one, or all of the old one.
 *
 *     path --symlinks--> target = FOLDER/NAME
 *     open:    FOLDER/.NAME.cairn-XXXXXX is made and written
 *     commit:  fsync it, rename it over the target, fsync FOLDER
 *
 * Two runs on one target have a temporary file each; whoever renames last wins, whole.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"

enum { LINKS_MAX = 40, NAME_KEPT = 200, TRIES_MAX = 100 };

/* Bytes of the folder part of `path` with its last '/'; 0 where there is none. */
static size_t folder_size(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* `text` with `size` bytes of `head` before it; false where that is longer than any path. */
static bool join(char out[PATH_MAX], const char *head, size_t size, const char *text)
{
    char joined[PATH_MAX];
    int needed = snprintf(joined, sizeof joined, "%.*s%s", (int)size, head, text);
    if (needed < 0 || needed >= PATH_MAX)
        return false;
    memcpy(out, joined, (size_t)needed + 1);
    return true;
}

/* A file that is not there yet: its folder must be. */
static int resolve_new(char path[PATH_MAX], struct cairn_err *err)
{
    size_t size = folder_size(path);
    const char *name = path + size;
    if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return cairn_fail(err, CAIRN_E_ARG, "%s: names a folder, expected a file", path);
    char folder[PATH_MAX], real[PATH_MAX];
    if (!join(folder, path, size, size ? "" : "."))
        return cairn_fail_os(err, ENAMETOOLONG, "%s", path);
    if (!realpath(folder, real)) {
        int code = cairn_fail_os(err, errno, "%s: folder %s", path, folder);
        cairn_hint(err, "make the folder first: mkdir -p %s", folder);
        return code;
    }
    size_t real_size = strlen(real);
    if (real[real_size - 1] != '/' && !join(real, real, real_size, "/"))
        return cairn_fail_os(err, ENAMETOOLONG, "%s", path);
    if (!join(path, real, strlen(real), name))
        return cairn_fail_os(err, ENAMETOOLONG, "%s", path);
    return CAIRN_OK;
}

/* Follows symlinks to where the file is, or would be. */
static int resolve(const char *path, char **ret_target, struct cairn_err *err)
{
    char now[PATH_MAX], real[PATH_MAX], link[PATH_MAX];
    if (!join(now, path, strlen(path), ""))
        return cairn_fail_os(err, ENAMETOOLONG, "%s", path);
    for (int hops = 0; !realpath(now, real); hops++) {
        if (errno != ENOENT || hops == LINKS_MAX)
            return cairn_fail_os(err, errno == ENOENT ? ELOOP : errno, "%s", path);
        ssize_t size = readlink(now, link, sizeof link - 1);
        if (size < 0) {
            int result = resolve_new(now, err);
            if (result < 0)
                return result;
            memcpy(real, now, sizeof real);
            break;
        }
        link[size] = 0;
        if (!join(now, now, link[0] == '/' ? 0 : folder_size(now), link))
            return cairn_fail_os(err, ENAMETOOLONG, "%s", path);
    }
    *ret_target = cairn_strdup(real);
    return *ret_target ? CAIRN_OK : cairn_fail_memory(err);
}

/* May the target be what `mode` says? `ret_exists` tells whether `ret_st` is filled. */
static int check_target(const struct cairn_replace *r, struct stat *ret_st, bool *ret_exists,
                        struct cairn_err *err)
{
    *ret_exists = stat(r->target, ret_st) == 0;
    if (!*ret_exists) {
        if (errno != ENOENT || r->mode == CAIRN_REPLACE_IN_PLACE)
            return cairn_fail_os(err, errno, "%s", r->target);
        return CAIRN_OK;
    }
    if (r->mode == CAIRN_REPLACE_NEVER) {
        cairn_fail(err, CAIRN_E_EXISTS, "%s: is there already", r->target);
        cairn_hint(err, "choose another name, or replace it with --force");
        return CAIRN_E_EXISTS;
    }
    if (!S_ISREG(ret_st->st_mode)) {
        cairn_fail(err, CAIRN_E_ARG, "%s: is no regular file, and only those are replaced",
                   r->target);
        cairn_hint(err, "write to stdout with -o -");
        return CAIRN_E_ARG;
    }
    /* A rename asks only the folder; who made the file read-only meant it. */
    if (faccessat(AT_FDCWD, r->target, W_OK, AT_EACCESS) < 0) {
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

/* open() and not mkstemp(), so that a new file gets the mode that umask and the folder's default
 * ACL ask for; one that takes an old file's place is private until it has that file's mode. */
static int make_temp(struct cairn_replace *r, mode_t mode, struct cairn_err *err)
{
    int os_errno = EEXIST;
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        r->temp = temp_name(r->target);
        if (!r->temp)
            return cairn_fail_memory(err);
        r->fd = open(r->temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
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
    struct stat st;
    bool exists = false;
    int result = resolve(path, &r.target, err);
    if (result == CAIRN_OK)
        result = check_target(&r, &st, &exists, err);
    if (result == CAIRN_OK)
        result = make_temp(&r, exists ? 0600 : 0666, err);
    if (result < 0) {
        cairn_replace_drop(&r);
        return result;
    }
    if (exists)
        follow_old_file(&r, &st);
    *ret_replace = r;
    return CAIRN_OK;
}

/* The name must still be free. Old kernels and some file systems know no RENAME_NOREPLACE; a second
 * link fails in the same way where the name is taken. */
static int rename_to_new(const char *from, const char *to)
{
    enum { NO_REPLACE = 1 };
    if (syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, NO_REPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    if (link(from, to) < 0)
        return -1;
    unlink(from);
    return 0;
}

static int rename_temp(const struct cairn_replace *r, struct cairn_err *err)
{
    int renamed = r->mode == CAIRN_REPLACE_NEVER ? rename_to_new(r->temp, r->target)
                                                 : rename(r->temp, r->target);
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
static void sync_folder(const char *target)
{
    char folder[PATH_MAX];
    if (!join(folder, target, folder_size(target), ""))
        return;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool unsupported = fd >= 0 && fsync(fd) < 0 && errno != EINVAL;
    if (fd < 0 || unsupported)
        cairn_log(CAIRN_LOG_WARNING, "%s: cannot fsync the folder: %s", folder, strerror(errno));
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

int cairn_replace_commit(struct cairn_replace *r, struct cairn_err *err)
{
    int result = sync_and_close(r, err);
    if (result == CAIRN_OK)
        result = rename_temp(r, err);
    if (result < 0)
        return result;
    cairn_free(r->temp);
    r->temp = NULL;
    sync_folder(r->target);
    return CAIRN_OK;
}

void cairn_replace_keep(struct cairn_replace *r)
{
    bool is_open = r->target && r->fd >= 0; /* all-zero has fd 0, which is not ours */
    if (is_open)
        close(r->fd);
    cairn_free(r->temp);
    cairn_free(r->target);
    *r = (struct cairn_replace){.fd = -1};
}

void cairn_replace_drop(struct cairn_replace *r)
{
    if (r->temp)
        unlink(r->temp);
    cairn_replace_keep(r);
}

int cairn_replace_fail(struct cairn_replace *r, int code, struct cairn_err *err)
{
    struct stat st;
    bool written = r->temp && stat(r->temp, &st) == 0 && st.st_size > 0;
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
