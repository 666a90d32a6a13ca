/* SPDX-License-Identifier: MIT */
/* What is in the store, and what goes first when that is too much. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/open.h"
#include "base/own_folder.h"
#include "symstore/store.h"

enum { FILES_MAX = 1 << 22 };

struct walk {
    const struct cairn_symstore *store;
    struct cairn_symstore_list list;
    struct cairn_err *err;
    bool clean;
};

/* "cdef01" and "cdef01.debug" in the folder "ab" */
static bool read_name(const char *folder, const char *name, struct cairn_symstore_found *ret)
{
    size_t n = strspn(name, "0123456789abcdef");
    bool is_debug = strcmp(name + n, ".debug") == 0;
    if (!n || (name[n] && !is_debug) || n + 3 > sizeof ret->id)
        return false;
    memcpy(ret->id, folder, 2);
    memcpy(ret->id + 2, name, n);
    ret->id[2 + n] = '\0';
    ret->is_debug = is_debug;
    return true;
}

/* What a writer left that was killed: nobody holds its lock. */
static void clean_temp(int folder, const char *name)
{
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        unlinkat(folder, name, 0);
    close(fd);
}

/* The time of the note beside it; without one, when the file came. */
static int64_t used_ns(int folder, const char *name, const struct stat *file)
{
    char beside[256 + sizeof ".from"]; /* NAME_MAX */
    struct stat note;
    snprintf(beside, sizeof beside, "%s.from", name);
    bool has_note = fstatat(folder, beside, &note, AT_SYMLINK_NOFOLLOW) == 0;
    return (int64_t)cairn_time_ns(has_note ? &note.st_mtim : &file->st_ctim);
}

static int add(struct walk *w, int folder, const char *folder_name, const char *name)
{
    struct stat st;
    struct cairn_symstore_found found;
    struct cairn_symstore_list *list = &w->list;
    if (!read_name(folder_name, name, &found) ||
        fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
        return CAIRN_OK;
    if (list->n >= FILES_MAX)
        return cairn_fail(w->err, CAIRN_E_LIMIT, "%s: more than %d files", w->store->path,
                          FILES_MAX);
    if (cairn_grow((void **)&list->files, &list->cap, list->n + 1, sizeof *list->files) < 0)
        return cairn_fail_memory(w->err);
    found.bytes = (uint64_t)st.st_size;
    found.used_ns = used_ns(folder, name, &st);
    list->files[list->n++] = found;
    list->bytes += found.bytes;
    return CAIRN_OK;
}

/* A folder that cannot be read has no files for us. */
static int walk_folder(struct walk *w, const char *name)
{
    int fd = cairn_symstore_folder_of(w->store, name, false);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *at;
    int code = CAIRN_OK;
    if (!dir && fd >= 0)
        close(fd);
    while (dir && code == CAIRN_OK && (at = readdir(dir)) != NULL) {
        if (strncmp(at->d_name, ".tmp-", 5) == 0 && w->clean)
            clean_temp(fd, at->d_name);
        else
            code = add(w, fd, name, at->d_name);
    }
    if (dir)
        closedir(dir);
    return code;
}

static int last_used_first(const void *left, const void *right)
{
    const struct cairn_symstore_found *a = left, *b = right;
    if (a->used_ns != b->used_ns)
        return a->used_ns > b->used_ns ? -1 : 1;
    int order = strcmp(a->id, b->id);
    return order ? order : (int)a->is_debug - (int)b->is_debug;
}

int cairn_symstore_list(const struct cairn_symstore *store, bool clean,
                        struct cairn_symstore_list *ret_list, struct cairn_err *err)
{
    struct walk w = {.store = store, .err = err, .clean = clean};
    int fd = openat(store->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        int code = cairn_fail_os(err, errno, "%s", store->path);
        if (fd >= 0)
            close(fd);
        return code;
    }
    struct dirent *at;
    int code = CAIRN_OK;
    while (code == CAIRN_OK && (at = readdir(dir)) != NULL)
        if (strspn(at->d_name, "0123456789abcdef") == 2 && !at->d_name[2])
            code = walk_folder(&w, at->d_name);
    closedir(dir);
    if (code < 0) {
        cairn_symstore_list_done(&w.list);
        return code;
    }
    if (w.list.n)
        qsort(w.list.files, w.list.n, sizeof *w.list.files, last_used_first);
    *ret_list = w.list;
    return CAIRN_OK;
}

void cairn_symstore_list_done(struct cairn_symstore_list *list)
{
    cairn_free(list->files);
    *list = (struct cairn_symstore_list){0};
}

static const char *has_text(enum cairn_candidate_worth worth)
{
    return worth == CAIRN_WORTH_DWARF    ? "lines"
           : worth == CAIRN_WORTH_SYMTAB ? "symbols"
                                         : "exports";
}

static bool is_trusted(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && cairn_own_folder_trusts(&st);
}

/* One file, opened to see what is in it. */
static int tell(const struct cairn_symstore *store, const struct cairn_symstore_found *found,
                cairn_symbol_entry_fn each, void *ctx)
{
    char path[PATH_MAX], beside[PATH_MAX + sizeof ".from"];
    struct cairn_candidate c = {0};
    struct cairn_buffer from = {0};
    struct cairn_err ignored;
    if (!each || !cairn_symstore_path(store, found->id, found->is_debug, path))
        return 0;
    snprintf(beside, sizeof beside, "%s.from", path);
    if (is_trusted(beside))
        (void)cairn_file_slurp_regular(beside, PATH_MAX, &from, &ignored);
    const struct cairn_candidate_place place = {.is_vouched = true};
    bool is_sound = is_trusted(path) && cairn_candidate_open(path, &place, &c, &ignored) == 0 &&
                    strcmp(c.build_id, found->id) == 0;
    struct cairn_symbol_entry entry = {
        .size = sizeof entry,
        .file = path,
        .build_id = found->id,
        .from = cairn_buffer_text(&from),
        .kind = !is_sound         ? "damaged"
                : found->is_debug ? "debug file"
                                  : "binary",
        .has = is_sound ? has_text(c.worth) : "",
        .bytes = found->bytes,
        .used_ns = found->used_ns,
    };
    int stopped = each(ctx, &entry);
    cairn_candidate_close(&c);
    cairn_buffer_done(&from);
    return stopped;
}

/* Leaves the store closed where the folder is not there. */
static int open_there(const char *folder, struct cairn_symstore *ret_store, struct cairn_err *err)
{
    *ret_store = (struct cairn_symstore){.fd = -1};
    int code = cairn_symstore_open(folder, false, ret_store, err);
    return code == CAIRN_E_MISSING ? CAIRN_OK : code;
}

int cairn_symbol_store_each(const char *folder, cairn_symbol_entry_fn each, void *ctx,
                            struct cairn_err *err)
{
    struct cairn_symstore store;
    struct cairn_symstore_list list = {0};
    int code = open_there(folder, &store, err);
    if (code < 0 || store.fd < 0)
        return code;
    code = cairn_symstore_list(&store, false, &list, err);
    for (size_t i = 0; code == CAIRN_OK && i < list.n; i++)
        code = tell(&store, &list.files[i], each, ctx);
    cairn_symstore_list_done(&list);
    cairn_symstore_close(&store);
    return code;
}

static int trim(const struct cairn_symstore *store, const struct cairn_symbol_trim_opts *o,
                uint64_t *ret_n, uint64_t *ret_bytes, struct cairn_err *err)
{
    struct cairn_symstore_list list;
    int code = cairn_symstore_list(store, !o->dry_run, &list, err);
    if (code < 0)
        return code;
    for (size_t i = list.n; i-- > 0 && code == CAIRN_OK;) {
        const struct cairn_symstore_found *found = &list.files[i];
        bool is_old = o->unused_since_ns && found->used_ns < o->unused_since_ns;
        if (!is_old && !(o->has_max_bytes && list.bytes - *ret_bytes > o->max_bytes))
            break;
        code = tell(store, found, o->each, o->ctx);
        if (code == CAIRN_OK && !o->dry_run)
            code = cairn_symstore_remove(store, found, err);
        *ret_bytes += code == CAIRN_OK ? found->bytes : 0;
        *ret_n += code == CAIRN_OK;
    }
    cairn_symstore_list_done(&list);
    return code;
}

int cairn_symbol_store_trim(const char *folder, const struct cairn_symbol_trim_opts *opts,
                            uint64_t *ret_n, uint64_t *ret_bytes, struct cairn_err *err)
{
    struct cairn_symbol_trim_opts o = {0};
    struct cairn_symstore store;
    uint64_t n = 0, bytes = 0;
    memcpy(&o, opts, opts->size < sizeof o ? opts->size : sizeof o);
    int code = open_there(folder, &store, err);
    if (code == CAIRN_OK && store.fd >= 0)
        code = trim(&store, &o, &n, &bytes, err);
    cairn_symstore_close(&store);
    if (ret_n)
        *ret_n = n;
    if (ret_bytes)
        *ret_bytes = bytes;
    return code;
}
