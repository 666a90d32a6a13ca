/* SPDX-License-Identifier: MIT */
/* Opens the folder, and reads, writes and deletes single entries. */
#include "cache/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/own_folder.h"
#include "cache/seal.h"

enum {
    MADE_LEVELS = 2, /* FOLDER and the one it is in, such as ~/.cache */
    ENTRY_MODE = 0600,
    USE_NOTED_S = 3600, /* a use is noted where the last one is older than this */
    TEMP_TRIES = 16
};

/* FOLDER/symbols/v1 in an opened FOLDER. */
static int open_versions(int top, const char *folder, bool make, int *ret_fd, struct cairn_err *err)
{
    int symbols = cairn_own_folder_below(top, "symbols", make);
    int fd = symbols < 0 ? -1 : cairn_own_folder_below(symbols, "v1", make), os_errno = errno;
    if (symbols >= 0)
        close(symbols);
    if (fd < 0)
        return cairn_fail_os(err, os_errno, "%s/symbols/v1", folder);
    int code = cairn_own_folder_check(fd, folder, err);
    if (code < 0)
        close(fd);
    else
        *ret_fd = fd;
    return code;
}

int cairn_cache_store_open(const char *folder, bool make, struct cairn_cache_store *ret_store,
                           struct cairn_err *err)
{
    struct cairn_buffer path = {0};
    int fd = -1, top;
    int code = cairn_own_folder_open(folder, make ? MADE_LEVELS : 0, &top, err);
    if (code < 0)
        return code;
    code = open_versions(top, folder, make, &fd, err);
    close(top);
    if (code < 0)
        return code;
    cairn_buffer_printf(&path, "%s/symbols/v1", folder);
    if (path.failed) {
        cairn_buffer_done(&path);
        close(fd);
        return cairn_fail_memory(err);
    }
    *ret_store =
        (struct cairn_cache_store){.fd = fd, .path = (char *)path.data, .mark = cairn_cache_mark()};
    return CAIRN_OK;
}

void cairn_cache_store_close(struct cairn_cache_store *store)
{
    if (store->fd >= 0)
        close(store->fd);
    cairn_free(store->path);
    *store = (struct cairn_cache_store){.fd = -1};
}

/* The folder of an entry. -1 and errno. */
static int open_folder_of(const struct cairn_cache_store *store, const char *name, bool make)
{
    const char folder[3] = {name[0], name[1], '\0'};
    return cairn_own_folder_below(store->fd, folder, make);
}

/* Sets the time of change: its seconds say what goes first when the folder is full, its nanoseconds
 * whether somebody else changed the file since. */
static void set_time(int fd, long nanoseconds)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                      {.tv_sec = time(NULL), .tv_nsec = nanoseconds}};
    (void)futimens(fd, times); /* on a read-only disk nothing goes anyway */
}

static void note_use(int fd, const struct stat *st)
{
    time_t now = time(NULL);
    if (now - st->st_mtime > USE_NOTED_S || st->st_mtime - now > USE_NOTED_S)
        set_time(fd, st->st_mtim.tv_nsec);
}

static int map_fd(const struct cairn_cache_store *store, const char *who, int fd, bool use,
                  struct cairn_file *ret_file, bool *ret_sealed, struct cairn_err *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return cairn_fail_os(err, errno, "%s", who);
    if (!cairn_own_folder_trusts(&st))
        return cairn_fail(err, CAIRN_E_ACCESS,
                          "%s: uid %u, mode %04o: not trusted, expected a file that only uid %u "
                          "can write",
                          who, st.st_uid, st.st_mode & 07777, geteuid());
    int code = cairn_file_open_fd(fd, who, ret_file, err);
    if (code == CAIRN_OK && use)
        note_use(fd, &st);
    *ret_sealed = store->mark && st.st_mtim.tv_nsec == store->mark && geteuid() != 0;
    return code;
}

/* STORE/ab/NAME, for messages. */
static const char *who_of(const struct cairn_cache_store *store, const char *name,
                          char who[PATH_MAX])
{
    snprintf(who, PATH_MAX, "%s/%.2s/%s", store->path, name, name);
    return who;
}

/* -1 and errno. */
static int open_entry(const struct cairn_cache_store *store, const char *name)
{
    int folder = open_folder_of(store, name, false);
    if (folder < 0)
        return -1;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int os_errno = errno;
    close(folder);
    errno = os_errno;
    return fd;
}

int cairn_cache_store_map(const struct cairn_cache_store *store, const char *name, bool use,
                          struct cairn_file *ret_file, bool *ret_sealed, struct cairn_err *err)
{
    char who[PATH_MAX];
    who_of(store, name, who);
    int fd = open_entry(store, name);
    if (fd < 0)
        return cairn_fail_os(err, errno == ELOOP ? EPERM : errno, "%s", who);
    int code = map_fd(store, who, fd, use, ret_file, ret_sealed, err);
    close(fd);
    return code;
}

void cairn_cache_store_vouch(const struct cairn_cache_store *store, const char *name)
{
    int fd = store->mark && geteuid() != 0 ? open_entry(store, name) : -1;
    if (fd < 0)
        return;
    set_time(fd, store->mark);
    close(fd);
}

/* The lock tells whoever cleans up that the writer is alive. False: one that cleaned up was faster,
 * and the file has lost its name, or is about to. */
static bool claim_temp(int fd)
{
    struct stat st;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return false;
    return fstat(fd, &st) == 0 && st.st_nlink > 0;
}

/* A file of our own beside the entry's place. -1 and errno. */
static int open_temp(int folder, char ret_name[32])
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    for (int tries = 0; tries < TEMP_TRIES; tries++) {
        uint64_t random;
        if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
            return -1;
        snprintf(ret_name, 32, ".tmp-%012llx", (unsigned long long)(random >> 16));
        int fd = openat(folder, ret_name, flags, ENTRY_MODE);
        if (fd < 0 && errno != EEXIST)
            return -1;
        if (fd >= 0 && claim_temp(fd))
            return fd;
        if (fd >= 0)
            close(fd);
    }
    errno = EBUSY;
    return -1;
}

/* Nothing is synced, on purpose: it would make the user wait for a disk, and who loses power loses
 * what can be made again. What is left then is told by its size or its sum. */
static int write_temp(int fd, const char *who, struct cairn_span head, struct cairn_span body,
                      struct cairn_err *err)
{
    int code = cairn_write_all(fd, head.data, head.size, who, err);
    if (code == CAIRN_OK)
        code = cairn_write_all(fd, body.data, body.size, who, err);
    return code;
}

int cairn_cache_store_put(const struct cairn_cache_store *store, const char *name,
                          struct cairn_span head, struct cairn_span body, struct cairn_err *err)
{
    char who[PATH_MAX], temp[32];
    who_of(store, name, who);
    int folder = open_folder_of(store, name, true);
    if (folder < 0)
        return cairn_fail_os(err, errno, "%s", who);
    int fd = open_temp(folder, temp);
    int code = fd < 0 ? cairn_fail_os(err, errno, "%s", who) : write_temp(fd, who, head, body, err);
    if (code == CAIRN_OK && store->mark)
        set_time(fd, store->mark);
    if (code == CAIRN_OK && renameat(folder, temp, folder, name) < 0)
        code = cairn_fail_os(err, errno, "%s: cannot be put in place", who);
    if (code < 0 && fd >= 0)
        unlinkat(folder, temp, 0);
    if (fd >= 0)
        close(fd);
    close(folder);
    return code;
}

int cairn_cache_store_remove(const struct cairn_cache_store *store, const char *name,
                             struct cairn_err *err)
{
    char who[PATH_MAX];
    int folder = open_folder_of(store, name, false);
    int result = folder < 0 ? -1 : unlinkat(folder, name, 0), os_errno = errno;
    if (folder >= 0)
        close(folder);
    if (result < 0 && os_errno != ENOENT)
        return cairn_fail_os(err, os_errno, "%s", who_of(store, name, who));
    return CAIRN_OK;
}
