/* SPDX-License-Identifier: MIT */
/* What is in the folder of the cache, and what goes first when that is too much. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cache/store.h"

enum { DIGITS_MIN = 16 }; /* of what an entry is named after */

struct walk {
    const struct cairn_cache_store *store;
    struct cairn_cache_list list;
    struct cairn_err *err;
    bool clean;
};

static bool is_folder_name(const char *name)
{
    return strspn(name, "0123456789abcdef") == 2 && !name[2];
}

/* abcdef0123456789.index, abcdef0123456789-path.index, abcdef0123456789-file.index, the same with
 * .units and .unpacked. */
static bool is_entry_name(const char *name)
{
    size_t n = strspn(name, "0123456789abcdef");
    const char *rest = name + n;
    if (n < DIGITS_MIN || strlen(name) > CAIRN_CACHE_NAME_MAX)
        return false;
    if (strncmp(rest, "-path", 5) == 0 || strncmp(rest, "-file", 5) == 0)
        rest += 5;
    return strcmp(rest, ".index") == 0 || strcmp(rest, ".units") == 0 ||
           strcmp(rest, ".unpacked") == 0;
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

static int add(struct walk *w, int folder, const char *name)
{
    struct stat st;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISDIR(st.st_mode))
        return CAIRN_OK; /* deleted meanwhile, or no entry */
    struct cairn_cache_list *list = &w->list;
    if (cairn_grow((void **)&list->entries, &list->cap, list->n + 1, sizeof *list->entries) < 0)
        return cairn_fail_memory(w->err);
    struct cairn_cache_found *found = &list->entries[list->n++];
    *found = (struct cairn_cache_found){
        .bytes = (uint64_t)st.st_size,
        .used_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec,
    };
    memcpy(found->name, name, strlen(name) + 1);
    list->bytes += found->bytes;
    return CAIRN_OK;
}

static int walk_folder(struct walk *w, const char *name, int folder, DIR *dir)
{
    struct dirent *at;
    int code = CAIRN_OK;
    while (code == CAIRN_OK && (at = readdir(dir)) != NULL) {
        if (strncmp(at->d_name, ".tmp-", 5) == 0 && w->clean)
            clean_temp(folder, at->d_name);
        else if (is_entry_name(at->d_name) && strncmp(at->d_name, name, 2) == 0)
            code = add(w, folder, at->d_name);
    }
    return code;
}

/* A folder that cannot be read has no entries for us. */
static int walk_named(struct walk *w, const char *name)
{
    int fd = openat(w->store->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return CAIRN_OK;
    }
    int code = walk_folder(w, name, fd, dir);
    closedir(dir);
    return code;
}

static int last_used_first(const void *left, const void *right)
{
    const struct cairn_cache_found *a = left, *b = right;
    if (a->used_ns != b->used_ns)
        return a->used_ns > b->used_ns ? -1 : 1;
    return strcmp(a->name, b->name);
}

int cairn_cache_store_list(const struct cairn_cache_store *store, bool clean,
                           struct cairn_cache_list *ret_list, struct cairn_err *err)
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
        if (is_folder_name(at->d_name))
            code = walk_named(&w, at->d_name);
    closedir(dir);
    if (code < 0) {
        cairn_cache_list_done(&w.list);
        return code;
    }
    if (w.list.n)
        qsort(w.list.entries, w.list.n, sizeof *w.list.entries, last_used_first);
    *ret_list = w.list;
    return CAIRN_OK;
}

void cairn_cache_list_done(struct cairn_cache_list *list)
{
    cairn_free(list->entries);
    *list = (struct cairn_cache_list){0};
}

int cairn_cache_store_trim(const struct cairn_cache_store *store, uint64_t max_bytes,
                           size_t *ret_n_deleted, uint64_t *ret_bytes_deleted,
                           struct cairn_err *err)
{
    struct cairn_cache_list list;
    size_t n = 0;
    uint64_t bytes = 0;
    int code = cairn_cache_store_list(store, true, &list, err);
    if (code < 0)
        return code;
    for (size_t i = list.n; i-- > 0 && code == CAIRN_OK;) {
        if (max_bytes && list.bytes - bytes <= max_bytes)
            break;
        code = cairn_cache_store_remove(store, list.entries[i].name, err);
        bytes += code == CAIRN_OK ? list.entries[i].bytes : 0;
        n += code == CAIRN_OK;
    }
    cairn_cache_list_done(&list);
    if (ret_n_deleted)
        *ret_n_deleted = n;
    if (ret_bytes_deleted)
        *ret_bytes_deleted = bytes;
    return code;
}
