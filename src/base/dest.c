/* SPDX-License-Identifier: MIT */
#include "base/dest.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/file.h"
#include "base/open.h"

enum { LINKS_MAX = 40, PLACE_FLAGS = O_PATH | O_CLOEXEC };

/* One walk: the folder that it has reached, and what is left of the path. */
struct walk {
    const char *path; /* as it was given */
    int at;
    struct stat at_st;
    unsigned n_links;
    char rest[PATH_MAX];
    char name[NAME_MAX + 1]; /* the step that is taken; "" at the end */
    bool is_last;            /* no further step follows */
};

static int fail_walk(const struct walk *w, int os_errno, struct cairn_err *err)
{
    return cairn_fail_os(err, os_errno, "%s", w->path);
}

static int go_to(struct walk *w, int fd, struct cairn_err *err)
{
    if (fd < 0 || fstat(fd, &w->at_st) < 0) {
        int code = fail_walk(w, errno, err);
        if (fd >= 0)
            close(fd);
        return code;
    }
    if (w->at >= 0)
        close(w->at);
    w->at = fd;
    return CAIRN_OK;
}

/* The next name of the path. A slash behind the last one asks for a folder. */
static int take_name(struct walk *w, struct cairn_err *err)
{
    const char *from = w->rest + strspn(w->rest, "/");
    size_t size = strcspn(from, "/");
    if (size > NAME_MAX)
        return fail_walk(w, ENAMETOOLONG, err);
    memcpy(w->name, from, size);
    w->name[size] = '\0';
    w->is_last = !from[size];
    memmove(w->rest, from + size, strlen(from + size) + 1);
    if (!w->name[0] || (w->is_last && (!strcmp(w->name, ".") || !strcmp(w->name, ".."))))
        return cairn_fail(err, CAIRN_E_ARG, "%s: names a folder, expected a file", w->path);
    return CAIRN_OK;
}

/* All users may write there, and none may remove what is another's. */
static bool is_shared(const struct stat *folder)
{
    return (folder->st_mode & (S_ISVTX | S_IWOTH)) == (S_ISVTX | S_IWOTH);
}

static bool is_ours(const struct walk *w, uid_t uid)
{
    return uid == geteuid() || uid == w->at_st.st_uid;
}

/* Root's file of an earlier run under sudo was given to the caller. */
static bool is_callers(uid_t uid)
{
    unsigned caller;
    return geteuid() == 0 && cairn_file_env_id("SUDO_UID", &caller) && caller == uid;
}

static int refuse(const struct walk *w, const char *what, uid_t uid, struct cairn_err *err)
{
    cairn_fail(err, CAIRN_E_ACCESS,
               "%s: %s in a folder that all users may write belongs to uid %u, expected uid %u",
               w->path, what, uid, geteuid());
    cairn_hint(err, "write elsewhere with -o, or remove it if it is yours to remove");
    return CAIRN_E_ACCESS;
}

/* What a link of procfs leads to need not have a path, as the pipe behind /dev/stdout. */
static int follow_kernels_link(struct walk *w, struct cairn_dest *t, bool *ret_found,
                               struct cairn_err *err)
{
    struct stat st;
    int fd = openat(w->at, w->name, PLACE_FLAGS);
    *ret_found = false;
    if (fd < 0 || fstat(fd, &st) < 0 || S_ISREG(st.st_mode)) {
        if (fd >= 0)
            close(fd);
        return CAIRN_OK; /* by its text */
    }
    if (S_ISDIR(st.st_mode) && !w->is_last) {
        *ret_found = true;
        return go_to(w, fd, err);
    }
    t->file = fd;
    t->st = st;
    t->exists = *ret_found = true;
    return CAIRN_OK;
}

static int follow_text(struct walk *w, int link, struct cairn_err *err)
{
    char text[PATH_MAX], joined[PATH_MAX];
    ssize_t size = readlinkat(link, "", text, sizeof text - 1);
    if (size < 0)
        return fail_walk(w, errno, err);
    text[size] = '\0';
    int needed = snprintf(joined, sizeof joined, "%s%s", text, w->rest);
    if (needed < 0 || (size_t)needed >= sizeof joined)
        return fail_walk(w, ENAMETOOLONG, err);
    memcpy(w->rest, joined, (size_t)needed + 1);
    return text[0] == '/' ? go_to(w, open("/", PLACE_FLAGS | O_DIRECTORY), err) : CAIRN_OK;
}

/* In a shared folder the file that the link names must be there, and stay what it is. */
static int check_link(const struct walk *w, const struct stat *link, struct cairn_err *err)
{
    if (!is_shared(&w->at_st))
        return CAIRN_OK;
    if (!is_ours(w, link->st_uid))
        return refuse(w, "a symbolic link", link->st_uid, err);
    int fd = openat(w->at, w->name, PLACE_FLAGS);
    if (fd < 0) {
        cairn_fail(err, CAIRN_E_ACCESS,
                   "%s: a symbolic link in a folder that all users may write leads to no file",
                   w->path);
        cairn_hint(err, "write elsewhere with -o, or remove the link");
        return CAIRN_E_ACCESS;
    }
    close(fd);
    return CAIRN_OK;
}

/* `fd` is the link, and is closed. */
static int follow(struct walk *w, int fd, const struct stat *link, struct cairn_dest *t,
                  struct cairn_err *err)
{
    bool found = false;
    int code = w->n_links++ == LINKS_MAX ? fail_walk(w, ELOOP, err) : check_link(w, link, err);
    if (code == CAIRN_OK && cairn_open_is_kernels(w->at))
        code = follow_kernels_link(w, t, &found, err);
    if (code == CAIRN_OK && !found)
        code = follow_text(w, fd, err);
    close(fd);
    return code;
}

static int fail_missing(const struct walk *w, struct cairn_err *err)
{
    if (!w->rest[strspn(w->rest, "/")])
        return cairn_fail(err, CAIRN_E_ARG, "%s: names a folder, expected a file", w->path);
    int code = cairn_fail_os(err, ENOENT, "%s: folder %s", w->path, w->name);
    int size = (int)(strrchr(w->path, '/') ? strrchr(w->path, '/') - w->path : 0);
    if (size && !w->n_links)
        cairn_hint(err, "make the folder first: mkdir -p %.*s", size, w->path);
    else
        cairn_hint(err, "make the folder first: mkdir -p");
    return code;
}

static int take_file(struct walk *w, int fd, const struct stat *st, struct cairn_dest *t,
                     struct cairn_err *err)
{
    t->file = fd;
    t->st = *st;
    t->exists = true;
    if (!is_shared(&w->at_st) || S_ISDIR(st->st_mode) || is_ours(w, st->st_uid) ||
        (S_ISREG(st->st_mode) && is_callers(st->st_uid)))
        return CAIRN_OK;
    return refuse(w, S_ISREG(st->st_mode) ? "a file" : "a pipe or a device", st->st_uid, err);
}

/* One step; `*ret_over` once the target is known. */
static int step(struct walk *w, struct cairn_dest *t, bool *ret_over, struct cairn_err *err)
{
    struct stat st;
    int code = take_name(w, err);
    if (code < 0 || strcmp(w->name, ".") == 0)
        return code;
    int fd = openat(w->at, w->name, PLACE_FLAGS | O_NOFOLLOW);
    *ret_over = w->is_last && (fd >= 0 || errno == ENOENT);
    if (fd < 0 && *ret_over)
        return CAIRN_OK;
    if (fd < 0)
        return errno == ENOENT ? fail_missing(w, err) : fail_walk(w, errno, err);
    if (fstat(fd, &st) < 0) {
        code = fail_walk(w, errno, err);
        close(fd);
        return code;
    }
    if (S_ISLNK(st.st_mode)) {
        code = follow(w, fd, &st, t, err);
        *ret_over = t->exists;
        return code;
    }
    if (w->is_last)
        return take_file(w, fd, &st, t, err);
    if (S_ISDIR(st.st_mode))
        return go_to(w, fd, err);
    close(fd);
    return fail_walk(w, ENOTDIR, err);
}

/* The folder's path as the kernel knows it; without /proc, as it was given. */
static int name_dest(struct walk *w, struct cairn_dest *t, struct cairn_err *err)
{
    char link[64], folder[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", w->at);
    ssize_t size = readlink(link, folder, sizeof folder - 1);
    struct cairn_buffer text = {0};
    if (size > 0) {
        folder[size] = '\0';
        cairn_buffer_printf(&text, "%s%s", folder, size > 1 ? "/" : "");
    } else if (strrchr(w->path, '/')) {
        cairn_buffer_add(&text, w->path, (size_t)(strrchr(w->path, '/') - w->path) + 1);
    }
    t->name_at = text.size;
    cairn_buffer_str(&text, w->name);
    t->path = text.failed ? NULL : cairn_strdup(cairn_buffer_text(&text));
    cairn_buffer_done(&text);
    return t->path ? CAIRN_OK : cairn_fail_memory(err);
}

int cairn_dest_find(const char *path, struct cairn_dest *ret_dest, struct cairn_err *err)
{
    struct walk w = {.path = path, .at = -1};
    struct cairn_dest t = {.folder = -1, .file = -1};
    bool over = false;
    if (strlen(path) >= sizeof w.rest)
        return fail_walk(&w, ENAMETOOLONG, err);
    memcpy(w.rest, path, strlen(path) + 1);
    int code = go_to(&w, open(path[0] == '/' ? "/" : ".", PLACE_FLAGS | O_DIRECTORY), err);
    while (code == CAIRN_OK && !over)
        code = step(&w, &t, &over, err);
    if (code == CAIRN_OK)
        code = name_dest(&w, &t, err);
    t.folder = w.at;
    if (code < 0)
        cairn_dest_done(&t);
    else
        *ret_dest = t;
    return code;
}

const char *cairn_dest_name(const struct cairn_dest *target)
{
    return target->path + target->name_at;
}

void cairn_dest_done(struct cairn_dest *target)
{
    if (target->folder >= 0)
        close(target->folder);
    if (target->file >= 0)
        close(target->file);
    cairn_free(target->path);
    *target = (struct cairn_dest){.folder = -1, .file = -1};
}
