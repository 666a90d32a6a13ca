/* SPDX-License-Identifier: MIT */
/* Records of the kernel whose turn has come: what they tell the stream. */
#include "base/error.h"
#include "formats/perf_data.h"
#include "formats/perf_data_take.h"

enum { HEAD = PERF_DATA_HEAD_BYTES, PROT_EXECUTABLE = 4 };

/* Seen with perf 6.1, which asks for none, on Linux 6.18: the bit is set, and the number of the
 * device stands there. 254:0 begins as a build ID of 254 bytes would, and none has as many. */
static bool has_build_id(struct cairn_reader r, uint32_t type, uint16_t misc)
{
    return type == PERF_DATA_MMAP2 && misc & PERF_DATA_MISC_MMAP_BUILD_ID &&
           cairn_reader_u8(&r) <= PERF_DATA_BUILD_ID_BYTES;
}

static int take_mapping(struct cairn_perf_data *d, uint32_t type, uint16_t misc,
                        struct cairn_reader *r, struct cairn_err *err)
{
    unsigned mode = misc & PERF_DATA_MODE_MASK;
    struct cairn_stream_mapping mapping = {.is_kernel = mode == PERF_DATA_MODE_KERNEL};
    bool is_code = !(misc & PERF_DATA_MISC_MMAP_DATA);
    mapping.pid = (int)cairn_reader_u32(r);
    cairn_reader_skip(r, 4);
    mapping.start = cairn_reader_u64(r);
    mapping.size = cairn_reader_u64(r);
    mapping.off = cairn_reader_u64(r);
    if (has_build_id(*r, type, misc)) {
        uint8_t size = cairn_reader_u8(r);
        cairn_reader_skip(r, 3);
        mapping.build_id = cairn_reader_take(r, PERF_DATA_BUILD_ID_BYTES);
        mapping.build_id.size = size < mapping.build_id.size ? size : mapping.build_id.size;
    } else if (type == PERF_DATA_MMAP2) {
        uint64_t major = cairn_reader_u32(r), minor = cairn_reader_u32(r);
        mapping.dev = major << 32 | minor;
        mapping.inode = cairn_reader_u64(r);
        mapping.inode ^= cairn_reader_u64(r) << 40; /* its generation */
    }
    if (type == PERF_DATA_MMAP2) {
        uint32_t protection = cairn_reader_u32(r);
        is_code &= mapping.is_kernel || protection & PROT_EXECUTABLE; /* perf tells none of those */
        cairn_reader_skip(r, 4);
    }
    mapping.path = cairn_reader_str(r);
    d->counts.n_damaged += r->failed;
    if (r->failed || !is_code || mode > PERF_DATA_MODE_USER)
        return CAIRN_OK;
    return cairn_stream_map(&d->stream, &mapping) < 0 ? cairn_fail_memory(err) : CAIRN_OK;
}

static int take_name(struct cairn_perf_data *d, uint16_t misc, struct cairn_reader *r,
                     struct cairn_err *err)
{
    int pid = (int)cairn_reader_u32(r), tid = (int)cairn_reader_u32(r), code = CAIRN_OK;
    const char *name = cairn_reader_str(r);
    d->counts.n_damaged += r->failed;
    if (r->failed)
        return CAIRN_OK;
    if (misc & PERF_DATA_MISC_EXEC)
        code = cairn_stream_exec(&d->stream, pid);
    if (code == CAIRN_OK)
        code = cairn_stream_name(&d->stream, pid, tid, name);
    return code < 0 ? cairn_fail_memory(err) : CAIRN_OK;
}

/* FORK and EXIT have one form. */
static int take_birth(struct cairn_perf_data *d, uint32_t type, uint16_t misc,
                      struct cairn_reader *r, struct cairn_err *err)
{
    struct cairn_stream_birth birth = {.is_bare = misc & PERF_DATA_MISC_FORK_BARE};
    birth.pid = (int)cairn_reader_u32(r);
    birth.parent_pid = (int)cairn_reader_u32(r);
    birth.tid = (int)cairn_reader_u32(r);
    birth.parent_tid = (int)cairn_reader_u32(r);
    d->counts.n_damaged += r->failed;
    if (r->failed)
        return CAIRN_OK;
    int code = type == PERF_DATA_FORK ? cairn_stream_fork(&d->stream, &birth)
                                      : cairn_stream_exit(&d->stream, birth.pid, birth.tid);
    if (code == CAIRN_OK)
        code = cairn_perf_data_waits_exit(&d->waits, birth.tid, type == PERF_DATA_FORK);
    return code < 0 ? cairn_fail_memory(err) : CAIRN_OK;
}

static void take_lost(struct cairn_perf_data *d, uint32_t type, struct cairn_reader *r)
{
    if (type == PERF_DATA_LOST)
        cairn_reader_skip(r, 8); /* the number of the event */
    cairn_stream_lost(&d->stream, cairn_reader_u64(r));
}

/* What was there before the recording comes in this form, too. */
static int take_symbol(struct cairn_perf_data *d, struct cairn_reader *r, struct cairn_err *err)
{
    enum { GONE = 1 };
    uint64_t start = cairn_reader_u64(r), size = cairn_reader_u32(r);
    cairn_reader_skip(r, 2);
    uint16_t flags = cairn_reader_u16(r);
    const char *name = cairn_reader_str(r);
    d->counts.n_damaged += r->failed;
    if (r->failed || flags & GONE)
        return CAIRN_OK;
    return cairn_stream_symbol(&d->stream, start, size, name) < 0 ? cairn_fail_memory(err)
                                                                  : CAIRN_OK;
}

static int take_switch(struct cairn_perf_data *d, uint16_t misc,
                       const struct cairn_perf_data_trailer *trailer, struct cairn_err *err)
{
    if (misc & PERF_DATA_MISC_SWITCH_OUT || !trailer->has_tid || !trailer->has_time)
        return CAIRN_OK;
    return cairn_perf_data_waits_stop(&d->waits, &d->stream, trailer->tid, trailer->time) < 0
               ? cairn_fail_memory(err)
               : CAIRN_OK;
}

int cairn_perf_data_event(struct cairn_perf_data *d, struct cairn_span record,
                          struct cairn_err *err)
{
    struct cairn_reader r = cairn_reader_of(record, d->swap);
    uint32_t type = cairn_reader_u32(&r);
    uint16_t misc = cairn_reader_u16(&r);
    struct cairn_span body = {record.data + HEAD, record.size - HEAD};
    if (type == PERF_DATA_SAMPLE)
        return cairn_perf_data_take_sample(d, record, err);
    struct cairn_perf_data_trailer trailer = {0};
    if (d->n_attrs)
        trailer = cairn_perf_data_trailer_of(d->attrs, body, d->swap);
    body.size -= trailer.size;
    r = cairn_reader_of(body, d->swap);
    switch (type) {
    case PERF_DATA_MMAP:
    case PERF_DATA_MMAP2:
        return take_mapping(d, type, misc, &r, err);
    case PERF_DATA_COMM:
        return take_name(d, misc, &r, err);
    case PERF_DATA_FORK:
    case PERF_DATA_EXIT:
        return take_birth(d, type, misc, &r, err);
    case PERF_DATA_LOST:
    case PERF_DATA_LOST_SAMPLES:
        take_lost(d, type, &r);
        return CAIRN_OK;
    case PERF_DATA_KSYMBOL:
        return take_symbol(d, &r, err);
    case PERF_DATA_CALLCHAIN_DEFERRED:
        return cairn_perf_data_take_deferred(d, &r, &trailer, err);
    case PERF_DATA_SWITCH:
    case PERF_DATA_SWITCH_CPU_WIDE:
        return take_switch(d, misc, &trailer, err);
    default: /* known, and of no use here */
        return CAIRN_OK;
    }
}
