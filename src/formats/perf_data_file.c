/* SPDX-License-Identifier: MIT */
#include "formats/perf_data_file.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/error.h"

enum {
    SECTION_MAX = 256 << 20, /* of attributes, or of one feature */
    WINDOW = 1 << 20,        /* of the data, at a time; larger than any record */
    FILES_MAX = 4096         /* of a folder */
};

struct cairn_perf_data_section cairn_perf_data_section_of(struct cairn_reader *r)
{
    struct cairn_perf_data_section section;
    section.off = cairn_reader_u64(r);
    section.size = cairn_reader_u64(r);
    return section;
}

int cairn_perf_data_read_piece(struct cairn_perf_data_file *file, uint64_t off, size_t size,
                               struct cairn_span *ret_bytes, struct cairn_err *err)
{
    const struct cairn_format_input *input = &file->input;
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
    long got = off > (uint64_t)INT64_MAX - size
                   ? 0
                   : input->read_at(input->ctx, off, file->piece.data, size);
    if (got < 0 || (size_t)got > size)
        return cairn_fail(err, CAIRN_E_IO, "the input could not be read at 0x%" PRIx64, off);
    file->piece.size = (size_t)got;
    *ret_bytes = cairn_buffer_span(&file->piece);
    return CAIRN_OK;
}

int cairn_perf_data_read_section(struct cairn_perf_data_file *file,
                                 struct cairn_perf_data_section section,
                                 struct cairn_buffer *ret_bytes, struct cairn_err *err)
{
    struct cairn_span bytes;
    cairn_buffer_clear(ret_bytes);
    if (section.size > SECTION_MAX)
        return 0;
    int code = cairn_perf_data_read_piece(file, section.off, (size_t)section.size, &bytes, err);
    if (code < 0)
        return code;
    cairn_buffer_add(ret_bytes, bytes.data, bytes.size);
    if (ret_bytes->failed)
        return cairn_fail_memory(err);
    return bytes.size == section.size;
}

/* One file's records. */
struct reading {
    struct cairn_perf_data_file *file;
    uint64_t at, end;
    bool has_end; /* it is known: a recorder that was killed wrote none */
    bool is_done;
    struct cairn_perf_data_part part; /* while another file is read */
};

static void end_with(struct cairn_perf_data *d, struct reading *reading, size_t n_left,
                     uint64_t n_missing)
{
    reading->is_done = true;
    if (n_left && !d->counts.n_broken)
        d->counts.broken_at = reading->at;
    d->counts.n_broken += n_left;
    d->counts.n_missing += n_missing;
}

/* Records of one window. */
static int read_window(struct cairn_perf_data *d, struct reading *reading, struct cairn_err *err)
{
    uint64_t left = reading->end - reading->at;
    struct cairn_span bytes;
    size_t used = 0;
    int code = cairn_perf_data_read_piece(reading->file, reading->at,
                                          left < WINDOW ? (size_t)left : WINDOW, &bytes, err);
    if (code == CAIRN_OK)
        code = cairn_perf_data_records(d, bytes, reading->at, &used, err);
    if (code < 0)
        return code;
    reading->at += used;
    left -= used;
    if (d->part.is_broken)
        end_with(d, reading, reading->has_end ? (size_t)left : bytes.size - used, 0);
    else if (!used) /* nothing there, or less than a record */
        end_with(d, reading, bytes.size, reading->has_end ? left - bytes.size : 0);
    else if (d->part.skip > bytes.size && !d->part.is_tracing) { /* longer than a window, unused */
        reading->at = d->part.skip < left ? reading->at + d->part.skip : reading->end;
        d->part.skip = 0;
    }
    reading->is_done |= reading->at >= reading->end;
    return CAIRN_OK;
}

/* The file whose records came least far: so that few wait for those of others. */
static struct reading *choose(struct reading *readings, size_t n)
{
    struct reading *chosen = NULL;
    for (size_t i = 0; i < n; i++)
        if (!readings[i].is_done && (!chosen || readings[i].part.newest < chosen->part.newest))
            chosen = &readings[i];
    return chosen;
}

static int read_all(struct cairn_perf_data *d, struct reading *readings, size_t n,
                    struct cairn_err *err)
{
    int code = CAIRN_OK;
    for (struct reading *one; code == CAIRN_OK && (one = choose(readings, n));) {
        d->part = one->part;
        code = read_window(d, one, err);
        one->part = d->part;
        d->part = (struct cairn_perf_data_part){0};
    }
    for (size_t i = 0; i < n; i++)
        cairn_perf_data_part_done(&readings[i].part);
    return code;
}

int cairn_perf_data_read_data(struct cairn_perf_data *d, struct cairn_perf_data_file *file,
                              struct cairn_perf_data_section data, struct cairn_err *err)
{
    size_t n_more = file->input.n_more < FILES_MAX ? file->input.n_more : FILES_MAX;
    struct reading *readings = cairn_alloc(1 + n_more, sizeof *readings);
    struct cairn_perf_data_file *files = cairn_alloc(1 + n_more, sizeof *files);
    int code = readings && files ? CAIRN_OK : cairn_fail_memory(err);
    for (size_t i = 0; i < n_more && code == CAIRN_OK; i++) {
        files[i].input = file->input.more[i];
        readings[1 + i] = (struct reading){.file = &files[i], .end = INT64_MAX};
    }
    if (code == CAIRN_OK) {
        bool has_end = data.size && data.off <= INT64_MAX && data.size <= INT64_MAX - data.off;
        readings[0] = (struct reading){.file = file,
                                       .at = data.off < INT64_MAX ? data.off : INT64_MAX,
                                       .end = has_end ? data.off + data.size : INT64_MAX,
                                       .has_end = has_end};
        d->has_no_rounds = n_more > 0; /* a thread of the recorder knows only its own CPUs */
        code = read_all(d, readings, 1 + n_more, err);
    }
    for (size_t i = 0; files && i < n_more; i++)
        cairn_buffer_done(&files[i].piece);
    cairn_free(files);
    cairn_free(readings);
    return code;
}
