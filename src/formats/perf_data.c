/* SPDX-License-Identifier: MIT */
/*
 * A perf.data as perf record writes it:
 *
 *     "PERFILE2", sizes                the header: where the sections are, which features there are
 *     numbers of events                for each attribute
 *     attributes                       what the records hold; of any year's size
 *     records                          the data
 *     {offset, size} of each feature   names, build IDs, host: in the order of their bits
 *
 * What goes through a pipe has a header of 16 bytes, and all the rest as records.
 * The magic read backwards says that the file is of a CPU of the other byte order.
 */
#include "formats/perf_data.h"

#include <inttypes.h>

#include "base/error.h"
#include "base/log.h"
#include "formats/format.h"

static const char magic[] = "PERFILE2", magic_swapped[] = "2ELIFREP";

enum {
    MAGIC_BYTES = 8,
    HEADER_BYTES = 104,
    PIPE_BYTES = 16,
    SECTION_BYTES = 16,
    N_FEATURES = 256,
    SECTION_MAX = 256 << 20, /* of attributes, or of one feature */
    WINDOW = 1 << 20         /* of the data, at a time; larger than any record */
};

struct section {
    uint64_t off, size;
};

struct header {
    uint64_t attr_size;
    struct section attrs, data;
    uint64_t features[N_FEATURES / 64];
};

static struct section read_section(struct cairn_reader *r)
{
    struct section section;
    section.off = cairn_reader_u64(r);
    section.size = cairn_reader_u64(r);
    return section;
}

static int read_header(struct cairn_span file, bool swap, struct header *ret_header,
                       struct cairn_err *err)
{
    struct cairn_reader r = cairn_reader_of(file, swap);
    struct header header;
    cairn_reader_skip(&r, MAGIC_BYTES);
    uint64_t size = cairn_reader_u64(&r);
    header.attr_size = cairn_reader_u64(&r);
    header.attrs = read_section(&r);
    header.data = read_section(&r);
    (void)read_section(&r); /* event types, of 2010 to 2013 */
    for (size_t i = 0; i < N_FEATURES / 64; i++)
        header.features[i] = cairn_reader_u64(&r);
    if (r.failed || size < HEADER_BYTES)
        return cairn_fail(err, CAIRN_E_FORMAT,
                          "perf.data: the header says %" PRIu64
                          " bytes and %zu are there, expected %d",
                          size, file.size, HEADER_BYTES);
    if (header.attr_size < CAIRN_PERF_DATA_ATTR_MIN + SECTION_BYTES ||
        header.attr_size > CAIRN_PERF_DATA_ATTR_MAX)
        return cairn_fail(
            err, CAIRN_E_FORMAT, "perf.data: an attribute has %" PRIu64 " bytes, expected %d to %d",
            header.attr_size, CAIRN_PERF_DATA_ATTR_MIN + SECTION_BYTES, CAIRN_PERF_DATA_ATTR_MAX);
    *ret_header = header;
    return CAIRN_OK;
}

/* The file: as a whole in memory, or read where it is wanted. */
struct file {
    struct cairn_source *source;
    struct cairn_span whole;   /* where it cannot be read at any place */
    struct cairn_buffer piece; /* what was read last */
};

/* As many as there are of the `size` bytes at `off`, borrowed until the next call. */
static int read_piece(struct file *file, uint64_t off, size_t size, struct cairn_span *ret_bytes,
                      struct cairn_err *err)
{
    const struct cairn_format_input *input = &file->source->input;
    struct cairn_span bytes = {0};
    if (!input->read_at) {
        uint64_t there = off < file->whole.size ? file->whole.size - off : 0;
        (void)cairn_span_slice(file->whole, off, size < there ? size : there, &bytes);
        *ret_bytes = bytes;
        return CAIRN_OK;
    }
    cairn_buffer_clear(&file->piece);
    if (!cairn_buffer_reserve(&file->piece, size ? size : 1))
        return cairn_fail_memory(err);
    long got = off > INT64_MAX - size ? 0 : input->read_at(input->ctx, off, file->piece.data, size);
    if (got < 0 || (size_t)got > size)
        return cairn_fail(err, CAIRN_E_IO, "the input could not be read at 0x%" PRIx64, off);
    file->piece.size = (size_t)got;
    *ret_bytes = cairn_buffer_span(&file->piece);
    return CAIRN_OK;
}

/* All of a section, a copy in `ret_bytes`; a longer one than the limit, or than the file, is none.
 * 1: read, 0: not, or a failure. */
static int read_section_bytes(struct file *file, struct section section,
                              struct cairn_buffer *ret_bytes, struct cairn_err *err)
{
    struct cairn_span bytes;
    cairn_buffer_clear(ret_bytes);
    if (section.size > SECTION_MAX)
        return 0;
    int code = read_piece(file, section.off, (size_t)section.size, &bytes, err);
    if (code < 0)
        return code;
    cairn_buffer_add(ret_bytes, bytes.data, bytes.size);
    if (ret_bytes->failed)
        return cairn_fail_memory(err);
    return bytes.size == section.size;
}

static int read_attr(struct cairn_perf_data *d, struct file *file, struct cairn_span entry,
                     struct cairn_err *err)
{
    struct cairn_buffer ids = {0};
    const struct cairn_span attr = {entry.data, entry.size - SECTION_BYTES};
    struct cairn_reader r = cairn_reader_of(entry, d->swap);
    cairn_reader_skip(&r, attr.size);
    struct section where = read_section(&r);
    int code = read_section_bytes(file, where, &ids, err);
    if (code == 0)
        code = cairn_fail(err, CAIRN_E_FORMAT,
                          "perf.data: the numbers of an event at 0x%" PRIx64 " (0x%" PRIx64
                          " bytes) lie behind the end of the file",
                          where.off, where.size);
    if (code > 0)
        code = cairn_perf_data_add_attr(d, attr, cairn_buffer_span(&ids), err);
    cairn_buffer_done(&ids);
    return code;
}

static int read_attrs(struct cairn_perf_data *d, struct file *file, const struct header *header,
                      struct cairn_err *err)
{
    struct cairn_buffer attrs = {0};
    const size_t size = (size_t)header->attr_size;
    int code = read_section_bytes(file, header->attrs, &attrs, err);
    if (code == 0)
        code = cairn_fail(err, CAIRN_E_FORMAT,
                          "perf.data: the attributes at 0x%" PRIx64 " (0x%" PRIx64
                          " bytes) lie behind the end of the file",
                          header->attrs.off, header->attrs.size);
    for (size_t at = 0; code >= 0 && attrs.size - at >= size; at += size)
        code = read_attr(d, file, (struct cairn_span){attrs.data + at, size}, err);
    if (code >= 0 && !d->n_attrs)
        code = cairn_fail(err, CAIRN_E_FORMAT, "perf.data: there is no event");
    cairn_buffer_done(&attrs);
    return code < 0 ? code : CAIRN_OK;
}

static int read_features(struct cairn_perf_data *d, struct file *file, const struct header *header,
                         struct cairn_err *err)
{
    struct cairn_buffer bytes = {0};
    struct section table = {.size = SECTION_BYTES};
    int code = CAIRN_OK;
    if (!header->data.size ||
        __builtin_add_overflow(header->data.off, header->data.size, &table.off))
        return CAIRN_OK;
    for (unsigned i = 0; i < N_FEATURES && code >= 0; i++) {
        if (!(header->features[i / 64] >> (i % 64) & 1))
            continue;
        code = read_section_bytes(file, table, &bytes, err);
        if (code <= 0)
            break;
        struct cairn_reader r = cairn_reader_of(cairn_buffer_span(&bytes), d->swap);
        code = read_section_bytes(file, read_section(&r), &bytes, err);
        if (code > 0)
            code = cairn_perf_data_feature(d, i, cairn_buffer_span(&bytes), err);
        table.off += SECTION_BYTES;
    }
    cairn_buffer_done(&bytes);
    return code < 0 ? code : CAIRN_OK;
}

/* A recorder that was killed wrote neither the size of the data nor features. */
static int read_data(struct cairn_perf_data *d, struct file *file, struct section data,
                     struct cairn_err *err)
{
    uint64_t end = data.size ? data.off + data.size : UINT64_MAX, at = data.off;
    if (end < data.off)
        end = UINT64_MAX;
    d->counts.broken_at = at;
    while (at < end && !d->is_broken) {
        struct cairn_span bytes;
        size_t used = 0, wanted = end - at < WINDOW ? (size_t)(end - at) : WINDOW;
        int code = read_piece(file, at, wanted, &bytes, err);
        if (code == CAIRN_OK)
            code = cairn_perf_data_records(d, bytes, at, &used, err);
        if (code < 0)
            return code;
        at += used;
        if (!used && !d->is_broken) { /* nothing there, or less than a record */
            d->counts.n_broken += bytes.size;
            d->counts.n_missing = data.size ? end - at - bytes.size : 0;
            return CAIRN_OK;
        }
        d->counts.broken_at = at;
        if (d->is_broken)
            d->counts.n_broken += data.size ? end - at : bytes.size - used;
        if (!d->is_broken && d->skip > bytes.size) { /* far more than a window, and not wanted */
            at = d->skip < end - at ? at + d->skip : end;
            d->skip = 0;
        }
    }
    return CAIRN_OK;
}

static int read_file(struct cairn_perf_data *d, struct cairn_source *source, struct cairn_err *err)
{
    struct file file = {.source = source};
    struct header header = {0};
    struct cairn_span head;
    int code = source->input.read_at
                   ? CAIRN_OK
                   : cairn_source_slurp(source, CAIRN_FORMAT_BYTES_MAX, &file.whole, err);
    if (code == CAIRN_OK)
        code = read_piece(&file, 0, HEADER_BYTES, &head, err);
    if (code == CAIRN_OK)
        code = read_header(head, d->swap, &header, err);
    if (code == CAIRN_OK)
        code = read_attrs(d, &file, &header, err);
    if (code == CAIRN_OK)
        code = read_features(d, &file, &header, err);
    if (code == CAIRN_OK)
        code = read_data(d, &file, header.data, err);
    cairn_buffer_done(&file.piece);
    return code;
}

/* A pipe has no sections: what they hold comes as records. */
static int read_pipe(struct cairn_perf_data *d, struct cairn_source *source, struct cairn_err *err)
{
    uint64_t off = PIPE_BYTES;
    source->pos += PIPE_BYTES;
    for (;;) {
        size_t used = 0;
        const struct cairn_span ahead = {source->ahead.data + source->pos,
                                         source->ahead.size - source->pos};
        int code = cairn_perf_data_records(d, ahead, off, &used, err);
        source->pos += used;
        off += used;
        if (code == CAIRN_OK && !used && !d->is_broken && !source->at_end)
            code = cairn_source_fill(source, ahead.size + 1, err);
        if (code < 0)
            return code;
        if (d->is_broken || (!used && source->at_end)) {
            d->counts.n_broken += ahead.size - used;
            d->counts.broken_at = off;
            return CAIRN_OK;
        }
    }
}

/* The header of a pipe's has 16 bytes. */
static bool is_pipe(struct cairn_span head, bool swap)
{
    struct cairn_reader r = cairn_reader_of(head, swap);
    cairn_reader_skip(&r, MAGIC_BYTES);
    return cairn_reader_u64(&r) == PIPE_BYTES && !r.failed;
}

static int say(struct cairn_perf_data *d, uint64_t n, const char *what, struct cairn_err *err)
{
    struct cairn_buffer line = {0};
    int code = CAIRN_OK;
    if (!n)
        return code;
    cairn_buffer_printf(&line, "left out: %" PRIu64 " %s", n, what);
    if (line.failed || cairn_profile_add_comment(d->stream.profile, cairn_buffer_text(&line)) < 0)
        code = cairn_fail_memory(err);
    cairn_buffer_done(&line);
    return code;
}

/* What is not in the profile stays a comment of it. */
static int add_counts(struct cairn_perf_data *d, struct cairn_err *err)
{
    const struct cairn_perf_data_counts *counts = &d->counts;
    const struct cairn_stream_counts *stream = &d->stream.counts;
    const struct {
        uint64_t n;
        const char *what;
    } rows[] = {
        {stream->n_lost, "events that the recorder lost"},
        {counts->n_broken, "bytes of data that are no records"},
        {counts->n_missing, "bytes of data behind the end of the file"},
        {counts->n_damaged, "damaged records"},
        {counts->n_unknown, "records of unknown types"},
        {counts->n_no_event, "samples of unknown events"},
        {counts->n_guest, "samples of guests"},
        {stream->n_mappings, "mappings beyond the limit"},
        {stream->n_deep, "samples with too many frames"},
    };
    int code = CAIRN_OK;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && code == CAIRN_OK; i++)
        code = say(d, rows[i].n, rows[i].what, err);
    if (d->order.n_late)
        cairn_log(CAIRN_LOG_INFO, "perf.data: %" PRIu64 " records came too late to be put in order",
                  d->order.n_late);
    if (counts->n_broken)
        cairn_log(CAIRN_LOG_WARNING,
                  "perf.data: no record begins at 0x%" PRIx64 ": %" PRIu64
                  " bytes of data from there on are left out",
                  counts->broken_at, counts->n_broken);
    return code;
}

static int read_perf_data(struct cairn_source *source, struct cairn_profile *p,
                          struct cairn_err *err)
{
    struct cairn_perf_data d = {0};
    int code = cairn_source_fill(source, MAGIC_BYTES, err);
    struct cairn_span head = cairn_buffer_span(&source->ahead);
    d.swap =
        cairn_span_begins(head, __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? magic_swapped : magic);
    if (code == CAIRN_OK && cairn_stream_init(&d.stream, p) < 0)
        code = cairn_fail_memory(err);
    d.stream.walker = source->input.walker;
    if (code == CAIRN_OK)
        code = is_pipe(head, d.swap) ? read_pipe(&d, source, err) : read_file(&d, source, err);
    if (code == CAIRN_OK)
        code = cairn_perf_data_finish(&d, err);
    if (code == CAIRN_OK)
        code = add_counts(&d, err);
    cairn_perf_data_done(&d);
    return code;
}

static bool sniff(struct cairn_span head)
{
    return cairn_span_begins(head, magic) || cairn_span_begins(head, magic_swapped);
}

static const char *const endings[] = {".data", NULL};

const struct cairn_format_row cairn_format_perf_data = {
    .format = CAIRN_FORMAT_PERF_DATA,
    .name = "perf-data",
    .endings = endings,
    .sniff = sniff,
    .read = read_perf_data,
};
