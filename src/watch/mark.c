/* SPDX-License-Identifier: MIT */
/*
 * A mark is an epoch that begins because somebody said so. The process that is marked goes on: the
 * next epoch's row is written first, then its number. Should the process begin that epoch itself at
 * the same moment, it may write over the row; then it is tried again with the one after.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "watch/heap.h"
#include "watch/open_state.h"

enum {
    TRIES = 5,
    PATH_BYTES = 64,
    STATM_MAX = 4096,
    PER_CHUNK = CAIRN_HEAP_CHUNK / sizeof(struct cairn_heap_epoch)
};

static bool write_at(int fd, const void *bytes, size_t size, uint64_t off)
{
    return pwrite(fd, bytes, size, (off_t)off) == (ssize_t)size;
}

static bool read_at(int fd, void *bytes, size_t size, uint64_t off)
{
    return pread(fd, bytes, size, (off_t)off) == (ssize_t)size;
}

/* Where the row of an epoch lies in the file; 0: its chunk is not there yet. */
static uint64_t off_of_epoch(const struct cairn_heap_view *view, uint32_t epoch)
{
    uint32_t part = epoch / PER_CHUNK;
    uint32_t chunk = part < view->epochs.n ? view->epochs.chunks[part] : 0;
    return chunk ? (uint64_t)chunk * CAIRN_HEAP_CHUNK +
                       epoch % PER_CHUNK * sizeof(struct cairn_heap_epoch)
                 : 0;
}

/* The resident memory of a process (proc(5), statm), -1 where it is not known. */
static int64_t resident_bytes(int pid)
{
    char path[PATH_BYTES];
    long long pages = -1;
    struct cairn_buffer text = {0};
    snprintf(path, sizeof path, "/proc/%d/statm", pid);
    if (cairn_file_slurp(path, STATM_MAX, &text, NULL) < 0 ||
        sscanf(cairn_buffer_text(&text), "%*s %lld", &pages) != 1)
        pages = -1;
    cairn_buffer_done(&text);
    return pages < 0 ? -1 : pages * sysconf(_SC_PAGESIZE);
}

/* False: the process was faster, or the file is gone. */
static bool set_mark(int fd, int pid, const struct cairn_heap_view *view, uint32_t *ret_mark)
{
    const uint64_t epoch_at = offsetof(struct cairn_heap_header, epoch);
    const uint64_t marks_at = offsetof(struct cairn_heap_header, n_marks);
    const uint64_t live_at = offsetof(struct cairn_heap_header, live_bytes);
    uint32_t epoch, mark;
    int64_t live = -1;
    if (!read_at(fd, &epoch, sizeof epoch, epoch_at) || !read_at(fd, &mark, sizeof mark, marks_at))
        return false;
    epoch++;
    mark++;
    (void)read_at(fd, &live, sizeof live, live_at);
    uint64_t off = off_of_epoch(view, epoch);
    if (epoch >= CAIRN_HEAP_MAX_EPOCHS || !off)
        return false;
    struct cairn_heap_epoch row = {.begin_ns = cairn_heap_now(),
                                   .live_bytes = live,
                                   .rss_bytes = resident_bytes(pid),
                                   .mark = mark};
    if (!write_at(fd, &row, sizeof row, off) || !write_at(fd, &epoch, sizeof epoch, epoch_at) ||
        !write_at(fd, &mark, sizeof mark, marks_at) || !cairn_heap_turn_state(fd) ||
        !read_at(fd, &row, sizeof row, off))
        return false;
    *ret_mark = mark;
    return row.mark == mark;
}

static int mark_fd(int fd, int pid, const struct cairn_heap *heap, uint32_t *ret_mark,
                   struct cairn_err *err)
{
    for (int i = 0; i < TRIES; i++)
        if (set_mark(fd, pid, &heap->states[0].view, ret_mark))
            return CAIRN_OK;
    cairn_fail(err, CAIRN_E_IO, "process %d: no mark could be set", pid);
    cairn_hint(err, "its line of time is full, or it ended; look with cairn heap report %d", pid);
    return CAIRN_E_IO;
}

/* What is read and what is written is one file: between two opens the process could put another in
 * its place. */
int cairn_heap_mark(int pid, uint32_t *ret_mark, struct cairn_err *err)
{
    struct cairn_buffer who = {0};
    struct cairn_heap *heap = NULL;
    int fd = -1, result = cairn_heap_open_state(pid, O_RDWR, &who, &fd, err);
    int to_read = result == CAIRN_OK ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
    if (result == CAIRN_OK)
        result = to_read < 0 ? cairn_fail_os(err, errno, "%s", cairn_buffer_text(&who))
                             : cairn_heap_read_opened(to_read, cairn_buffer_text(&who), &heap, err);
    if (result == CAIRN_OK)
        result = mark_fd(fd, pid, heap, ret_mark, err);
    if (fd >= 0)
        close(fd);
    cairn_buffer_done(&who);
    cairn_heap_free(heap);
    return result;
}
