/* SPDX-License-Identifier: MIT */
/*
 * Files into the store: a walk through a folder, a look at each file's first bytes, and what is an
 * ELF file with a build ID is kept, unless the store has as good a one.
 */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/archive.h"
#include "base/error.h"
#include "base/log.h"
#include "base/open.h"
#include "base/own_folder.h"
#include "symstore/store.h"

enum {
    DEPTH_MAX = 64,
    HEAD_BYTES = 20,
    ID_DIGITS_MIN = 8,
};
static const uint64_t entry_bytes_max = 4ull << 30; /* of an archive, unpacked */

struct add {
    const struct cairn_symstore *store;
    struct cairn_symbol_add_opts opts;
    struct cairn_symbol_added *sum;
    uint64_t held_bytes; /* the whole store as it is now */
    int64_t start_ns;
    struct cairn_buffer path; /* of the folder at hand, with a slash at its end */
    struct cairn_err *err;
};

static enum cairn_candidate_worth
worth_in_store(const struct add *a, const struct cairn_candidate *c, bool *ret_is_there)
{
    char path[PATH_MAX];
    struct stat st;
    struct cairn_candidate held;
    struct cairn_err ignored;
    const struct cairn_candidate_place place = {.is_vouched = true};
    *ret_is_there = cairn_symstore_path(a->store, c->build_id, !c->has_code, path) &&
                    lstat(path, &st) == 0 && cairn_own_folder_trusts(&st) &&
                    cairn_candidate_open(path, &place, &held, &ignored) == CAIRN_OK;
    if (!*ret_is_there)
        return CAIRN_WORTH_EXPORTS;
    bool is_same = strcmp(held.build_id, c->build_id) == 0;
    enum cairn_candidate_worth worth = held.worth;
    *ret_is_there = is_same;
    cairn_candidate_close(&held);
    return worth;
}

static bool has_room(const struct add *a, uint64_t bytes)
{
    return !a->opts.max_bytes || a->held_bytes + bytes <= a->opts.max_bytes;
}

static int fail_full(struct add *a, uint64_t added, uint64_t bytes)
{
    cairn_fail(a->err, CAIRN_E_LIMIT,
               "%s: full: %llu bytes of it were added just now, %llu more are too many: at most "
               "%llu are allowed",
               a->store->path, (unsigned long long)added, (unsigned long long)bytes,
               (unsigned long long)a->opts.max_bytes);
    cairn_hint(a->err, "--max-size SIZE allows more");
    return CAIRN_E_LIMIT;
}

/* Nothing goes where all that may go is not enough. */
static int remove_oldest(struct add *a, const struct cairn_symstore_list *list, uint64_t bytes)
{
    uint64_t kept = 0;
    int code = CAIRN_OK;
    for (size_t i = 0; i < list->n && list->files[i].used_ns >= a->start_ns; i++)
        kept += list->files[i].bytes;
    if (kept + bytes > a->opts.max_bytes)
        return fail_full(a, kept, bytes);
    for (size_t i = list->n; i-- > 0 && code == CAIRN_OK && !has_room(a, bytes);) {
        code = cairn_symstore_remove(a->store, &list->files[i], a->err);
        if (code < 0)
            break;
        a->held_bytes -= list->files[i].bytes;
        a->sum->n_removed++;
        a->sum->bytes_removed += list->files[i].bytes;
    }
    return code;
}

/* Room for one more file; what this run added stays. */
static int make_room(struct add *a, uint64_t bytes)
{
    struct cairn_symstore_list list;
    if (has_room(a, bytes))
        return CAIRN_OK;
    int code = cairn_symstore_list(a->store, true, &list, a->err);
    if (code < 0)
        return code;
    a->held_bytes = list.bytes;
    code = has_room(a, bytes) ? CAIRN_OK : remove_oldest(a, &list, bytes);
    cairn_symstore_list_done(&list);
    return code;
}

static int keep(struct add *a, const struct cairn_candidate *c, const char *from)
{
    bool is_there;
    a->sum->n_seen++;
    if (strlen(c->build_id) < ID_DIGITS_MIN) {
        a->sum->n_without_id++;
        cairn_log(CAIRN_LOG_INFO, "%s: no build ID; passed over", from);
        return CAIRN_OK;
    }
    enum cairn_candidate_worth worth = worth_in_store(a, c, &is_there);
    if (is_there && worth >= c->worth) {
        a->sum->n_held++;
        return CAIRN_OK;
    }
    int code = make_room(a, c->stored.size);
    if (code == CAIRN_OK)
        code = cairn_symstore_put(a->store, c, from, a->opts.link, a->err);
    if (code < 0)
        return code;
    a->held_bytes += c->stored.size;
    a->sum->n_added++;
    a->sum->bytes_added += c->stored.size;
    return CAIRN_OK;
}

/* What is wrong with one file costs that file alone. */
static int pass_over(struct add *a, int code, const struct cairn_err *why)
{
    if (code == CAIRN_E_NOMEM)
        return cairn_fail_memory(a->err);
    a->sum->n_damaged++;
    cairn_log_err(CAIRN_LOG_WARNING, why);
    return CAIRN_OK;
}

/* Bytes that lie in no file of their own. */
static int add_bytes(struct add *a, struct cairn_span bytes, const char *name)
{
    struct cairn_candidate c;
    struct cairn_err why = {0};
    int fd = memfd_create("cairn-symbols", MFD_CLOEXEC);
    int code = fd < 0 ? cairn_fail_os(&why, errno, "%s", name)
                      : cairn_write_all(fd, bytes.data, bytes.size, name, &why);
    if (code == CAIRN_OK)
        code = cairn_candidate_open_fd(fd, name, &c, &why);
    if (fd >= 0)
        close(fd);
    if (code < 0)
        return pass_over(a, code, &why);
    code = keep(a, &c, name);
    cairn_candidate_close(&c);
    return code;
}

/* Libraries, and debug files as build servers pack them: libx.so, libx.so.debug, libx.so.dbg. */
static bool is_library_name(struct cairn_span name)
{
    return memmem(name.data, name.size, ".so", 3) != NULL;
}

static int add_entry(struct add *a, const struct cairn_archive *archive,
                     const struct cairn_archive_entry *entry, const char *path)
{
    struct cairn_buffer bytes = {0}, name = {0};
    struct cairn_err why = {0};
    cairn_buffer_printf(&name, "%s!/%.*s", path, (int)entry->name.size,
                        (const char *)entry->name.data);
    int code = name.failed ? cairn_fail_memory(&why)
                           : cairn_archive_unpack(archive, entry, entry_bytes_max, &bytes, &why);
    bool is_elf = code == CAIRN_OK && bytes.size > SELFMAG && !memcmp(bytes.data, ELFMAG, SELFMAG);
    if (code < 0)
        cairn_fail_in(&why, code, cairn_buffer_text(&name));
    code = code < 0 ? pass_over(a, code, &why)
           : is_elf ? add_bytes(a, cairn_buffer_span(&bytes), cairn_buffer_text(&name))
                    : CAIRN_OK;
    cairn_buffer_done(&bytes);
    cairn_buffer_done(&name);
    return code;
}

static int add_archive(struct add *a, const char *path)
{
    struct cairn_file file;
    struct cairn_archive archive;
    struct cairn_archive_entry entry;
    struct cairn_err why = {0};
    int code = cairn_file_open(path, &file, &why);
    if (code < 0)
        return pass_over(a, code, &why);
    code = cairn_archive_open(file.bytes, &archive, &why);
    if (code < 0)
        code = pass_over(a, cairn_fail_in(&why, code, path), &why);
    else
        for (size_t pos = 0; code == CAIRN_OK && cairn_archive_next(&archive, &pos, &entry);)
            if (is_library_name(entry.name))
                code = add_entry(a, &archive, &entry, path);
    cairn_file_close(&file);
    return code;
}

static int add_elf(struct add *a, const char *path)
{
    struct cairn_candidate c;
    struct cairn_err why = {0};
    const struct cairn_candidate_place place = {.is_vouched = true};
    int code = cairn_candidate_open(path, &place, &c, &why);
    if (code < 0)
        return pass_over(a, code, &why);
    code = keep(a, &c, path);
    cairn_candidate_close(&c);
    return code;
}

/* Of relocatable files only kernel modules are loaded; there are thousands of others in a build. */
static bool is_wanted_elf(const uint8_t *head, const char *path)
{
    uint16_t type = (uint16_t)(head[EI_DATA] == ELFDATA2MSB ? head[16] << 8 | head[17]
                                                            : head[17] << 8 | head[16]);
    return type == ET_EXEC || type == ET_DYN || (type == ET_REL && strstr(path, ".ko"));
}

static int add_file(struct add *a, const char *path, bool is_named)
{
    uint8_t head[HEAD_BYTES] = {0};
    int fd = cairn_open_regular(path), os_errno = errno;
    ssize_t size = fd < 0 ? -1 : pread(fd, head, sizeof head, 0);
    struct cairn_err why = {0};
    if (fd >= 0)
        close(fd);
    else if (is_named)
        return cairn_fail_os(a->err, os_errno, "%s", path);
    else if (os_errno != EINVAL) /* a device, a pipe */
        return pass_over(a, cairn_fail_os(&why, os_errno, "%s", path), &why);
    if (a->opts.progress)
        a->opts.progress(a->opts.ctx, path);
    if (size == HEAD_BYTES && memcmp(head, ELFMAG, SELFMAG) == 0)
        return is_wanted_elf(head, path) ? add_elf(a, path) : CAIRN_OK;
    if (size == HEAD_BYTES && memcmp(head, "PK\3\4", 4) == 0)
        return add_archive(a, path);
    if (strstr(path, ".ko.") && !strstr(path, "/.ko."))
        return add_elf(a, path); /* a packed kernel module */
    if (is_named)
        return cairn_fail(a->err, CAIRN_E_FORMAT,
                          "%s: expected an ELF file, a zip archive or a folder", path);
    return CAIRN_OK;
}

static int walk(struct add *a, unsigned depth);

static int add_named(struct add *a, int folder, const char *name, unsigned depth)
{
    struct stat link, st;
    size_t size = a->path.size;
    int code = CAIRN_OK;
    if (fstatat(folder, name, &link, AT_SYMLINK_NOFOLLOW) < 0 || fstatat(folder, name, &st, 0) < 0)
        return CAIRN_OK; /* a link to nowhere */
    cairn_buffer_str(&a->path, name);
    if (S_ISDIR(link.st_mode))
        cairn_buffer_char(&a->path, '/');
    if (a->path.failed)
        return cairn_fail_memory(a->err);
    if (S_ISDIR(link.st_mode))
        code = walk(a, depth + 1);
    else if (S_ISREG(st.st_mode))
        code = add_file(a, cairn_buffer_text(&a->path), false);
    a->path.size = size;
    a->path.data[size] = '\0';
    return code;
}

static int walk(struct add *a, unsigned depth)
{
    struct dirent *at;
    int code = CAIRN_OK;
    DIR *dir = depth > DEPTH_MAX ? NULL : opendir(cairn_buffer_text(&a->path));
    if (!dir) {
        cairn_log(CAIRN_LOG_WARNING, "%s: %s; passed over", cairn_buffer_text(&a->path),
                  depth > DEPTH_MAX ? "more than 64 levels deep" : strerror(errno));
        return CAIRN_OK;
    }
    while (code == CAIRN_OK && (at = readdir(dir)) != NULL)
        if (strcmp(at->d_name, ".") != 0 && strcmp(at->d_name, "..") != 0)
            code = add_named(a, dirfd(dir), at->d_name, depth);
    closedir(dir);
    return code;
}

static int add_path(struct add *a, const char *given)
{
    struct stat st;
    char path[PATH_MAX];
    if (!realpath(given, path) || stat(path, &st) < 0)
        return cairn_fail_os(a->err, errno, "%s", given);
    if (!S_ISDIR(st.st_mode))
        return add_file(a, path, true);
    cairn_buffer_printf(&a->path, "%s/", path);
    if (a->path.failed)
        return cairn_fail_memory(a->err);
    return walk(a, 0);
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now); /* as file systems stamp */
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int cairn_symbol_store_add(const char *folder, const char *path,
                           const struct cairn_symbol_add_opts *opts,
                           struct cairn_symbol_added *added, struct cairn_err *err)
{
    struct cairn_symstore store;
    struct cairn_symstore_list list;
    struct cairn_symbol_added sum = {0}; /* those of a caller with an older struct are fewer */
    size_t size = added->size < sizeof sum ? added->size : sizeof sum;
    struct add a = {.store = &store, .sum = &sum, .err = err, .start_ns = now_ns()};
    if (opts)
        memcpy(&a.opts, opts, opts->size < sizeof a.opts ? opts->size : sizeof a.opts);
    memcpy(&sum, added, size);
    if (a.opts.keep_since_ns)
        a.start_ns = a.opts.keep_since_ns;
    int code = cairn_symstore_open(folder, true, &store, err);
    if (code < 0)
        return code;
    code = cairn_symstore_list(&store, true, &list, err);
    if (code == CAIRN_OK) {
        a.held_bytes = list.bytes;
        cairn_symstore_list_done(&list);
        code = add_path(&a, path);
    }
    cairn_buffer_done(&a.path);
    cairn_symstore_close(&store);
    memcpy(added, &sum, size);
    return code;
}
