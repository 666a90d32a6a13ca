/* SPDX-License-Identifier: MIT */
/* The public face of the cache: where it is, what is in it, and how it becomes smaller. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include <cairn/cache.h>

#include "base/error.h"
#include "cache/entry.h"
#include "cache/store.h"

/* The XDG base directory specification: relative paths there are ignored. */
int cairn_cache_folder(char *ret_path, size_t size, struct cairn_err *err)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    bool by_xdg = xdg && xdg[0] == '/';
    if (!by_xdg && (!home || home[0] != '/'))
        return cairn_fail(err, CAIRN_E_MISSING,
                          "neither XDG_CACHE_HOME nor HOME holds an absolute path");
    char path[PATH_MAX];
    int needed =
        snprintf(path, sizeof path, "%s%s/cairn", by_xdg ? xdg : home, by_xdg ? "" : "/.cache");
    if (needed < 0 || (size_t)needed >= sizeof path || (size_t)needed >= size)
        return cairn_fail(err, CAIRN_E_LIMIT, "the folder of the cache is a path of %d bytes",
                          needed);
    memcpy(ret_path, path, (size_t)needed + 1);
    return CAIRN_OK;
}

/* Leaves the store closed where the folder is not there. */
static int open_store(const char *folder, struct cairn_cache_store *ret_store,
                      struct cairn_err *err)
{
    char own[PATH_MAX];
    *ret_store = (struct cairn_cache_store){.fd = -1};
    int code = folder ? CAIRN_OK : cairn_cache_folder(own, sizeof own, err);
    if (code < 0)
        return code;
    code = cairn_cache_store_open(folder ? folder : own, false, ret_store, err);
    return code == CAIRN_E_MISSING ? CAIRN_OK : code;
}

static const char *kind_text(enum cairn_cache_kind kind)
{
    switch (kind) {
    case CAIRN_CACHE_INDEX:
        return "index";
    case CAIRN_CACHE_UNIT_MAP:
        return "unit map";
    case CAIRN_CACHE_UNPACKED:
        return "unpacked";
    }
    return "damaged";
}

static int show(const struct cairn_cache_store *store, const struct cairn_cache_found *found,
                cairn_cache_fn each, void *ctx)
{
    char path[PATH_MAX];
    struct cairn_file file = {0};
    struct cairn_cache_entry_read read = {0};
    struct cairn_err ignored;
    bool sealed;
    snprintf(path, sizeof path, "%s/%.2s/%s", store->path, found->name, found->name);
    struct cairn_cache_entry entry = {.size = sizeof entry,
                                      .file = path,
                                      .module = "",
                                      .build_id = "",
                                      .kind = "damaged",
                                      .bytes = found->bytes,
                                      .used_ns = found->used_ns};
    int code = cairn_cache_store_map(store, found->name, false, &file, &sealed, &ignored);
    if (code == CAIRN_OK)
        code = cairn_cache_entry_read(file.bytes, &read, &ignored);
    if (code == CAIRN_OK) {
        entry.module = read.header.module;
        entry.build_id = read.header.build_id;
        entry.kind = kind_text(read.header.kind);
    } else if (code == CAIRN_E_SUPPORT) {
        entry.kind = "other version";
    }
    int stopped = each(ctx, &entry);
    cairn_cache_entry_done(&read);
    cairn_file_close(&file);
    return stopped;
}

int cairn_cache_each(const char *folder, cairn_cache_fn each, void *ctx, struct cairn_err *err)
{
    struct cairn_cache_store store;
    struct cairn_cache_list list = {0};
    int code = open_store(folder, &store, err);
    if (code < 0 || store.fd < 0)
        return code;
    code = cairn_cache_store_list(&store, false, &list, err);
    for (size_t i = 0; code == CAIRN_OK && i < list.n; i++)
        code = show(&store, &list.entries[i], each, ctx);
    cairn_cache_list_done(&list);
    cairn_cache_store_close(&store);
    return code;
}

int cairn_cache_trim(const char *folder, uint64_t max_bytes, size_t *ret_n_deleted,
                     uint64_t *ret_bytes_deleted, struct cairn_err *err)
{
    struct cairn_cache_store store;
    size_t n = 0;
    uint64_t bytes = 0;
    int code = open_store(folder, &store, err);
    if (code == CAIRN_OK && store.fd >= 0)
        code = cairn_cache_store_trim(&store, max_bytes, &n, &bytes, err);
    cairn_cache_store_close(&store);
    if (code < 0)
        return code;
    if (ret_n_deleted)
        *ret_n_deleted = n;
    if (ret_bytes_deleted)
        *ret_bytes_deleted = bytes;
    return CAIRN_OK;
}
