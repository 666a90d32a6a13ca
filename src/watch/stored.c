/* SPDX-License-Identifier: MIT */
/*
 * State files where they lie. Their names and what is in them are anybody's: no link is followed,
 * and what is removed is told by device and inode right before.
 *
 *     PID-STARTTICKS[.N].heap in $XDG_RUNTIME_DIR/cairn-heap, /dev/shm/cairn-heap-UID, ...: of
 *                             trackers that were told no folder (heap/settings.c)
 *     the same in .../cairn-heap.XXXXXX: of `cairn heap run` (session.c), which locks the folder
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cairn/heap.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "formats/heap_view.h"
#include "proc/threads.h"
#include "rt/heap_state.h"
#include "watch/heap.h"

enum { PATH_BYTES = 4096, NAME_BYTES = 256, PLACES = 5, COMMAND_BYTES = 256 };

struct state {
    char name[NAME_BYTES], command[COMMAND_BYTES];
    struct cairn_heap_stored info;
};

struct folder {
    const char *path;
    int fd;
    DIR *entries;
    bool is_locked;
    uint64_t our_space; /* the pid namespace in which our pids count; 0: not known */
    struct state *states;
    size_t n, cap;
};

static uint64_t ns_of(struct timespec at)
{
    return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

/* What the file says of itself: its header, read as who believes nothing. `ret_space`: in which
 * namespace its pid counts; 0: it does not say. */
static void take_header(struct state *state, int fd, uint64_t *ret_space, uint32_t *ret_flags)
{
    struct cairn_heap_view view;
    struct cairn_buffer head = {0};
    size_t size;
    if (!cairn_buffer_reserve(&head, CAIRN_HEAP_CHUNK))
        return;
    ssize_t n = pread(fd, head.data, CAIRN_HEAP_CHUNK, 0);
    head.size = n > 0 ? (size_t)n : 0;
    if (cairn_heap_view_open(cairn_buffer_span(&head), &view, &size, NULL) == CAIRN_OK) {
        memcpy(state->command, view.header.command, COMMAND_BYTES);
        state->info.start_ns = view.header.begin_ns;
        *ret_space = view.header.pid_space;
        *ret_flags = view.header.flags;
        cairn_heap_view_close(&view);
    }
    cairn_buffer_done(&head);
}

static uint64_t our_space(void)
{
    struct stat st;
    return stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
}

/* Of our namespace; a zombie has ended. */
static bool is_running(int pid, uint64_t ticks)
{
    struct cairn_thread_stat stat;
    if (kill(pid, 0) < 0 && errno == ESRCH)
        return false;
    if (cairn_thread_stat(pid, pid, &stat, NULL) < 0)
        return true; /* hidden from us (proc(5), hidepid) */
    return stat.state != 'Z' && (!ticks || stat.start_ticks == ticks);
}

static enum cairn_heap_stored_status status_of(int pid, uint64_t ticks, uint64_t space,
                                               uint64_t ours, uint32_t flags)
{
    if (space && space != ours)
        return flags & CAIRN_HEAP_ENDED ? CAIRN_HEAP_STORED_ENDED : CAIRN_HEAP_STORED_UNKNOWN;
    if (!is_running(pid, ticks))
        return CAIRN_HEAP_STORED_ENDED;
    return flags & CAIRN_HEAP_EXECED ? CAIRN_HEAP_STORED_EXECED : CAIRN_HEAP_STORED_RUNNING;
}

bool cairn_heap_is_running(const struct cairn_heap_header *header)
{
    return header->pid && header->pid <= INT_MAX && header->start_ticks &&
           status_of((int)header->pid, header->start_ticks, header->pid_space, our_space(),
                     header->flags) == CAIRN_HEAP_STORED_RUNNING;
}

/* False: it is no state's name, or no file. */
static bool take_state(const struct folder *folder, const char *name, struct state *state,
                       struct stat *ret_st)
{
    int pid, end = -1;
    uint64_t ticks, space = 0;
    uint32_t flags = 0;
    size_t size = strlen(name), tail = strlen(".heap");
    if (size >= NAME_BYTES || size <= tail || strcmp(name + size - tail, ".heap") != 0 ||
        sscanf(name, "%9d-%19" SCNu64 "%n", &pid, &ticks, &end) != 2 || end < 0 ||
        name[end] != '.' || pid <= 0)
        return false;
    int fd = openat(folder->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    *state = (struct state){.info = {.size = sizeof state->info, .pid = pid}};
    memcpy(state->name, name, size + 1);
    bool done = fstat(fd, ret_st) == 0 && S_ISREG(ret_st->st_mode);
    if (done) {
        take_header(state, fd, &space, &flags);
        state->info.bytes = (uint64_t)ret_st->st_blocks * 512; /* stat(2) */
        state->info.written_ns = ns_of(ret_st->st_mtim);
        state->info.status = status_of(pid, ticks, space, folder->our_space, flags);
    }
    close(fd);
    return done;
}

/* Somebody who waits for its states has it locked. */
static bool is_locked(int fd)
{
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK;
    (void)flock(fd, LOCK_UN);
    return false;
}

static int open_folder(const char *path, struct folder *ret_folder)
{
    struct folder folder = {.path = path, .our_space = our_space()};
    folder.fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder.fd < 0)
        return -errno;
    folder.is_locked = is_locked(folder.fd);
    folder.entries = fdopendir(folder.fd);
    if (!folder.entries) {
        close(folder.fd);
        return -ENOMEM;
    }
    *ret_folder = folder;
    return 0;
}

static void close_folder(struct folder *folder)
{
    closedir(folder->entries);
    cairn_free(folder->states);
}

static int compare_states(const void *x, const void *y)
{
    const struct state *a = x, *b = y;
    if (a->info.start_ns != b->info.start_ns)
        return a->info.start_ns < b->info.start_ns ? -1 : 1;
    return strcmp(a->name, b->name);
}

static int list(struct folder *folder, struct cairn_err *err)
{
    struct state state;
    struct stat st;
    for (struct dirent *entry; (entry = readdir(folder->entries));) {
        if (!take_state(folder, entry->d_name, &state, &st))
            continue;
        if (cairn_grow((void **)&folder->states, &folder->cap, folder->n + 1,
                       sizeof *folder->states) < 0)
            return cairn_fail_memory(err);
        folder->states[folder->n++] = state;
    }
    if (folder->n)
        qsort(folder->states, folder->n, sizeof *folder->states, compare_states);
    return CAIRN_OK;
}

static int tell(const struct folder *folder, cairn_heap_stored_fn each, void *ctx,
                struct cairn_err *err)
{
    char path[PATH_BYTES + NAME_BYTES];
    for (size_t i = 0; i < folder->n; i++) {
        struct cairn_heap_stored info = folder->states[i].info;
        snprintf(path, sizeof path, "%s/%s", folder->path, folder->states[i].name);
        info.path = path;
        info.command = folder->states[i].command;
        info.is_of_run = folder->is_locked;
        if (each(ctx, &info) != 0)
            return cairn_fail(err, CAIRN_E_STOPPED, "stopped as it was asked to");
    }
    return CAIRN_OK;
}

static int each_of(const char *path, bool is_named, cairn_heap_stored_fn each, void *ctx,
                   struct cairn_err *err)
{
    struct folder folder;
    int os = open_folder(path, &folder);
    if (os < 0)
        return is_named ? cairn_fail_os(err, -os, "%s", path) : CAIRN_OK;
    int result = list(&folder, err);
    if (result == CAIRN_OK)
        result = tell(&folder, each, ctx, err);
    close_folder(&folder);
    return result;
}

/* A folder that others may write into, or of another user, is none of ours. */
static bool is_ours_alone(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
           (st.st_mode & 077) == 0;
}

/* "cairn-heap", "cairn-heap-UID", "cairn-heap.XXXXXX" */
static bool is_ours_by_name(const char *name)
{
    char with_uid[NAME_BYTES];
    snprintf(with_uid, sizeof with_uid, CAIRN_HEAP_FOLDER "-%u", (unsigned)geteuid());
    return strcmp(name, CAIRN_HEAP_FOLDER) == 0 || strcmp(name, with_uid) == 0 ||
           strncmp(name, CAIRN_HEAP_RUN_FOLDER, strlen(CAIRN_HEAP_RUN_FOLDER)) == 0;
}

static bool is_same(const char *path, const char *other)
{
    struct stat a, b;
    return other && stat(path, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* Of `place` all but the folder `named`, which has its turn by itself. */
static int each_below(const char *place, const char *named, cairn_heap_stored_fn each, void *ctx,
                      struct cairn_err *err)
{
    char path[PATH_BYTES];
    int result = CAIRN_OK;
    DIR *entries = opendir(place);
    for (struct dirent *entry; entries && result == CAIRN_OK && (entry = readdir(entries));) {
        int n = snprintf(path, sizeof path, "%s/%s", place, entry->d_name);
        if (n > 0 && (size_t)n < sizeof path && is_ours_by_name(entry->d_name) &&
            is_ours_alone(path) && !is_same(path, named))
            result = each_of(path, false, each, ctx, err);
    }
    if (entries)
        closedir(entries);
    return result;
}

/* Where somebody logs in without a session, the folder may be there all the same. */
static size_t find_places(char runtime[PATH_BYTES], const char *ret_places[static PLACES])
{
    size_t n = 0;
    snprintf(runtime, PATH_BYTES, "/run/user/%u", (unsigned)geteuid());
    const char *const places[PLACES] = {getenv("XDG_RUNTIME_DIR"), runtime, "/dev/shm",
                                        getenv("TMPDIR"), "/tmp"};
    for (size_t i = 0; i < PLACES; i++) {
        bool is_new = places[i] && places[i][0] == '/';
        for (size_t k = 0; is_new && k < n; k++)
            is_new = strcmp(places[i], ret_places[k]) != 0;
        if (is_new)
            ret_places[n++] = places[i];
    }
    return n;
}

int cairn_heap_each_stored(const char *folder, cairn_heap_stored_fn each, void *ctx,
                           struct cairn_err *err)
{
    char runtime[PATH_BYTES];
    const char *places[PLACES], *named = getenv("CAIRN_HEAP_DIR");
    if (folder)
        return each_of(folder, true, each, ctx, err);
    int result = CAIRN_OK;
    size_t n = find_places(runtime, places);
    for (size_t i = 0; result == CAIRN_OK && i < n; i++)
        result = each_below(places[i], named, each, ctx, err);
    if (result == CAIRN_OK && named && *named)
        result = each_of(named, false, each, ctx, err);
    return result;
}

/* Only what was told, and only as long as that holds. */
static int remove_one(struct folder *folder, const char *name, struct cairn_err *err)
{
    struct state state;
    struct stat st;
    if (!take_state(folder, name, &state, &st))
        return cairn_fail(err, CAIRN_E_ARG, "%s/%s: no state file", folder->path, name);
    if (state.info.status != CAIRN_HEAP_STORED_ENDED)
        return cairn_fail(err, CAIRN_E_ARG, "%s/%s: its process has not ended", folder->path, name);
    if (st.st_uid != geteuid())
        return cairn_fail(err, CAIRN_E_ARG, "%s/%s: another user's", folder->path, name);
    if (unlinkat(folder->fd, name, 0) < 0)
        return cairn_fail_os(err, errno, "%s/%s", folder->path, name);
    return CAIRN_OK;
}

int cairn_heap_remove_stored(const struct cairn_heap_stored *stored, struct cairn_err *err)
{
    char path[PATH_BYTES];
    struct folder folder = {0};
    const char *slash = strrchr(stored->path, '/');
    if (!slash || (size_t)(slash - stored->path) >= sizeof path)
        return cairn_fail(err, CAIRN_E_ARG, "%s: no state file", stored->path);
    snprintf(path, sizeof path, "%.*s", (int)(slash - stored->path), stored->path);
    int os = open_folder(path, &folder);
    if (os < 0)
        return cairn_fail_os(err, -os, "%s", path);
    int result = folder.is_locked
                     ? cairn_fail(err, CAIRN_E_ARG, "%s: cairn heap run waits for it", stored->path)
                     : remove_one(&folder, slash + 1, err);
    close_folder(&folder);
    /* What a run left, which was killed; not empty, it stays. */
    const char *name = strrchr(path, '/');
    if (result == CAIRN_OK && name &&
        strncmp(name + 1, CAIRN_HEAP_RUN_FOLDER, strlen(CAIRN_HEAP_RUN_FOLDER)) == 0)
        (void)rmdir(path);
    return result;
}
