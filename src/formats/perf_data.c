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
 * The magic read backwards says that the file is of a CPU of the other byte order.
 */
#include "formats/perf_data.h"

#include <inttypes.h>

#include "base/error.h"
#include "base/log.h"
#include "formats/format.h"

static const char magic[] = "PERFILE2", magic_swapped[] = "2ELIFREP";

enum { MAGIC_BYTES = 8, HEADER_BYTES = 104, PIPE_BYTES = 16, SECTION_BYTES = 16, N_FEATURES = 256 };

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

static int read_attrs(struct cairn_perf_data *d, struct cairn_span file,
                      const struct header *header, struct cairn_err *err)
{
    struct cairn_span attrs, ids;
    if (!cairn_span_slice(file, header->attrs.off, header->attrs.size, &attrs))
        return cairn_fail(err, CAIRN_E_FORMAT,
                          "perf.data: the attributes at 0x%" PRIx64 " (0x%" PRIx64
                          " bytes) lie behind the end of the file (0x%zx bytes)",
                          header->attrs.off, header->attrs.size, file.size);
    int code = CAIRN_OK;
    while (attrs.size >= header->attr_size && code == CAIRN_OK) {
        struct cairn_span attr = {attrs.data, (size_t)header->attr_size - SECTION_BYTES};
        struct cairn_reader r = cairn_reader_of(attrs, d->swap);
        cairn_reader_skip(&r, attr.size);
        struct section where = read_section(&r);
        if (!cairn_span_slice(file, where.off, where.size, &ids))
            return cairn_fail(err, CAIRN_E_FORMAT,
                              "perf.data: the numbers of an event at 0x%" PRIx64 " (0x%" PRIx64
                              " bytes) lie behind the end of the file",
                              where.off, where.size);
        code = cairn_perf_data_add_attr(d, attr, ids, err);
        attrs.data += header->attr_size;
        attrs.size -= (size_t)header->attr_size;
    }
    if (code == CAIRN_OK && !d->n_attrs)
        code = cairn_fail(err, CAIRN_E_FORMAT, "perf.data: there is no event");
    return code < 0 ? code : CAIRN_OK;
}

/* A recorder that was killed wrote neither the size of the data nor features. */
static struct cairn_span find_data(struct cairn_span file, const struct header *header)
{
    struct cairn_span data = {0};
    uint64_t off = header->data.off, size = header->data.size;
    if (off > file.size)
        return data;
    if (!size || size > file.size - off)
        size = file.size - off;
    (void)cairn_span_slice(file, off, size, &data);
    return data;
}

static int read_features(struct cairn_perf_data *d, struct cairn_span file,
                         const struct header *header, struct cairn_err *err)
{
    struct cairn_span table, bytes;
    uint64_t at;
    int code = CAIRN_OK;
    if (!header->data.size || __builtin_add_overflow(header->data.off, header->data.size, &at))
        return CAIRN_OK;
    for (unsigned i = 0; i < N_FEATURES && code == CAIRN_OK; i++) {
        if (!(header->features[i / 64] >> (i % 64) & 1))
            continue;
        if (!cairn_span_slice(file, at, SECTION_BYTES, &table))
            return CAIRN_OK;
        struct cairn_reader r = cairn_reader_of(table, d->swap);
        struct section where = read_section(&r);
        at += SECTION_BYTES;
        if (cairn_span_slice(file, where.off, where.size, &bytes))
            code = cairn_perf_data_feature(d, i, bytes, err);
    }
    return code;
}

static int read_file(struct cairn_perf_data *d, struct cairn_source *source, struct cairn_err *err)
{
    struct cairn_span file;
    struct header header = {0};
    size_t used = 0;
    int code = cairn_source_slurp(source, CAIRN_FORMAT_BYTES_MAX, &file, err);
    if (code == CAIRN_OK)
        code = read_header(file, d->swap, &header, err);
    if (code == CAIRN_OK)
        code = read_attrs(d, file, &header, err);
    if (code == CAIRN_OK)
        code = read_features(d, file, &header, err);
    if (code < 0)
        return code;
    struct cairn_span data = find_data(file, &header);
    code = cairn_perf_data_records(d, data, header.data.off, &used, err);
    d->counts.n_broken += data.size - used;
    if (!d->is_broken)
        d->counts.broken_at = header.data.off + used;
    return code;
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
    if (code == CAIRN_OK)
        code = read_file(&d, source, err);
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
