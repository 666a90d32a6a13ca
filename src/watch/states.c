/* SPDX-License-Identifier: MIT */
/* State files into memory: by path, of a folder, of a process. Nothing is mapped: the process could
 * cut its file off under our hands. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cairn/maps.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/zip.h"
#include "watch/heap.h"

#define ENDING ".heap"

enum { PATH_BYTES = PATH_MAX + 64 };
static const size_t STATES_MAX = SIZE_MAX / 2 > UINT32_MAX ? (size_t)(UINT64_C(1) << 36)
                                                           : SIZE_MAX / 4; /* bytes */

uint64_t cairn_heap_now(void)
{
    return cairn_now_ns();
}

void cairn_heap_free(struct cairn_heap *heap)
{
    if (!heap)
        return;
    for (size_t i = 0; i < heap->n; i++) {
        cairn_heap_sums_done(&heap->states[i].sums);
        cairn_heap_view_close(&heap->states[i].view);
        cairn_buffer_done(&heap->states[i].bytes);
    }
    for (size_t i = 0; i < heap->n_places; i++)
        cairn_heap_place_done(&heap->places[i]);
    cairn_free(heap->places);
    cairn_free(heap->states);
    cairn_free(heap);
}

int cairn_heap_add_to(struct cairn_heap_state *state, const struct cairn_heap_sums *sums,
                      struct cairn_profile *profile, uint32_t *ret_stacks, struct cairn_err *err)
{
    state->view.n_damaged = 0;
    int result = cairn_heap_profile_add(&state->view, sums, profile, ret_stacks, err);
    state->n_damaged_stacks = state->view.n_damaged;
    return result;
}

/* One state at the start of `bytes`, which stay whose they are. */
static int add_state(struct cairn_heap *heap, struct cairn_span bytes, uint64_t read_ns,
                     size_t *ret_size, struct cairn_err *err)
{
    struct cairn_heap_state state = {.read_ns = read_ns};
    int result = cairn_heap_view_open(bytes, &state.view, ret_size, err);
    if (result < 0)
        return result;
    result = cairn_heap_sums_make(&state.view, &CAIRN_HEAP_ALL, &state.sums, err);
    if (result == CAIRN_OK &&
        cairn_grow((void **)&heap->states, &heap->cap, heap->n + 1, sizeof *heap->states) < 0)
        result = cairn_fail_memory(err);
    if (result < 0) {
        cairn_heap_sums_done(&state.sums);
        cairn_heap_view_close(&state.view);
        return result;
    }
    state.n_damaged = state.view.n_damaged;
    heap->states[heap->n++] = state;
    return CAIRN_OK;
}

/* The bytes belong to the first of the states that lie in them. */
int cairn_heap_take(struct cairn_heap *heap, struct cairn_buffer *bytes, uint64_t read_ns,
                    struct cairn_err *err)
{
    struct cairn_span left = cairn_buffer_span(bytes);
    size_t first = heap->n, size;
    do {
        int result = add_state(heap, left, read_ns, &size, err);
        if (result < 0 && heap->n == first) {
            cairn_buffer_done(bytes);
            return result;
        }
        if (result < 0) {
            cairn_log_err(CAIRN_LOG_WARNING, err);
            break;
        }
        left = (struct cairn_span){left.data + size, left.size - size};
    } while (cairn_heap_view_sniff(left));
    heap->states[first].bytes = *bytes;
    *bytes = (struct cairn_buffer){0};
    return CAIRN_OK;
}

/* Its process may give a leaf back while we read, and make something else of the chunk: whose row
 * is another one by then. Of such a leaf nothing counts that was read. */
static void drop_gone_leaves(int fd, const struct cairn_buffer *bytes)
{
    static const size_t first_at = CAIRN_HEAP_HEADER_BYTES, chunk = CAIRN_HEAP_CHUNK;
    struct cairn_heap_row now[CAIRN_HEAP_TABLE_ROWS];
    size_t at = first_at, n = CAIRN_HEAP_TABLE_AT;
    for (size_t table = 0; table * chunk + chunk <= bytes->size;
         table = table ? table + CAIRN_HEAP_TABLE_ROWS : CAIRN_HEAP_TABLE_AT) {
        uint8_t *was = bytes->data + table * chunk + at;
        if (pread(fd, now, n * sizeof *now, (off_t)(table * chunk + at)) ==
            (ssize_t)(n * sizeof *now))
            for (size_t i = 0; i < n; i++) {
                struct cairn_heap_row row;
                memcpy(&row, was + i * sizeof row, sizeof row);
                if (row.kind == CAIRN_HEAP_LEAF && memcmp(&row, &now[i], sizeof row) != 0)
                    memset(was + i * sizeof row, 0, sizeof row);
            }
        at = 0;
        n = CAIRN_HEAP_TABLE_ROWS;
    }
}

/* All of it, though it may grow meanwhile. */
static int read_fd(int fd, const char *who, struct cairn_buffer *ret_bytes, struct cairn_err *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return cairn_fail_os(err, errno, "%s", who);
    if (!S_ISREG(st.st_mode))
        return cairn_fail(err, CAIRN_E_FORMAT, "%s: no regular file", who);
    if ((uint64_t)st.st_size > STATES_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, "%s: larger than %zu bytes", who, STATES_MAX);
    if (!cairn_buffer_reserve(ret_bytes, (size_t)st.st_size + 1))
        return cairn_fail_memory(err);
    for (size_t size = (size_t)st.st_size; ret_bytes->size < size;) {
        ssize_t n = pread(fd, ret_bytes->data + ret_bytes->size, size - ret_bytes->size,
                          (off_t)ret_bytes->size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return cairn_fail_os(err, errno, "%s", who);
        if (n == 0) /* cut off since */
            break;
        ret_bytes->size += (size_t)n;
    }
    if (cairn_heap_view_sniff(cairn_buffer_span(ret_bytes)))
        drop_gone_leaves(fd, ret_bytes);
    return CAIRN_OK;
}

static int unzip(const char *who, struct cairn_buffer *bytes, struct cairn_err *err)
{
    struct cairn_buffer plain = {0};
    int result = cairn_zip_gunzip(cairn_buffer_span(bytes), STATES_MAX, &plain, err);
    cairn_buffer_done(bytes);
    *bytes = plain;
    return cairn_fail_in(err, result, who);
}

/* `flags` of open(2) beside O_RDONLY. */
static int read_path(struct cairn_heap *heap, const char *path, int flags, uint64_t read_ns,
                     struct cairn_err *err)
{
    struct cairn_buffer bytes = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
    if (fd < 0)
        return cairn_fail_os(err, errno, "%s", path);
    int result = read_fd(fd, path, &bytes, err);
    close(fd);
    if (result == CAIRN_OK && cairn_zip_is_gzip(cairn_buffer_span(&bytes)))
        result = unzip(path, &bytes, err);
    if (result < 0) {
        cairn_buffer_done(&bytes);
        return result;
    }
    result = cairn_heap_take(heap, &bytes, read_ns, err);
    return result < 0 ? cairn_fail_in(err, result, path) : CAIRN_OK;
}

static int new_heap(struct cairn_heap **ret_heap, struct cairn_err *err)
{
    *ret_heap = cairn_alloc(1, sizeof **ret_heap);
    return *ret_heap ? CAIRN_OK : cairn_fail_memory(err);
}

int cairn_heap_read_file(const char *path, struct cairn_heap **ret_heap, struct cairn_err *err)
{
    struct cairn_heap *heap;
    int result = new_heap(&heap, err);
    if (result == CAIRN_OK)
        result = read_path(heap, path, 0, 0, err);
    if (result < 0)
        cairn_heap_free(heap);
    else
        *ret_heap = heap;
    return result;
}

static bool is_state_name(const char *name)
{
    size_t size = strlen(name), tail = strlen(ENDING);
    return size > tail && strcmp(name + size - tail, ENDING) == 0;
}

static int read_entries(DIR *folder, const char *path, struct cairn_heap *heap,
                        struct cairn_err *err)
{
    char file[PATH_BYTES];
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (!is_state_name(entry->d_name))
            continue;
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        int result = read_path(heap, file, O_NOFOLLOW | O_NONBLOCK, 0, err);
        if (result == CAIRN_E_NOMEM)
            return result;
        if (result < 0)
            cairn_log_err(CAIRN_LOG_WARNING, err);
    }
    return CAIRN_OK;
}

/* By the time of their start: the program that was asked for comes first. */
static int compare_states(const void *x, const void *y)
{
    const struct cairn_heap_state *a = x, *b = y;
    if (a->view.header.begin_ns != b->view.header.begin_ns)
        return a->view.header.begin_ns < b->view.header.begin_ns ? -1 : 1;
    return a->view.header.pid < b->view.header.pid ? -1 : 1;
}

int cairn_heap_read_folder(const char *path, struct cairn_heap **ret_heap, struct cairn_err *err)
{
    struct cairn_heap *heap;
    DIR *folder = opendir(path);
    if (!folder)
        return cairn_fail_os(err, errno, "%s", path);
    int result = new_heap(&heap, err);
    if (result == CAIRN_OK)
        result = read_entries(folder, path, heap, err);
    closedir(folder);
    if (result == CAIRN_OK && heap->n == 0)
        result = cairn_fail(err, CAIRN_E_MISSING, "%s: holds no state of a tracked process", path);
    if (result < 0) {
        cairn_heap_free(heap);
        return result;
    }
    qsort(heap->states, heap->n, sizeof *heap->states, compare_states);
    *ret_heap = heap;
    return CAIRN_OK;
}

int cairn_heap_path_of(int pid, struct cairn_buffer *ret_path, struct cairn_err *err)
{
    struct cairn_maps *maps;
    int result = cairn_maps_read_pid(pid, &maps, err);
    if (result < 0)
        return result;
    const struct cairn_map *found = NULL;
    for (size_t i = 0; !found && i < cairn_maps_count(maps); i++) {
        const struct cairn_map *map = cairn_maps_get(maps, i);
        const uint32_t wanted = CAIRN_MAP_SHARED | CAIRN_MAP_WRITE | CAIRN_MAP_FILE;
        if ((map->flags & wanted) == wanted && is_state_name(map->path))
            found = map;
    }
    if (found)
        cairn_buffer_printf(ret_path, "/proc/%d/map_files/%llx-%llx", pid,
                            (unsigned long long)found->start, (unsigned long long)found->end);
    /* That folder is root's alone. */
    if (found && access(cairn_buffer_text(ret_path), R_OK) < 0) {
        cairn_buffer_clear(ret_path);
        cairn_buffer_printf(ret_path, "/proc/%d/root%s", pid, found->path);
    }
    cairn_maps_free(maps);
    if (ret_path->failed)
        return cairn_fail_memory(err);
    if (found)
        return CAIRN_OK;
    cairn_fail(err, CAIRN_E_MISSING, "process %d is not tracked", pid);
    cairn_hint(err, "start it as cairn heap run -- COMMAND, or with what cairn heap env prints");
    return CAIRN_E_MISSING;
}

int cairn_heap_read_pid(int pid, struct cairn_heap **ret_heap, struct cairn_err *err)
{
    struct cairn_buffer path = {0};
    struct cairn_heap *heap = NULL;
    int result = cairn_heap_path_of(pid, &path, err);
    if (result == CAIRN_OK)
        result = new_heap(&heap, err);
    if (result == CAIRN_OK)
        result = read_path(heap, cairn_buffer_text(&path), O_NONBLOCK, cairn_heap_now(), err);
    cairn_buffer_done(&path);
    if (result < 0)
        cairn_heap_free(heap);
    else
        *ret_heap = heap;
    return result;
}
