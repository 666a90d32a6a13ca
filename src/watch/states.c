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
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/zip.h"
#include "watch/core.h"
#include "watch/open_state.h"
#include "watch/read_state.h"

#define ENDING ".heap"

enum { PATH_BYTES = PATH_MAX + 64 };

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
    for (size_t i = 0; i < heap->n_untracked; i++)
        cairn_free(heap->untracked[i].path);
    cairn_free(heap->untracked);
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

static int unzip(const char *who, struct cairn_buffer *bytes, struct cairn_err *err)
{
    struct cairn_buffer plain = {0};
    int result = cairn_zip_gunzip(cairn_buffer_span(bytes), CAIRN_HEAP_STATES_MAX, &plain, err);
    cairn_buffer_done(bytes);
    *bytes = plain;
    return cairn_fail_in(err, result, who);
}

/* Records in the copy that the process was running: a later reader of the file cannot find out. */
static bool note_running(struct cairn_buffer *bytes)
{
    struct cairn_heap_header header;
    if (bytes->size < sizeof header)
        return false;
    memcpy(&header, bytes->data, sizeof header);
    header.flags &= ~(uint32_t)CAIRN_HEAP_WAS_RUNNING;
    bool is_running = cairn_heap_is_running(&header);
    header.flags |= is_running ? CAIRN_HEAP_WAS_RUNNING : 0;
    memcpy(bytes->data, &header, sizeof header);
    return is_running;
}

/* `is_of_process`: read_state.h. Closes `fd`. */
static int read_fd(struct cairn_heap *heap, int fd, const char *who, bool is_of_process,
                   uint64_t read_ns, struct cairn_err *err)
{
    struct cairn_buffer bytes = {0};
    int result = cairn_heap_read_state(fd, who, is_of_process, &bytes, err);
    close(fd);
    if (result == CAIRN_OK && !is_of_process && cairn_zip_is_gzip(cairn_buffer_span(&bytes)))
        result = unzip(who, &bytes, err);
    if (result < 0) {
        cairn_buffer_done(&bytes);
        return result;
    }
    if (is_of_process && note_running(&bytes))
        read_ns = cairn_heap_now();
    result = cairn_heap_take(heap, &bytes, read_ns, err);
    return result < 0 ? cairn_fail_in(err, result, who) : CAIRN_OK;
}

static int new_heap(struct cairn_heap **ret_heap, struct cairn_err *err)
{
    *ret_heap = cairn_alloc(1, sizeof **ret_heap);
    return *ret_heap ? CAIRN_OK : cairn_fail_memory(err);
}

static int read_core(const char *path, struct cairn_heap **ret_heap, struct cairn_err *err)
{
    struct cairn_heap_core *core;
    int code = cairn_heap_core_open(path, &core, err);
    if (code < 0)
        return code;
    code = cairn_fail_in(err, cairn_heap_core_read(core, ret_heap, err), path);
    cairn_heap_core_close(core);
    return code;
}

int cairn_heap_read_file(const char *path, struct cairn_heap **ret_heap, struct cairn_err *err)
{
    struct cairn_heap *heap;
    if (cairn_heap_is_core(path))
        return read_core(path, ret_heap, err);
    int result = new_heap(&heap, err);
    int fd = result == CAIRN_OK ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (result == CAIRN_OK)
        result =
            fd < 0 ? cairn_fail_os(err, errno, "%s", path) : read_fd(heap, fd, path, false, 0, err);
    if (result < 0)
        cairn_heap_free(heap);
    else
        *ret_heap = heap;
    return result;
}

bool cairn_heap_is_state_name(const char *name)
{
    size_t size = strlen(name), tail = strlen(ENDING);
    return size > tail && strcmp(name + size - tail, ENDING) == 0;
}

static int read_entries(DIR *folder, const char *path, struct cairn_heap *heap,
                        struct cairn_err *err)
{
    char file[PATH_BYTES];
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (!cairn_heap_is_state_name(entry->d_name))
            continue;
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        int fd = openat(dirfd(folder), entry->d_name,
                        O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        int result =
            fd < 0 ? cairn_fail_os(err, errno, "%s", file) : read_fd(heap, fd, file, true, 0, err);
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

int cairn_heap_read_opened(int fd, const char *who, struct cairn_heap **ret_heap,
                           struct cairn_err *err)
{
    struct cairn_heap *heap;
    int result = new_heap(&heap, err);
    if (result < 0) {
        close(fd);
        return result;
    }
    result = read_fd(heap, fd, who, true, cairn_heap_now(), err);
    if (result < 0)
        cairn_heap_free(heap);
    else
        *ret_heap = heap;
    return result;
}

int cairn_heap_read_pid(int pid, struct cairn_heap **ret_heap, struct cairn_err *err)
{
    struct cairn_buffer who = {0};
    int fd, result = cairn_heap_open_state(pid, O_RDONLY, &who, &fd, err);
    if (result == CAIRN_OK)
        result = cairn_heap_read_opened(fd, cairn_buffer_text(&who), ret_heap, err);
    cairn_buffer_done(&who);
    return result;
}
