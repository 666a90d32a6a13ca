/* SPDX-License-Identifier: MIT */
#include "profile/packed_run.h"

#include "base/alloc.h"
#include "base/reader.h"

static uint64_t zigzag(uint64_t value)
{
    return value << 1 ^ (value >> 63 ? UINT64_MAX : 0);
}

static uint64_t unzigzag(uint64_t value)
{
    return value >> 1 ^ (value & 1 ? UINT64_MAX : 0);
}

/* What each value but the first is expected to be. Unsigned: it may go round, there and back. */
static uint64_t expected(const struct cairn_packed_kind *kind, const int64_t *values)
{
    return (uint64_t)values[0] * (uint64_t)kind->period;
}

void cairn_packed_path_done(struct cairn_packed_path *path)
{
    cairn_free(path->frames);
    cairn_free(path->labels);
    cairn_free(path->values);
    *path = (struct cairn_packed_path){0};
}

int cairn_packed_path_add(struct cairn_packed_path *path, const struct cairn_packed_kind *kind,
                          uint32_t labels, const int64_t *values)
{
    size_t n_types = kind->n_types;
    if (cairn_grow((void **)&path->labels, &path->cap_labels, path->n_rows + 1,
                   sizeof *path->labels) < 0 ||
        cairn_grow((void **)&path->values, &path->cap_values, (path->n_rows + 1) * n_types,
                   sizeof *path->values) < 0)
        return CAIRN_E_NOMEM;
    path->labels[path->n_rows] = labels;
    memcpy(path->values + path->n_rows * n_types, values, n_types * sizeof *values);
    path->n_rows++;
    return CAIRN_OK;
}

static void swap_rows(struct cairn_packed_path *path, size_t n_types, size_t a, size_t b)
{
    uint32_t labels = path->labels[a];
    path->labels[a] = path->labels[b];
    path->labels[b] = labels;
    for (size_t k = 0; k < n_types; k++) {
        int64_t value = path->values[a * n_types + k];
        path->values[a * n_types + k] = path->values[b * n_types + k];
        path->values[b * n_types + k] = value;
    }
}

/* Moves the row at `top` down until none below it is larger. */
static void sift(struct cairn_packed_path *path, size_t n_types, size_t top, size_t n)
{
    for (size_t child; (child = 2 * top + 1) < n; top = child) {
        if (child + 1 < n && path->labels[child] < path->labels[child + 1])
            child++;
        if (path->labels[top] >= path->labels[child])
            return;
        swap_rows(path, n_types, top, child);
    }
}

/* Heap sort, for two arrays are moved together; most paths have one row. */
static void sort_rows(struct cairn_packed_path *path, size_t n_types)
{
    for (size_t i = path->n_rows / 2; i-- > 0;)
        sift(path, n_types, i, path->n_rows);
    for (size_t n = path->n_rows; n > 1; n--) {
        swap_rows(path, n_types, 0, n - 1);
        sift(path, n_types, 0, n - 1);
    }
}

void cairn_packed_path_sort(struct cairn_packed_path *path, const struct cairn_packed_kind *kind)
{
    size_t n_kept = 0, n_types = kind->n_types;
    sort_rows(path, n_types);
    for (size_t i = 0; i < path->n_rows; i++) {
        int64_t *kept = path->values + n_kept * n_types, *values = path->values + i * n_types;
        if (n_kept && path->labels[n_kept - 1] == path->labels[i]) {
            int64_t *last = kept - n_types;
            for (size_t k = 0; k < n_types; k++)
                last[k] = cairn_profile_add_clamped(last[k], values[k]);
            continue;
        }
        path->labels[n_kept++] = path->labels[i];
        memmove(kept, values, n_types * sizeof *kept);
    }
    path->n_rows = n_kept;
}

/* How many of the first frames are the same. */
static size_t count_same(const uint32_t *a, size_t n_a, const uint32_t *b, size_t n_b)
{
    size_t n = n_a < n_b ? n_a : n_b, same = 0;
    while (same < n && a[same] == b[same])
        same++;
    return same;
}

static void write_rows(struct cairn_packed_writer *writer, const struct cairn_packed_path *path)
{
    const struct cairn_packed_kind *kind = &writer->kind;
    struct cairn_buffer *bytes = &writer->run.bytes;
    cairn_buffer_uleb(bytes, path->n_rows);
    for (size_t i = 0; i < path->n_rows; i++) {
        const int64_t *values = path->values + i * kind->n_types;
        cairn_buffer_uleb(bytes, path->labels[i]);
        for (size_t k = 0; k < kind->n_types; k++)
            cairn_buffer_uleb(bytes,
                              zigzag((uint64_t)values[k] - (k ? expected(kind, values) : 0)));
    }
}

bool cairn_packed_write(struct cairn_packed_writer *writer, const struct cairn_packed_path *path)
{
    struct cairn_buffer *bytes = &writer->run.bytes;
    size_t same = count_same(writer->frames, writer->n, path->frames, path->n);
    if (cairn_grow((void **)&writer->frames, &writer->cap, path->n, sizeof *writer->frames) < 0)
        return false;
    cairn_buffer_uleb(bytes, same);
    cairn_buffer_uleb(bytes, path->n - same);
    for (size_t i = same; i < path->n; i++)
        cairn_buffer_uleb(bytes, writer->frames[i] = path->frames[i]);
    write_rows(writer, path);
    writer->n = path->n;
    writer->run.n_rows += path->n_rows;
    writer->run.n_nodes += path->n - same;
    return !bytes->failed;
}

void cairn_packed_writer_end(struct cairn_packed_writer *writer, struct cairn_packed_run *ret_run)
{
    struct cairn_buffer *bytes = &writer->run.bytes;
    uint8_t *data = bytes->data ? cairn_realloc(bytes->data, bytes->size + 1, 1) : NULL;
    if (data) {
        bytes->data = data;
        bytes->cap = bytes->size + 1;
    }
    *ret_run = writer->run;
    writer->run = (struct cairn_packed_run){0};
    cairn_packed_writer_done(writer);
}

void cairn_packed_writer_done(struct cairn_packed_writer *writer)
{
    cairn_packed_run_done(&writer->run);
    cairn_free(writer->frames);
    *writer = (struct cairn_packed_writer){0};
}

void cairn_packed_run_done(struct cairn_packed_run *run)
{
    cairn_buffer_done(&run->bytes);
    *run = (struct cairn_packed_run){0};
}

static int read_rows(struct cairn_packed_reader *reader, struct cairn_reader *r)
{
    const struct cairn_packed_kind *kind = &reader->kind;
    int64_t values[CAIRN_PROFILE_TYPES_MAX];
    int code = CAIRN_OK;
    reader->path.n_rows = 0;
    for (uint64_t n = cairn_reader_uleb(r); n > 0 && code == CAIRN_OK; n--) {
        uint32_t labels = (uint32_t)cairn_reader_uleb(r);
        for (size_t k = 0; k < kind->n_types; k++)
            values[k] =
                (int64_t)(unzigzag(cairn_reader_uleb(r)) + (k ? expected(kind, values) : 0));
        code = cairn_packed_path_add(&reader->path, kind, labels, values);
    }
    return code;
}

/* The bytes are our own: nothing in them is asked for its sense. */
int cairn_packed_read(struct cairn_packed_reader *reader)
{
    struct cairn_reader r = {.bytes = reader->bytes, .pos = reader->pos};
    struct cairn_packed_path *path = &reader->path;
    if (reader->pos == reader->bytes.size)
        return 0;
    size_t same = (size_t)cairn_reader_uleb(&r), n_new = (size_t)cairn_reader_uleb(&r);
    if (cairn_grow((void **)&path->frames, &path->cap, same + n_new, sizeof *path->frames) < 0)
        return CAIRN_E_NOMEM;
    for (size_t i = 0; i < n_new; i++)
        path->frames[same + i] = (uint32_t)cairn_reader_uleb(&r);
    path->n_same = same;
    path->n = same + n_new;
    int code = read_rows(reader, &r);
    reader->pos = r.pos;
    return code < 0 ? code : 1;
}

void cairn_packed_reader_done(struct cairn_packed_reader *reader)
{
    cairn_packed_path_done(&reader->path);
    *reader = (struct cairn_packed_reader){0};
}

/* Below 0: `a` comes first. A path is before those that go on from it. */
static int compare(const struct cairn_packed_path *a, const struct cairn_packed_path *b)
{
    size_t same = count_same(a->frames, a->n, b->frames, b->n);
    if (same == a->n || same == b->n)
        return a->n == b->n ? 0 : a->n < b->n ? -1 : 1;
    return a->frames[same] < b->frames[same] ? -1 : 1;
}

static int add_rows(struct cairn_packed_path *to, const struct cairn_packed_path *from,
                    const struct cairn_packed_kind *kind)
{
    int code = CAIRN_OK;
    for (size_t i = 0; i < from->n_rows && code == CAIRN_OK; i++)
        code = cairn_packed_path_add(to, kind, from->labels[i], from->values + i * kind->n_types);
    return code;
}

struct merging {
    struct cairn_packed_reader a, b;
    int more_a, more_b; /* as cairn_packed_read() said */
    struct cairn_packed_writer writer;
};

/* Writes what comes first of both, and reads what follows it. */
static int merge_next(struct merging *m)
{
    int order = !m->more_a ? 1 : !m->more_b ? -1 : compare(&m->a.path, &m->b.path);
    struct cairn_packed_path *path = order <= 0 ? &m->a.path : &m->b.path;
    if (order == 0) {
        if (add_rows(path, &m->b.path, &m->writer.kind) < 0)
            return CAIRN_E_NOMEM;
        cairn_packed_path_sort(path, &m->writer.kind);
    }
    if (!cairn_packed_write(&m->writer, path))
        return CAIRN_E_NOMEM;
    if (order <= 0)
        m->more_a = cairn_packed_read(&m->a);
    if (order >= 0)
        m->more_b = cairn_packed_read(&m->b);
    return m->more_a < 0 || m->more_b < 0 ? CAIRN_E_NOMEM : CAIRN_OK;
}

int cairn_packed_merge(const struct cairn_packed_kind *kind, const struct cairn_packed_run *a,
                       const struct cairn_packed_run *b, struct cairn_packed_run *ret_run)
{
    struct merging m = {.a = cairn_packed_reader_of(kind, a),
                        .b = cairn_packed_reader_of(kind, b),
                        .writer = {.kind = *kind}};
    m.more_a = cairn_packed_read(&m.a);
    m.more_b = cairn_packed_read(&m.b);
    int code = m.more_a < 0 || m.more_b < 0 ? CAIRN_E_NOMEM : CAIRN_OK;
    while (code == CAIRN_OK && (m.more_a || m.more_b))
        code = merge_next(&m);
    if (code == CAIRN_OK)
        cairn_packed_writer_end(&m.writer, ret_run);
    cairn_packed_writer_done(&m.writer);
    cairn_packed_reader_done(&m.a);
    cairn_packed_reader_done(&m.b);
    return code;
}

int cairn_packed_relabel_run(const struct cairn_packed_kind *kind,
                             const struct cairn_packed_run *run, const uint32_t *new_of,
                             struct cairn_packed_run *ret_run)
{
    struct cairn_packed_reader reader = cairn_packed_reader_of(kind, run);
    struct cairn_packed_writer writer = {.kind = *kind};
    int more = 0, code = CAIRN_OK;
    while (code == CAIRN_OK && (more = cairn_packed_read(&reader)) > 0) {
        for (size_t i = 0; i < reader.path.n_rows; i++)
            reader.path.labels[i] = new_of[reader.path.labels[i]];
        cairn_packed_path_sort(&reader.path, kind);
        code = cairn_packed_write(&writer, &reader.path) ? CAIRN_OK : CAIRN_E_NOMEM;
    }
    code = code == CAIRN_OK && more < 0 ? more : code;
    if (code == CAIRN_OK)
        cairn_packed_writer_end(&writer, ret_run);
    cairn_packed_writer_done(&writer);
    cairn_packed_reader_done(&reader);
    return code;
}
