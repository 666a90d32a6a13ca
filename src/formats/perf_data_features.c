/* SPDX-License-Identifier: MIT */
/* The features of a header: what perf stores of the machine and the command, and names and build
 * IDs. Source: Linux, tools/perf/Documentation/perf.data-file-format.txt, tools/perf/util/header.c.
 */
#include <elf.h>

#include "base/error.h"
#include "formats/perf_data.h"

enum { BUILD_ID_FIELD = 24, HEAD = PERF_DATA_HEAD_BYTES, WORDS_MAX = 1024 };

/* A length of four bytes, and a text that is padded with NULs. */
static struct cairn_span take_text(struct cairn_reader *r)
{
    struct cairn_span text = cairn_reader_take(r, cairn_reader_u32(r));
    text.size = text.size ? strnlen((const char *)text.data, text.size) : 0;
    return text;
}

static int note(struct cairn_perf_data *d, enum cairn_note kind, struct cairn_span text,
                struct cairn_err *err)
{
    struct cairn_buffer line = {0};
    int code = CAIRN_OK;
    if (!text.size)
        return code;
    cairn_buffer_add(&line, text.data, text.size);
    if (line.failed ||
        cairn_profile_add_note(d->stream.profile, kind, cairn_buffer_text(&line)) < 0)
        code = cairn_fail_memory(err);
    cairn_buffer_done(&line);
    return code;
}

static int take_command(struct cairn_perf_data *d, struct cairn_reader *r, struct cairn_err *err)
{
    struct cairn_buffer words = {0};
    uint32_t n = cairn_reader_u32(r);
    for (uint32_t i = 0; i < n && i < WORDS_MAX && cairn_reader_more(r); i++) {
        struct cairn_span word = take_text(r);
        cairn_buffer_str(&words, i ? " " : "");
        cairn_buffer_add(&words, word.data, word.size);
    }
    int code = words.failed ? cairn_fail_memory(err)
                            : note(d, CAIRN_NOTE_COMMAND, cairn_buffer_span(&words), err);
    cairn_buffer_done(&words);
    return code;
}

/* Names of the events, by the numbers that their attributes have. */
static int take_names(struct cairn_perf_data *d, struct cairn_reader *r, struct cairn_err *err)
{
    uint32_t n = cairn_reader_u32(r), attr_size = cairn_reader_u32(r);
    for (uint32_t i = 0; i < n && cairn_reader_more(r); i++) {
        cairn_reader_skip(r, attr_size);
        uint32_t n_ids = cairn_reader_u32(r);
        struct cairn_span name = take_text(r);
        struct cairn_perf_data_attr *attr = n == d->n_attrs ? &d->attrs[i] : NULL;
        for (uint32_t id = 0; id < n_ids && cairn_reader_more(r); id++) {
            struct cairn_perf_data_attr *of = cairn_perf_data_attr_of(d, cairn_reader_u64(r));
            attr = of && d->n_attrs > 1 ? of : attr;
        }
        if (!attr || !name.size)
            continue;
        attr->name = cairn_profile_text(d->stream.profile, (const char *)name.data, name.size);
        if (attr->name == UINT32_MAX)
            return cairn_fail_memory(err);
    }
    return CAIRN_OK;
}

int cairn_perf_data_add_build_id(struct cairn_perf_data *d, uint16_t misc, struct cairn_span body,
                                 struct cairn_err *err)
{
    struct cairn_reader r = cairn_reader_of(body, d->swap);
    cairn_reader_skip(&r, 4); /* pid, of guests */
    struct cairn_span id = cairn_reader_take(&r, BUILD_ID_FIELD);
    struct cairn_span rest = cairn_reader_take(&r, cairn_reader_left(&r));
    size_t size = rest.size ? strnlen((const char *)rest.data, rest.size) : 0;
    unsigned mode = misc & PERF_DATA_MODE_MASK;
    struct cairn_buffer path = {0};
    if (r.failed || !size || (mode != PERF_DATA_MODE_KERNEL && mode != PERF_DATA_MODE_USER))
        return CAIRN_OK;
    id.size = misc & PERF_DATA_MISC_BUILD_ID_SIZE &&
                      id.data[PERF_DATA_BUILD_ID_BYTES] <= PERF_DATA_BUILD_ID_BYTES
                  ? id.data[PERF_DATA_BUILD_ID_BYTES]
                  : PERF_DATA_BUILD_ID_BYTES;
    cairn_buffer_add(&path, rest.data, size);
    int code = path.failed ? CAIRN_E_NOMEM
                           : cairn_stream_build_id(&d->stream, cairn_buffer_text(&path), id,
                                                   mode == PERF_DATA_MODE_KERNEL);
    cairn_buffer_done(&path);
    return code < 0 ? cairn_fail_memory(err) : CAIRN_OK;
}

static int take_build_ids(struct cairn_perf_data *d, struct cairn_reader *r, struct cairn_err *err)
{
    int code = CAIRN_OK;
    while (cairn_reader_more(r) && code == CAIRN_OK) {
        cairn_reader_skip(r, 4); /* type: old files have a 0 */
        uint16_t misc = cairn_reader_u16(r), size = cairn_reader_u16(r);
        struct cairn_span body =
            cairn_reader_take(r, size < HEAD ? UINT64_MAX : (uint64_t)(size - HEAD));
        if (!r->failed)
            code = cairn_perf_data_add_build_id(d, misc, body, err);
    }
    return code;
}

static void take_clock(struct cairn_perf_data *d, struct cairn_reader *r)
{
    cairn_reader_skip(r, 8); /* version, and which clock */
    uint64_t wall_ns = cairn_reader_u64(r), clock_ns = cairn_reader_u64(r);
    if (r->failed)
        return;
    d->wall_ns = wall_ns;
    d->clock_ns = clock_ns;
}

/* As uname(2) calls it. */
static int take_cpu(struct cairn_perf_data *d, struct cairn_span name, struct cairn_err *err)
{
    static const struct {
        const char *begin;
        uint16_t machine;
    } cpus[] = {{"x86_64", EM_X86_64}, {"aarch64", EM_AARCH64}, {"arm", EM_ARM}, {"i", EM_386}};
    for (size_t i = sizeof cpus / sizeof *cpus; i-- > 0;)
        if (cairn_span_begins(name, cpus[i].begin))
            d->machine = cpus[i].machine;
    return note(d, CAIRN_NOTE_CPU, name, err);
}

static int take_files(struct cairn_perf_data *d, unsigned feature, struct cairn_span bytes,
                      struct cairn_err *err)
{
    int code = cairn_perf_data_symbols_read(&d->symbols, d->stream.profile, bytes,
                                            feature == PERF_DATA_FEATURE_FILES2, d->swap);
    d->is_simpleperf = true;
    return code < 0 ? cairn_fail_memory(err) : CAIRN_OK;
}

/* Mappings and names from before the recording: records, which may be compressed as one stream of
 * their own, and have no feature like this among them. */
static int take_init_map(struct cairn_perf_data *d, struct cairn_span bytes, struct cairn_err *err)
{
    const struct cairn_perf_data_part outer = d->part;
    size_t used = 0;
    if (d->is_in_init_map) {
        d->counts.n_damaged++;
        return CAIRN_OK;
    }
    d->part = (struct cairn_perf_data_part){0};
    d->is_in_init_map = true;
    int code = cairn_perf_data_records(d, bytes, 0, &used, err);
    d->counts.n_damaged += used < bytes.size;
    d->is_in_init_map = false;
    cairn_perf_data_part_done(&d->part);
    d->part = outer;
    return code;
}

int cairn_perf_data_feature(struct cairn_perf_data *d, unsigned feature, struct cairn_span bytes,
                            struct cairn_err *err)
{
    struct cairn_reader r = cairn_reader_of(bytes, d->swap);
    switch (feature) {
    case PERF_DATA_FEATURE_TRACING_DATA:
        return cairn_perf_data_tracepoints_read(&d->tracepoints, d->stream.profile, bytes,
                                                d->swap) < 0
                   ? cairn_fail_memory(err)
                   : CAIRN_OK;
    case PERF_DATA_FEATURE_BUILD_ID:
        return take_build_ids(d, &r, err);
    case PERF_DATA_FEATURE_HOSTNAME:
        return note(d, CAIRN_NOTE_HOST, take_text(&r), err);
    case PERF_DATA_FEATURE_OSRELEASE:
        return note(d, CAIRN_NOTE_KERNEL, take_text(&r), err);
    case PERF_DATA_FEATURE_ARCH:
        return take_cpu(d, take_text(&r), err);
    case PERF_DATA_FEATURE_CMDLINE:
        return take_command(d, &r, err);
    case PERF_DATA_FEATURE_EVENT_DESC:
        return take_names(d, &r, err);
    case PERF_DATA_FEATURE_FILES:
    case PERF_DATA_FEATURE_FILES2:
        return take_files(d, feature, bytes, err);
    case PERF_DATA_FEATURE_META_INFO:
        return cairn_perf_data_meta(d, bytes, err);
    case PERF_DATA_FEATURE_INIT_MAP:
        return take_init_map(d, bytes, err);
    case PERF_DATA_FEATURE_CLOCK_DATA:
        take_clock(d, &r);
        return CAIRN_OK;
    default:
        return CAIRN_OK;
    }
}
