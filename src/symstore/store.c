/* SPDX-License-Identifier: MIT */
#include "symstore/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own_folder.h"
#include "debugfile/by_id.h"

enum {
    MADE_LEVELS = 4, /* ~/.local/share/cairn/symbols */
    FILE_MODE = 0600,
    TEMP_TRIES = 16,
    TEMP_NAME = 32
};

/* The XDG base directory specification: relative paths there are ignored. */
int cairn_symbol_store_folder(char *ret_path, size_t size, struct cairn_err *err)
{
    static const struct {
        const char *variable, *below;
    } rows[] = {{"CAIRN_SYMBOLS", ""},
                {"XDG_DATA_HOME", "/cairn/symbols"},
                {"HOME", "/.local/share/cairn/symbols"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *value = getenv(rows[i].variable);
        if (!value || value[0] != '/')
            continue;
        int needed = snprintf(ret_path, size, "%s%s", value, rows[i].below);
        if (needed > 0 && (size_t)needed < size && needed < PATH_MAX)
            return CAIRN_OK;
        return cairn_fail(err, CAIRN_E_LIMIT, "%s: the folder of the store is a path of %d bytes",
                          rows[i].variable, needed);
    }
    return cairn_fail(err, CAIRN_E_MISSING,
                      "none of CAIRN_SYMBOLS, XDG_DATA_HOME and HOME holds an absolute path");
}

int cairn_symbol_store_use(const char *folder, struct cairn_err *err)
{
    return cairn_by_id_set_store(folder, err);
}

int cairn_symstore_open(const char *folder, bool make, struct cairn_symstore *ret_store,
                        struct cairn_err *err)
{
    struct cairn_symstore store = {.fd = -1};
    char own[PATH_MAX];
    int top, code = folder ? CAIRN_OK : cairn_symbol_store_folder(own, sizeof own, err);
    if (code < 0)
        return code;
    int size = snprintf(store.path, sizeof store.path, "%s/.build-id", folder ? folder : own);
    if (size < 0 || (size_t)size >= sizeof store.path)
        return cairn_fail(err, CAIRN_E_LIMIT, "the folder of the store is a path of %d bytes",
                          size);
    code = cairn_own_folder_open(folder ? folder : own, make ? MADE_LEVELS : 0, &top, err);
    if (code < 0)
        return code;
    store.fd = cairn_own_folder_below(top, ".build-id", make);
    int os_errno = errno;
    close(top);
    if (store.fd < 0)
        return cairn_fail_os(err, os_errno, "%s", store.path);
    code = cairn_own_folder_check(store.fd, store.path, err);
    if (code < 0) {
        cairn_symstore_close(&store);
        return code;
    }
    *ret_store = store;
    return CAIRN_OK;
}

void cairn_symstore_close(struct cairn_symstore *store)
{
    if (store->fd >= 0)
        close(store->fd);
    store->fd = -1;
}

int cairn_symstore_folder_of(const struct cairn_symstore *store, const char *id, bool make)
{
    const char folder[3] = {id[0], id[1], '\0'};
    return cairn_own_folder_below(store->fd, folder, make);
}

bool cairn_symstore_path(const struct cairn_symstore *store, const char *id, bool is_debug,
                         char ret_path[PATH_MAX])
{
    int size = snprintf(ret_path, PATH_MAX, "%s/%.2s/%s%s", store->path, id, id + 2,
                        is_debug ? ".debug" : "");
    return size > 0 && size < PATH_MAX;
}

static void name_temp(char name[TEMP_NAME])
{
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) < 0)
        random = (uint64_t)time(NULL) << 20 ^ (uint64_t)getpid();
    snprintf(name, TEMP_NAME, ".tmp-%012llx", (unsigned long long)(random & 0xffffffffffff));
}

/* A link shares the file: it is taken only of the one that was looked at, if it is ours and nobody
 * else can write it. Else a copy is. */
static bool put_link(int folder, const char *name, const struct cairn_candidate *c,
                     const char *from)
{
    char temp[TEMP_NAME];
    struct stat st;
    name_temp(temp);
    if (linkat(AT_FDCWD, from, folder, temp, 0) < 0)
        return false;
    bool is_put = fstatat(folder, temp, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                  cairn_own_folder_trusts(&st) && st.st_dev == c->file.dev &&
                  st.st_ino == c->file.inode && renameat(folder, temp, folder, name) == 0;
    /* Two names of one file: rename(2) then does nothing, and the new name stays. */
    unlinkat(folder, temp, 0);
    return is_put;
}

/* Whoever cleans up can come between the making of a file and its lock. */
static bool is_cleaned(int fd)
{
    struct stat st;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return true;
    return fstat(fd, &st) == 0 && !st.st_nlink;
}

static int open_temp(int folder, char temp[TEMP_NAME])
{
    for (unsigned i = 0; i < TEMP_TRIES; i++) {
        name_temp(temp);
        int fd = openat(folder, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
        if (fd < 0 && errno != EEXIST)
            return -1;
        if (fd >= 0 && !is_cleaned(fd))
            return fd;
        if (fd >= 0)
            close(fd);
    }
    return -1;
}

/* A file with these bytes, under its last name once it is whole. */
static int write_file(int folder, const char *name, struct cairn_span bytes, struct cairn_err *err)
{
    char temp[TEMP_NAME];
    int fd = open_temp(folder, temp);
    if (fd < 0)
        return cairn_fail_os(err, errno, "cannot be written");
    int code = cairn_write_all(fd, bytes.data, bytes.size, name, err);
    if (code == CAIRN_OK && renameat(folder, temp, folder, name) < 0)
        code = cairn_fail_os(err, errno, "cannot be put in place");
    if (code < 0)
        unlinkat(folder, temp, 0);
    close(fd);
    return code;
}

/* Where it came from is for the reader alone: without it the file is as good. */
static void note_from(int folder, const char *name, const char *from)
{
    char beside[CAIRN_SYMSTORE_NAME_MAX + sizeof ".from"];
    struct cairn_err ignored;
    snprintf(beside, sizeof beside, "%s.from", name);
    (void)write_file(folder, beside, cairn_span_of(from), &ignored);
}

int cairn_symstore_put(const struct cairn_symstore *store, const struct cairn_candidate *c,
                       const char *from, bool link, struct cairn_err *err)
{
    char name[CAIRN_SYMSTORE_NAME_MAX];
    int folder = cairn_symstore_folder_of(store, c->build_id, true);
    if (folder < 0)
        return cairn_fail_os(err, errno, "%s/%.2s", store->path, c->build_id);
    snprintf(name, sizeof name, "%s%s", c->build_id + 2, c->has_code ? "" : ".debug");
    int code = link && put_link(folder, name, c, from) ? CAIRN_OK
                                                       : write_file(folder, name, c->stored, err);
    if (code == CAIRN_OK)
        note_from(folder, name, from);
    close(folder);
    return code < 0 ? cairn_fail_in(err, code, store->path) : CAIRN_OK;
}

int cairn_symstore_remove(const struct cairn_symstore *store,
                          const struct cairn_symstore_found *found, struct cairn_err *err)
{
    char name[CAIRN_SYMSTORE_NAME_MAX], beside[CAIRN_SYMSTORE_NAME_MAX + sizeof ".from"];
    int folder = cairn_symstore_folder_of(store, found->id, false);
    snprintf(name, sizeof name, "%s%s", found->id + 2, found->is_debug ? ".debug" : "");
    snprintf(beside, sizeof beside, "%s.from", name);
    int result = folder < 0 ? -1 : unlinkat(folder, name, 0), os_errno = errno;
    if (folder >= 0) {
        unlinkat(folder, beside, 0);
        close(folder);
    }
    if (result < 0 && os_errno != ENOENT)
        return cairn_fail_os(err, os_errno, "%s/%.2s/%s", store->path, found->id, name);
    return CAIRN_OK;
}
