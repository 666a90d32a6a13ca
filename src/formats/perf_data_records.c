/* SPDX-License-Identifier: MIT */
/* Records as they lie in a file: which of them wait for their time, and which act at once. */
#include "base/alloc.h"
#include "base/error.h"
#include "formats/perf_data.h"

enum { HEAD = PERF_DATA_HEAD_BYTES };
enum { TRACING_MAX = 64 << 20, JOINED_MAX = 1 << 18 /* bytes of a record */ };

static int take_feature(struct cairn_perf_data *d, struct cairn_span body, struct cairn_err *err)
{
    struct cairn_reader r = cairn_reader_of(body, d->swap);
    uint64_t feature = cairn_reader_u64(&r);
    struct cairn_span bytes = cairn_reader_take(&r, cairn_reader_left(&r));
    return feature > UINT8_MAX ? CAIRN_OK
                               : cairn_perf_data_feature(d, (unsigned)feature, bytes, err);
}

static int send(void *ctx, struct cairn_span record, uint64_t off, struct cairn_err *err)
{
    (void)off;
    return cairn_perf_data_event(ctx, record, err);
}

/* When a kernel's record was written; false where it does not say. All events of a file keep their
 * times at the same place, else nothing could read it. */
static bool time_of(const struct cairn_perf_data *d, uint32_t type, struct cairn_span body,
                    uint64_t *ret_time)
{
    const struct cairn_perf_data_attr *attr = d->attrs;
    struct cairn_reader r = cairn_reader_of(body, d->swap);
    if (!d->n_attrs)
        return false;
    if (type != PERF_DATA_SAMPLE) {
        struct cairn_perf_data_trailer trailer = cairn_perf_data_trailer_of(attr, body, d->swap);
        *ret_time = trailer.time;
        return trailer.has_time && trailer.time && trailer.time != UINT64_MAX;
    }
    int id_at = cairn_perf_data_id_in_sample(attr);
    if (d->n_attrs > 1 && id_at >= 0) {
        cairn_reader_seek(&r, (uint64_t)id_at);
        struct cairn_perf_data_attr *own =
            cairn_perf_data_attr_of((struct cairn_perf_data *)d, cairn_reader_u64(&r));
        attr = own ? own : attr;
    }
    r = cairn_reader_of(body, d->swap);
    cairn_reader_skip(&r, 8 * ((uint64_t)cairn_perf_data_has(attr, CAIRN_PERF_DATA_IDENTIFIER) +
                               cairn_perf_data_has(attr, CAIRN_PERF_DATA_IP) +
                               cairn_perf_data_has(attr, CAIRN_PERF_DATA_TID)));
    *ret_time = cairn_reader_u64(&r);
    if (*ret_time >= cairn_perf_data_sum_time && !r.failed)
        *ret_time = d->order.newest;
    return cairn_perf_data_has(attr, CAIRN_PERF_DATA_TIME) && !r.failed && *ret_time &&
           *ret_time != UINT64_MAX;
}

static int take_kernel(struct cairn_perf_data *d, uint32_t type, struct cairn_span record,
                       uint64_t off, struct cairn_err *err)
{
    uint64_t time;
    const struct cairn_span body = {record.data + HEAD, record.size - HEAD};
    if (!time_of(d, type, body, &time))
        return cairn_perf_data_event(d, record, err);
    d->part.newest = time > d->part.newest ? time : d->part.newest;
    if (cairn_perf_data_order_add(&d->order, time, record, off) < 0)
        return cairn_fail_memory(err);
    return cairn_perf_data_order_is_full(&d->order)
               ? cairn_perf_data_order_relieve(&d->order, send, d, err)
               : CAIRN_OK;
}

/* A bomb unpacks to 1000 times its size and more, records to 5 or 20 times; what is small may. */
static size_t unzipped_max(const struct cairn_perf_data *d)
{
    enum { RATIO_MAX = 256, SMALL = 256 << 20 };
    uint64_t most = d->n_zipped * RATIO_MAX;
    most = most < SMALL ? SMALL : most;
    uint64_t left = most > d->n_unzipped ? most - d->n_unzipped : 0;
    return left < SMALL ? (size_t)left : SMALL;
}

/* Records continue where the one before ended, also inside of a record. */
static int take_zipped(struct cairn_perf_data *d, struct cairn_span zipped, uint64_t off,
                       struct cairn_err *err)
{
    size_t used = 0, before = d->part.unzipped.size;
    if (d->is_unzipping) { /* compressed records do not nest */
        d->counts.n_damaged++;
        return CAIRN_OK;
    }
    d->n_zipped += zipped.size;
    int code =
        cairn_zstd_stream_add(&d->part.zstd, zipped, unzipped_max(d), &d->part.unzipped, err);
    if (code == CAIRN_E_FORMAT) {
        d->counts.n_damaged++;
        d->part.unzipped.size = 0;
        return CAIRN_OK;
    }
    if (code < 0)
        return code;
    d->n_unzipped += d->part.unzipped.size - before;
    d->is_unzipping = true;
    code = cairn_perf_data_records(d, cairn_buffer_span(&d->part.unzipped), off, &used, err);
    d->is_unzipping = false;
    if (d->part.is_broken) { /* what is compressed later may be sound */
        d->part.is_broken = false;
        d->counts.n_damaged++;
        used = d->part.unzipped.size;
    }
    if (used)
        memmove(d->part.unzipped.data, d->part.unzipped.data + used, d->part.unzipped.size - used);
    d->part.unzipped.size -= used;
    return code;
}

/* {u64 size; bytes; padding} */
static int take_zipped_sized(struct cairn_perf_data *d, struct cairn_span body, uint64_t off,
                             struct cairn_err *err)
{
    struct cairn_reader r = cairn_reader_of(body, d->swap);
    struct cairn_span zipped = cairn_reader_take(&r, cairn_reader_u64(&r));
    d->counts.n_damaged += r.failed;
    return r.failed ? CAIRN_OK : take_zipped(d, zipped, off, err);
}

/* Formats of tracepoints, which followed their record. */
static int take_tracing(struct cairn_perf_data *d, struct cairn_err *err)
{
    int code = d->part.tracing.failed
                   ? CAIRN_E_NOMEM
                   : cairn_perf_data_tracepoints_read(&d->tracepoints, d->stream.profile,
                                                      cairn_buffer_span(&d->part.tracing), d->swap);
    d->part.is_tracing = false;
    cairn_buffer_done(&d->part.tracing);
    return code < 0 ? cairn_fail_memory(err) : CAIRN_OK;
}

/* {u32 size; padding}, and the bytes behind the record; of simpleperf inside of it. */
static int take_tracing_record(struct cairn_perf_data *d, struct cairn_span body,
                               struct cairn_err *err)
{
    struct cairn_reader r = cairn_reader_of(body, d->swap);
    const uint32_t size = cairn_reader_u32(&r);
    if (size && size <= cairn_reader_left(&r)) {
        cairn_buffer_clear(&d->part.tracing);
        cairn_buffer_add(&d->part.tracing, body.data + sizeof size, size);
        return take_tracing(d, err);
    }
    d->part.skip = ((uint64_t)size + 7) & ~UINT64_C(7);
    d->part.is_tracing = d->part.skip && d->part.skip <= TRACING_MAX;
    return CAIRN_OK;
}

static int take_user(struct cairn_perf_data *d, uint32_t type, uint16_t misc,
                     struct cairn_span body, uint64_t off, struct cairn_err *err)
{
    struct cairn_reader r = cairn_reader_of(body, d->swap);
    switch (type) {
    case PERF_DATA_ATTR:
        return cairn_perf_data_take_attr(d, body, err);
    case PERF_DATA_TRACING_DATA:
        return take_tracing_record(d, body, err);
    case PERF_DATA_BUILD_ID:
        return cairn_perf_data_add_build_id(d, misc, body, err);
    case PERF_DATA_FINISHED_ROUND:
        if (d->has_no_rounds)
            return CAIRN_OK;
        return cairn_perf_data_order_round(&d->order, send, d, err);
    case PERF_DATA_AUXTRACE:
        d->part.skip = cairn_reader_u64(&r);
        return CAIRN_OK;
    case PERF_DATA_EVENT_UPDATE:
        return cairn_perf_data_take_update(d, body, err);
    case PERF_DATA_HEADER_FEATURE:
        return take_feature(d, body, err);
    case PERF_DATA_COMPRESSED:
        return take_zipped(d, body, off, err);
    case PERF_DATA_COMPRESSED2:
        return take_zipped_sized(d, body, off, err);
    default:
        d->counts.n_unknown += type > PERF_DATA_USER_LAST;
        return CAIRN_OK;
    }
}

static int take_joined(struct cairn_perf_data *d, struct cairn_span body, struct cairn_err *err)
{
    int code = cairn_perf_data_joined_add(&d->joined, body, d->swap);
    d->counts.n_damaged += code == 0;
    return code < 0 ? cairn_fail_memory(err) : CAIRN_OK;
}

static int take_record(struct cairn_perf_data *d, struct cairn_span record, uint64_t off,
                       struct cairn_err *err)
{
    struct cairn_reader r = cairn_reader_of(record, d->swap);
    uint32_t type = cairn_reader_u32(&r);
    uint16_t misc = cairn_reader_u16(&r);
    if (type == PERF_DATA_SIMPLEPERF_CALLCHAIN)
        return take_joined(d, (struct cairn_span){record.data + HEAD, record.size - HEAD}, err);
    if (type && type <= PERF_DATA_KERNEL_LAST)
        return take_kernel(d, type, record, off, err);
    if (type >= PERF_DATA_USER_FIRST)
        return take_user(d, type, misc, (struct cairn_span){record.data + HEAD, record.size - HEAD},
                         off, err);
    d->counts.n_unknown++;
    return CAIRN_OK;
}

/* The size of COMPRESSED2 has 16 bits in its header, and perf writes more: what it says inside
 * counts, where the two agree in these bits. */
static uint32_t long_size(struct cairn_reader *r, uint32_t size)
{
    enum { SIZE_BYTES = 8, LONG_MAX_BYTES = 1 << 19 };
    uint64_t inside = cairn_reader_u64(r);
    if (r->failed || inside > LONG_MAX_BYTES)
        return size;
    uint32_t whole = (uint32_t)(HEAD + SIZE_BYTES + ((inside + 7) & ~UINT64_C(7)));
    return (whole & UINT16_MAX) == size ? whole : size;
}

/* The size of the record at the reader, with its header; 0: it is impossible. */
static uint32_t size_of(struct cairn_reader r, uint32_t *ret_type)
{
    uint32_t type = cairn_reader_u32(&r), high = cairn_reader_u16(&r), size = cairn_reader_u16(&r);
    *ret_type = type;
    if (type >= PERF_DATA_SIMPLEPERF_FIRST)
        size |= high << 16;
    else if (type == PERF_DATA_COMPRESSED2)
        size = long_size(&r, size);
    return size < HEAD ? 0 : size;
}

int cairn_perf_data_records(struct cairn_perf_data *d, struct cairn_span bytes, uint64_t off,
                            size_t *ret_used, struct cairn_err *err)
{
    enum { PEEKED = 16 /* of a record, to know its size */, TRACING_AT = HEAD + 4 };
    size_t at = 0;
    int code = CAIRN_OK;
    while (code == CAIRN_OK && !d->part.is_broken && at < bytes.size) {
        size_t left = bytes.size - at;
        uint32_t type;
        if (d->part.skip) {
            size_t skipped = d->part.skip < left ? (size_t)d->part.skip : left;
            if (d->part.is_tracing)
                cairn_buffer_add(&d->part.tracing, bytes.data + at, skipped);
            d->part.skip -= skipped;
            at += skipped;
            if (d->part.is_tracing && !d->part.skip)
                code = take_tracing(d, err);
            continue;
        }
        if (left < HEAD)
            break;
        const struct cairn_span here = {bytes.data + at, left < PEEKED ? left : PEEKED};
        uint32_t size = size_of(cairn_reader_of(here, d->swap), &type);
        if (!size) {
            d->part.is_broken = true;
            d->counts.broken_at = off + at;
            break;
        }
        if (type == PERF_DATA_SIMPLEPERF_TRACING && left >= TRACING_AT && size >= TRACING_AT) {
            d->part.skip = size - TRACING_AT; /* it may be too long to wait for */
            d->part.is_tracing = d->part.skip && d->part.skip <= TRACING_MAX;
            at += TRACING_AT;
            continue;
        }
        bool is_joined = type == PERF_DATA_SIMPLEPERF_CALLCHAIN && size <= JOINED_MAX;
        if (type >= PERF_DATA_SIMPLEPERF_FIRST &&
            !is_joined) { /* too long to wait for, and of no use */
            d->counts.n_unknown += type > PERF_DATA_SIMPLEPERF_LAST;
            d->part.skip = size;
            continue;
        }
        if (size > left)
            break;
        code = take_record(d, (struct cairn_span){bytes.data + at, size}, off + at, err);
        at += size;
    }
    *ret_used = at;
    return code;
}

int cairn_perf_data_finish(struct cairn_perf_data *d, struct cairn_err *err)
{
    struct cairn_stream *stream = &d->stream;
    int code = cairn_perf_data_order_end(&d->order, send, d, err);
    if (code == CAIRN_OK)
        code = cairn_perf_data_end_deferred(d, err);
    if (code == CAIRN_OK && cairn_perf_data_waits_end(&d->waits, stream, d->order.newest) < 0)
        code = cairn_fail_memory(err);
    stream->to_wall_ns = d->wall_ns ? d->wall_ns - d->clock_ns : 0;
    if (code == CAIRN_OK && cairn_stream_finish(stream) < 0)
        code = cairn_fail_memory(err);
    if (code == CAIRN_OK && cairn_perf_data_symbols_name(&d->symbols, stream->profile) < 0)
        code = cairn_fail_memory(err);
    if (code == CAIRN_OK && d->wall_ns && stream->has_times)
        stream->profile->time_ns = (int64_t)(d->wall_ns + (stream->first_ns - d->clock_ns));
    return code;
}

void cairn_perf_data_part_done(struct cairn_perf_data_part *part)
{
    cairn_zstd_stream_done(&part->zstd);
    cairn_buffer_done(&part->unzipped);
    cairn_buffer_done(&part->tracing);
}

void cairn_perf_data_done(struct cairn_perf_data *d)
{
    cairn_stream_done(&d->stream);
    cairn_perf_data_order_done(&d->order);
    cairn_perf_data_deferred_done(&d->deferred);
    cairn_perf_data_group_done(&d->group);
    cairn_perf_data_waits_done(&d->waits);
    cairn_table_done(&d->by_id);
    cairn_free(d->attrs);
    cairn_perf_data_part_done(&d->part);
    cairn_perf_data_tracepoints_done(&d->tracepoints);
    cairn_perf_data_symbols_done(&d->symbols);
    cairn_perf_data_joined_done(&d->joined);
}
