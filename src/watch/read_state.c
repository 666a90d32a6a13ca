/* SPDX-License-Identifier: MIT */
#include "watch/read_state.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/zip.h"
#include "formats/heap_view.h"
#include "watch/heap.h"

/* One file while it is read. */
struct reading {
    int fd;
    const char *who;
    struct cairn_buffer bytes; /* of the size that is wanted; what was not read is zero */
    uint8_t *has_data;         /* by chunk */
    size_t n_chunks;           /* of those */
    size_t n_said;             /* by the header of a process, as far as its file reaches */
    struct cairn_err *err;
};

static int read_at(const struct reading *r, size_t from, size_t to, size_t *ret_end)
{
    while (from < to) {
        ssize_t n = pread(r->fd, r->bytes.data + from, to - from, (off_t)from);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return cairn_fail_os(r->err, errno, "%s", r->who);
        if (n == 0) /* cut off since */
            break;
        from += (size_t)n;
    }
    *ret_end = from;
    return CAIRN_OK;
}

/* The next part with data at or behind `at`; false: there is none. A file system without holes has
 * data everywhere. */
static bool next_data(const struct reading *r, size_t at, size_t *ret_from, size_t *ret_to)
{
    off_t from = lseek(r->fd, (off_t)at, SEEK_DATA);
    if (from < 0 && errno == ENXIO)
        return false;
    off_t to = from < 0 ? -1 : lseek(r->fd, from, SEEK_HOLE);
    *ret_from = from < 0 ? at : (size_t)from;
    *ret_to = to < 0 || (size_t)to > r->bytes.size ? r->bytes.size : (size_t)to;
    return *ret_from < *ret_to;
}

static int read_data(struct reading *r)
{
    size_t from, to, end = 0;
    for (size_t at = 0; next_data(r, at, &from, &to); at = to) {
        int code = read_at(r, from, to, &end);
        if (code < 0)
            return code;
        for (size_t i = from / CAIRN_HEAP_CHUNK; i * CAIRN_HEAP_CHUNK < end; i++)
            r->has_data[i] = 1;
        if (end < to)
            r->bytes.size = end;
    }
    return CAIRN_OK;
}

/*
 * The process may free a leaf while we read, and use its chunk for something else, with another
 * row: nothing that was read of such a leaf counts. A chunk in a hole was never used, whatever its
 * row says: the tracker allocates a chunk on the disk first.
 */
static void drop_rows(const struct reading *r, uint8_t *was, const struct cairn_heap_row *now,
                      size_t n, size_t first_chunk)
{
    for (size_t i = 0; i < n; i++) {
        struct cairn_heap_row row;
        memcpy(&row, was + i * sizeof row, sizeof row);
        size_t chunk = first_chunk + i;
        bool is_gone = row.kind == CAIRN_HEAP_LEAF && now && memcmp(&row, &now[i], sizeof row);
        if (is_gone || chunk >= r->n_chunks || !r->has_data[chunk])
            memset(was + i * sizeof row, 0, sizeof row);
    }
}

static void drop_unused(const struct reading *r)
{
    struct cairn_heap_row now[CAIRN_HEAP_TABLE_ROWS];
    size_t in_chunk = CAIRN_HEAP_HEADER_BYTES, n = CAIRN_HEAP_TABLE_AT, first = 0;
    for (size_t table = 0; (table + 1) * CAIRN_HEAP_CHUNK <= r->bytes.size;) {
        size_t at = table * CAIRN_HEAP_CHUNK + in_chunk, size = n * sizeof *now;
        if (r->has_data[table]) {
            bool again = pread(r->fd, now, size, (off_t)at) == (ssize_t)size;
            drop_rows(r, r->bytes.data + at, again ? now : NULL, n, first);
        }
        first += n;
        table = first;
        in_chunk = 0;
        n = CAIRN_HEAP_TABLE_ROWS;
    }
}

/* A file may hold several states one after the other. A tracker's own file has the size that its
 * state may grow to, and nothing behind the state. */
static bool has_data_behind(int fd, uint64_t size)
{
    return lseek(fd, (off_t)size, SEEK_DATA) >= 0 || errno != ENXIO;
}

/* How much of the file is wanted, by its first bytes. */
static int find_size(const struct reading *r, bool is_of_process, uint64_t file_size,
                     size_t *ret_size)
{
    struct cairn_heap_header header = {0};
    ssize_t n = pread(r->fd, &header, sizeof header, 0);
    struct cairn_span head = {(const uint8_t *)&header, n > 0 ? (size_t)n : 0};
    if (n < 0)
        return cairn_fail_os(r->err, errno, "%s", r->who);
    bool is_state = cairn_heap_view_sniff(head);
    if (!is_state && (is_of_process || !cairn_zip_is_gzip(head)))
        return cairn_fail(r->err, CAIRN_E_FORMAT,
                          "%s: no heap state: it does not begin with \"%s\"", r->who,
                          CAIRN_HEAP_MAGIC);
    uint64_t said =
        header.n_chunks < CAIRN_HEAP_MAX_CHUNKS ? header.n_chunks : CAIRN_HEAP_MAX_CHUNKS;
    uint64_t size = (said ? said : 1) * CAIRN_HEAP_CHUNK;
    if (size > file_size || (!is_of_process && has_data_behind(r->fd, size)))
        size = file_size;
    if (size > CAIRN_HEAP_STATES_MAX)
        return cairn_fail(r->err, CAIRN_E_LIMIT, "%s: larger than %zu bytes", r->who,
                          CAIRN_HEAP_STATES_MAX);
    *ret_size = (size_t)size;
    return CAIRN_OK;
}

/* The chunk behind the last one with data: what a header says of more is not worth memory. */
static size_t find_end_of_data(const struct reading *r)
{
    size_t from, to, end = 0;
    for (size_t at = 0; next_data(r, at, &from, &to); at = to)
        end = to;
    end = (end + CAIRN_HEAP_CHUNK - 1) / CAIRN_HEAP_CHUNK * CAIRN_HEAP_CHUNK;
    return end < r->bytes.size ? end : r->bytes.size;
}

/* Chunks that are none but a hole were never used: our copy of the header does not count them. */
static void forget_holes_behind(struct reading *r)
{
    struct cairn_heap_header header;
    size_t n_chunks = r->bytes.size / CAIRN_HEAP_CHUNK;
    if (r->bytes.size < sizeof header)
        return;
    memcpy(&header, r->bytes.data, sizeof header);
    if (header.n_chunks > n_chunks && header.n_chunks <= r->n_said)
        header.n_chunks = (uint32_t)n_chunks;
    memcpy(r->bytes.data, &header, sizeof header);
}

static int read_all(struct reading *r, size_t size, bool is_of_process)
{
    r->bytes.size = size;
    if (is_of_process) {
        r->n_said = size / CAIRN_HEAP_CHUNK;
        r->bytes.size = find_end_of_data(r);
    }
    r->n_chunks = r->bytes.size / CAIRN_HEAP_CHUNK + 1;
    r->has_data = cairn_alloc(r->n_chunks, 1);
    r->bytes.data = cairn_alloc(r->bytes.size + 1, 1); /* pages of holes are never touched */
    if (!r->has_data || !r->bytes.data)
        return cairn_fail_memory(r->err);
    r->bytes.cap = r->bytes.size + 1;
    int code = read_data(r);
    if (code == CAIRN_OK && is_of_process)
        forget_holes_behind(r);
    if (code == CAIRN_OK && cairn_heap_view_sniff(cairn_buffer_span(&r->bytes)))
        drop_unused(r);
    return code;
}

int cairn_heap_read_state(int fd, const char *who, bool is_of_process,
                          struct cairn_buffer *ret_bytes, struct cairn_err *err)
{
    struct reading r = {.fd = fd, .who = who, .err = err};
    struct stat st;
    size_t size = 0;
    if (fstat(fd, &st) < 0)
        return cairn_fail_os(err, errno, "%s", who);
    if (!S_ISREG(st.st_mode))
        return cairn_fail(err, CAIRN_E_FORMAT, "%s: no regular file", who);
    int code = find_size(&r, is_of_process, (uint64_t)st.st_size, &size);
    if (code == CAIRN_OK)
        code = read_all(&r, size, is_of_process);
    cairn_free(r.has_data);
    if (code < 0)
        cairn_buffer_done(&r.bytes);
    else
        *ret_bytes = r.bytes;
    return code;
}
