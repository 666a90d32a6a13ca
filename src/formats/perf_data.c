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

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "formats/format.h"
#include "formats/perf_data_file.h"
#include "formats/perf_data_numbers.h"
#include "formats/perf_data_write.h"

static const char magic[] = "PERFILE2", magic_swapped[] = "2ELIFREP";

enum {
    MAGIC_BYTES = 8,
    PIPE_BYTES = 16,
    SECTION_BYTES = PERF_DATA_SECTION_BYTES,
    N_FEATURES = 256
};

struct header {
    uint64_t attr_size;
    struct cairn_perf_data_section attrs, data;
    uint64_t features[N_FEATURES / 64];
};

static int read_header(struct cairn_span file, bool swap, struct header *ret_header,
                       struct cairn_err *err)
{
    struct cairn_reader r = cairn_reader_of(file, swap);
    struct header header;
    cairn_reader_skip(&r, MAGIC_BYTES);
    uint64_t size = cairn_reader_u64(&r);
    header.attr_size = cairn_reader_u64(&r);
    header.attrs = cairn_perf_data_section_of(&r);
    header.data = cairn_perf_data_section_of(&r);
    (void)cairn_perf_data_section_of(&r); /* event types, of 2010 to 2013 */
    for (size_t i = 0; i < N_FEATURES / 64; i++)
        header.features[i] = cairn_reader_u64(&r);
    if (r.failed || size < PERF_DATA_HEADER_BYTES)
        return cairn_fail(err, CAIRN_E_FORMAT,
                          "perf.data: the header says %" PRIu64
                          " bytes and %zu are there, expected %d",
                          size, file.size, PERF_DATA_HEADER_BYTES);
    if (header.attr_size < CAIRN_PERF_DATA_ATTR_MIN + SECTION_BYTES ||
        header.attr_size > CAIRN_PERF_DATA_ATTR_MAX)
        return cairn_fail(
            err, CAIRN_E_FORMAT, "perf.data: an attribute has %" PRIu64 " bytes, expected %d to %d",
            header.attr_size, CAIRN_PERF_DATA_ATTR_MIN + SECTION_BYTES, CAIRN_PERF_DATA_ATTR_MAX);
    *ret_header = header;
    return CAIRN_OK;
}

static int read_attr(struct cairn_perf_data *d, struct cairn_perf_data_file *file,
                     struct cairn_span entry, struct cairn_err *err)
{
    struct cairn_buffer ids = {0};
    const struct cairn_span attr = {entry.data, entry.size - SECTION_BYTES};
    struct cairn_reader r = cairn_reader_of(entry, d->swap);
    cairn_reader_skip(&r, attr.size);
    struct cairn_perf_data_section where = cairn_perf_data_section_of(&r);
    int code = cairn_perf_data_read_section(file, where, &ids, err);
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

static int read_attrs(struct cairn_perf_data *d, struct cairn_perf_data_file *file,
                      const struct header *header, struct cairn_err *err)
{
    struct cairn_buffer attrs = {0};
    const size_t size = (size_t)header->attr_size;
    int code = cairn_perf_data_read_section(file, header->attrs, &attrs, err);
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

static int read_features(struct cairn_perf_data *d, struct cairn_perf_data_file *file,
                         const struct header *header, struct cairn_err *err)
{
    struct cairn_buffer bytes = {0};
    struct cairn_perf_data_section table = {.size = SECTION_BYTES};
    int code = CAIRN_OK;
    if (!header->data.size ||
        __builtin_add_overflow(header->data.off, header->data.size, &table.off))
        return CAIRN_OK;
    for (unsigned i = 0; i < N_FEATURES && code >= 0; i++) {
        if (!(header->features[i / 64] >> (i % 64) & 1))
            continue;
        code = cairn_perf_data_read_section(file, table, &bytes, err);
        if (code <= 0)
            break;
        struct cairn_reader r = cairn_reader_of(cairn_buffer_span(&bytes), d->swap);
        code = cairn_perf_data_read_section(file, cairn_perf_data_section_of(&r), &bytes, err);
        if (code > 0)
            code = cairn_perf_data_feature(d, i, cairn_buffer_span(&bytes), err);
        table.off += SECTION_BYTES;
    }
    cairn_buffer_done(&bytes);
    return code < 0 ? code : CAIRN_OK;
}

static int read_file(struct cairn_perf_data *d, struct cairn_source *source, struct cairn_err *err)
{
    struct cairn_perf_data_file file = {.input = source->input};
    struct header header = {0};
    struct cairn_span head;
    int code = source->input.read_at
                   ? CAIRN_OK
                   : cairn_source_slurp(source, CAIRN_FORMAT_BYTES_MAX, &file.whole, err);
    if (code == CAIRN_OK)
        code = cairn_perf_data_read_piece(&file, 0, PERF_DATA_HEADER_BYTES, &head, err);
    if (code == CAIRN_OK)
        code = read_header(head, d->swap, &header, err);
    if (code == CAIRN_OK)
        code = read_attrs(d, &file, &header, err);
    if (code == CAIRN_OK)
        code = read_features(d, &file, &header, err);
    if (code == CAIRN_OK)
        code = cairn_perf_data_read_data(d, &file, header.data, err);
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
        if (code == CAIRN_OK && !used && !d->part.is_broken && !source->at_end)
            code = cairn_source_fill(source, ahead.size + 1, err);
        if (code < 0)
            return code;
        if (d->part.is_broken || (!used && source->at_end)) {
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
    cairn_buffer_printf(&line, "%" PRIu64 " %s", n, what);
    if (line.failed || cairn_profile_add_note(d->stream.profile, CAIRN_NOTE_LEFT_OUT,
                                              cairn_buffer_text(&line)) < 0)
        code = cairn_fail_memory(err);
    cairn_buffer_done(&line);
    return code;
}

/* What is not in the profile stays a note of it. */
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
        {stream->n_markers, "events beyond the limit"},
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

static bool sniff(struct cairn_span head)
{
    return cairn_span_begins(head, magic) || cairn_span_begins(head, magic_swapped);
}

static int read_all(struct cairn_perf_data *d, struct cairn_source *source, struct cairn_err *err)
{
    const struct cairn_span head = cairn_buffer_span(&source->ahead);
    d->swap =
        cairn_span_begins(head, __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? magic_swapped : magic);
    if (!sniff(head))
        return cairn_fail(err, CAIRN_E_FORMAT, "perf.data: does not begin with %s", magic);
    d->stream.walker = source->input.walker;
    d->stream.keeps = source->input.keeps;
    int code = is_pipe(head, d->swap) ? read_pipe(d, source, err) : read_file(d, source, err);
    if (code == CAIRN_OK)
        code = cairn_perf_data_finish(d, err);
    return code == CAIRN_OK ? add_counts(d, err) : code;
}

static int read_perf_data(struct cairn_source *source, struct cairn_profile *p,
                          struct cairn_err *err)
{
    int code = cairn_source_fill(source, PIPE_BYTES, err);
    struct cairn_perf_data *d = code < 0 ? NULL : cairn_alloc(1, sizeof *d); /* it is large */
    if (code < 0)
        return code;
    if (!d)
        return cairn_fail_memory(err);
    code = cairn_stream_init(&d->stream, p) < 0 ? cairn_fail_memory(err) : read_all(d, source, err);
    cairn_perf_data_done(d);
    cairn_free(d);
    return code;
}

static const char *const endings[] = {".data", NULL};

const struct cairn_format_row cairn_format_perf_data = {
    .format = CAIRN_FORMAT_PERF_DATA,
    .name = "perf-data",
    .endings = endings,
    .sniff = sniff,
    .read = read_perf_data,
    .write = cairn_perf_data_write,
};
