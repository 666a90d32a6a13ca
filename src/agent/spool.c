/* SPDX-License-Identifier: MIT */
/*
 * Spool: a folder of windows.
 *
 *     running        locked by the writer, with its pid in it; empty once it was closed
 *     .NAME.cairn-*  a window that is being written
 *     NAME           a window
 *
 * Other files in the folder are left alone.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/window_name.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/own_folder.h"

enum {
    WINDOWS_MAX = 1 << 20,
    FOLDER_LEVELS = 3,
    PATH_BYTES = 4096,
    FILE_MODE = 0600,
    LOCK_TRIES = 20,
    LOCK_PAUSE_US = 20000
};
static const char running[] = "running";

struct cairn_spool {
    char *folder;
    int fd;
    int running_fd; /* -1: nobody has ever written there */
    bool writes, was_cut;
    uint64_t next; /* number of the next window */
    struct cairn_window *windows;
    size_t n, cap;
};

static int fail_here(const struct cairn_spool *s, const char *what, struct cairn_err *err)
{
    return cairn_fail_os(err, errno, "%s: %s", s->folder, what);
}

/* Only what a writer of ours can have begun: ".0000000042-...pb.gz.cairn-XXXXXX". */
static bool is_half(const char *name)
{
    return name[0] == '.' && name[1] >= '0' && name[1] <= '9' && strstr(name, ".cairn-");
}

static int add_one(struct cairn_spool *s, const char *name)
{
    struct cairn_window window;
    struct stat st;
    if (!cairn_window_name_read(name, &window) ||
        fstatat(s->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
        return CAIRN_OK;
    if (s->n >= WINDOWS_MAX)
        return CAIRN_E_LIMIT;
    if (cairn_grow((void **)&s->windows, &s->cap, s->n + 1, sizeof *s->windows) < 0)
        return CAIRN_E_NOMEM;
    window.bytes = (uint64_t)st.st_size;
    s->windows[s->n++] = window;
    return CAIRN_OK;
}

static int compare(const void *left, const void *right)
{
    const struct cairn_window *a = left, *b = right;
    return a->number < b->number ? -1 : a->number > b->number;
}

static DIR *open_list(const struct cairn_spool *s)
{
    int fd = openat(s->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    if (!list && fd >= 0)
        close(fd);
    return list;
}

int cairn_spool_list(struct cairn_spool *s, const struct cairn_window **ret_windows, size_t *ret_n,
                     struct cairn_err *err)
{
    DIR *list = open_list(s);
    const struct dirent *entry;
    int code = CAIRN_OK;
    if (!list)
        return fail_here(s, "cannot be read", err);
    s->n = 0;
    while (code == CAIRN_OK && (entry = readdir(list)))
        code = add_one(s, entry->d_name);
    closedir(list);
    if (code == CAIRN_E_LIMIT)
        return cairn_fail(err, code, "%s: more than %d windows", s->folder, WINDOWS_MAX);
    if (code < 0)
        return cairn_fail_memory(err);
    if (s->n)
        qsort(s->windows, s->n, sizeof *s->windows, compare);
    *ret_windows = s->windows;
    *ret_n = s->n;
    return CAIRN_OK;
}

static void remove_half_files(const struct cairn_spool *s)
{
    DIR *list = open_list(s);
    const struct dirent *entry;
    while (list && (entry = readdir(list)))
        if (is_half(entry->d_name))
            (void)unlinkat(s->fd, entry->d_name, 0);
    if (list)
        closedir(list);
}

/* What a writer before this one left. */
static int take_up(struct cairn_spool *s, struct cairn_err *err)
{
    const struct cairn_window *windows;
    struct stat st;
    size_t n;
    remove_half_files(s);
    s->was_cut = fstat(s->running_fd, &st) == 0 && st.st_size > 0;
    int code = cairn_spool_list(s, &windows, &n, err);
    for (size_t i = 0; code == CAIRN_OK && i < n; i++) {
        struct cairn_window window = windows[i];
        s->next = window.number + 1;
        if (window.state == CAIRN_WINDOW_SENDING)
            (void)cairn_spool_mark(s, &window, CAIRN_WINDOW_DOUBT, NULL);
    }
    if (code == CAIRN_OK &&
        (ftruncate(s->running_fd, 0) < 0 || dprintf(s->running_fd, "%d\n", (int)getpid()) < 0))
        s->was_cut = true; /* the disk is full: the next one cannot know either */
    return code;
}

static int lock(struct cairn_spool *s, struct cairn_err *err)
{
    const int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_APPEND;
    s->running_fd = openat(s->fd, running, flags, FILE_MODE);
    if (s->running_fd < 0)
        return fail_here(s, "cannot be written", err);
    for (int i = 0; i < LOCK_TRIES; i++) { /* a reader holds it for a moment, to see it */
        if (flock(s->running_fd, LOCK_EX | LOCK_NB) == 0)
            return CAIRN_OK;
        (void)usleep(LOCK_PAUSE_US);
    }
    cairn_fail(err, CAIRN_E_ACCESS, "%s: pid %d writes there already", s->folder,
               cairn_spool_writer(s));
    cairn_hint(err, "stop it, or give another folder");
    return CAIRN_E_ACCESS;
}

/* A reader may be another user, such as root: whose folder it is matters to a writer alone. */
static int open_folder(struct cairn_spool *s, struct cairn_err *err)
{
    if (s->writes)
        return cairn_own_folder_open(s->folder, FOLDER_LEVELS, &s->fd, err);
    s->fd = open(s->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->fd < 0)
        return cairn_fail_os(err, errno, "%s", s->folder);
    s->running_fd = openat(s->fd, running, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    return CAIRN_OK;
}

int cairn_spool_open(const char *folder, int writes, struct cairn_spool **ret_spool,
                     struct cairn_err *err)
{
    struct cairn_spool *s = cairn_alloc(1, sizeof *s);
    if (!s)
        return cairn_fail_memory(err);
    s->fd = s->running_fd = -1;
    s->writes = writes != 0;
    s->folder = strdup(folder);
    int code = s->folder ? open_folder(s, err) : cairn_fail_memory(err);
    if (code == CAIRN_OK && writes)
        code = lock(s, err);
    if (code == CAIRN_OK && writes)
        code = take_up(s, err);
    if (code < 0) {
        s->writes = false;
        cairn_spool_close(s);
        return code;
    }
    *ret_spool = s;
    return CAIRN_OK;
}

void cairn_spool_close(struct cairn_spool *s)
{
    if (!s)
        return;
    if (s->writes)
        (void)!ftruncate(s->running_fd, 0);
    if (s->running_fd >= 0)
        close(s->running_fd);
    if (s->fd >= 0)
        close(s->fd);
    cairn_free(s->windows);
    free(s->folder);
    cairn_free(s);
}

void cairn_spool_leave(struct cairn_spool *s)
{
    s->writes = false;
    cairn_spool_close(s);
}

int cairn_spool_was_cut(const struct cairn_spool *s)
{
    return s->was_cut;
}

int cairn_spool_writer(const struct cairn_spool *s)
{
    char text[16] = "";
    if (s->running_fd < 0)
        return 0;
    if (!s->writes && flock(s->running_fd, LOCK_SH | LOCK_NB) == 0) {
        flock(s->running_fd, LOCK_UN);
        return 0;
    }
    ssize_t size = pread(s->running_fd, text, sizeof text - 1, 0);
    int pid = size > 0 ? atoi(text) : 0;
    return pid > 0 ? pid : 0;
}

int cairn_spool_path(const struct cairn_spool *s, const struct cairn_window *window, char *buf,
                     size_t size)
{
    char name[CAIRN_WINDOW_NAME_BYTES];
    cairn_window_name(window, name);
    return snprintf(buf, size, "%s/%s", s->folder, name);
}

int cairn_spool_add(struct cairn_spool *s, struct cairn_window *window, const void *bytes,
                    struct cairn_err *err)
{
    struct cairn_replace replace;
    char path[PATH_BYTES];
    window->number = s->next;
    if (cairn_spool_path(s, window, path, sizeof path) >= (int)sizeof path)
        return cairn_fail(err, CAIRN_E_LIMIT, "%.200s...: the path is too long", s->folder);
    int code = cairn_replace_open(path, CAIRN_REPLACE_NEVER, &replace, err);
    if (code < 0)
        return code;
    code = cairn_write_all(replace.fd, bytes, (size_t)window->bytes, path, err);
    if (code == CAIRN_OK)
        code = cairn_replace_commit(&replace, err);
    cairn_replace_drop(&replace);
    s->next += code == CAIRN_OK;
    return code;
}

int cairn_spool_mark(struct cairn_spool *s, struct cairn_window *window,
                     enum cairn_window_state state, struct cairn_err *err)
{
    char from[CAIRN_WINDOW_NAME_BYTES], to[CAIRN_WINDOW_NAME_BYTES];
    struct cairn_window marked = *window;
    marked.state = state;
    cairn_window_name(window, from);
    cairn_window_name(&marked, to);
    if (renameat(s->fd, from, s->fd, to) < 0)
        return cairn_fail_os(err, errno, "%s/%s", s->folder, from);
    *window = marked;
    return CAIRN_OK;
}

static bool is_unsent(enum cairn_window_state state)
{
    return state == CAIRN_WINDOW_NEW || state == CAIRN_WINDOW_SENDING;
}

static bool is_too_old(const struct cairn_window *window, int64_t now_ns, uint64_t keep_ns)
{
    int64_t end_ns = window->start_ns + (int64_t)window->length_ns;
    return keep_ns && end_ns < now_ns && (uint64_t)(now_ns - end_ns) > keep_ns;
}

int cairn_spool_trim(struct cairn_spool *s, int64_t now_ns, uint64_t keep_ns, uint64_t max_bytes,
                     struct cairn_spool_trimmed *ret_trimmed, struct cairn_err *err)
{
    const struct cairn_window *windows;
    struct cairn_spool_trimmed trimmed = {0};
    size_t n;
    int code = cairn_spool_list(s, &windows, &n, err);
    for (size_t i = 0; code == CAIRN_OK && i < n; i++) {
        trimmed.left_bytes += windows[i].bytes;
        trimmed.n_left_unsent += is_unsent(windows[i].state);
    }
    for (size_t i = 0; code == CAIRN_OK && i + 1 < n; i++) {
        char name[CAIRN_WINDOW_NAME_BYTES];
        bool is_over = max_bytes && trimmed.left_bytes > max_bytes;
        if (!is_over && !is_too_old(&windows[i], now_ns, keep_ns))
            continue;
        cairn_window_name(&windows[i], name);
        if (unlinkat(s->fd, name, 0) < 0)
            continue; /* the sender has just renamed it: it goes with the next window */
        trimmed.n++;
        trimmed.left_bytes -= windows[i].bytes;
        trimmed.n_unsent += is_unsent(windows[i].state);
        trimmed.n_left_unsent -= is_unsent(windows[i].state);
    }
    if (code == CAIRN_OK)
        *ret_trimmed = trimmed;
    return code;
}
