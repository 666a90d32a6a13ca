/* SPDX-License-Identifier: MIT */
/* Records of the kernel whose turn has come: what they tell the stream. */
#include <stdio.h>

#include "base/error.h"
#include "formats/perf_data.h"
#include "formats/perf_data_regs.h"
#include "formats/perf_script_line.h"

enum {
    HEAD = PERF_DATA_HEAD_BYTES,
    PROT_EXECUTABLE = 4,
    STACK_DEFAULT = 127, /* kernel.perf_event_max_stack */
    CUT_BYTES = 64
};

/* Values beyond a signed number count as the largest one. */
static int64_t clamped(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

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
    return code < 0 ? cairn_fail_memory(err) : CAIRN_OK;
}

/* Has another event the same name without modifiers, as "cycles:u" and "cycles:k" have? */
static bool is_ambiguous(const struct cairn_perf_data *d, const struct cairn_perf_data_attr *attr,
                         struct cairn_span bare)
{
    for (size_t i = 0; i < d->n_attrs; i++) {
        if (!d->attrs[i].name || d->attrs[i].name == attr->name)
            continue;
        const char *name = cairn_strings_get(&d->stream.profile->strings, d->attrs[i].name);
        if (cairn_span_equal(cairn_perf_event_name(cairn_span_of(name)), bare))
            return true;
    }
    return false;
}

/* The first sample of an event makes it a type of values. */
static int find_event(struct cairn_perf_data *d, struct cairn_perf_data_attr *attr,
                      struct cairn_err *err)
{
    char made[CAIRN_PERF_DATA_NAME_BYTES];
    const char *unit = cairn_perf_data_is_clock(attr) ? "nanoseconds"
                       : attr->unit && !attr->is_scaled
                           ? cairn_strings_get(&d->stream.profile->strings, attr->unit)
                           : "count";
    if (attr->event != UINT32_MAX)
        return CAIRN_OK;
    cairn_perf_data_attr_name(attr, made);
    const char *name =
        attr->name ? cairn_strings_get(&d->stream.profile->strings, attr->name) : made;
    struct cairn_span bare = cairn_perf_event_name(cairn_span_of(name));
    if (bare.size < sizeof made && bare.size < strlen(name) && !is_ambiguous(d, attr, bare)) {
        memmove(made, bare.data, bare.size);
        made[bare.size] = 0;
        name = made;
    }
    attr->event = cairn_stream_add_event(&d->stream, name, unit);
    if (attr->event != UINT32_MAX)
        return CAIRN_OK;
    return d->stream.n_events == CAIRN_STREAM_EVENTS_MAX
               ? cairn_fail(err, CAIRN_E_LIMIT, "more than %d events have samples",
                            CAIRN_STREAM_EVENTS_MAX)
               : cairn_fail_memory(err);
}

/* The number of an event stands at the same place in the samples of all of them. */
static struct cairn_perf_data_attr *attr_of(struct cairn_perf_data *d, struct cairn_span body)
{
    int at = d->n_attrs ? cairn_perf_data_id_in_sample(d->attrs) : -1;
    struct cairn_reader r = cairn_reader_of(body, d->swap);
    if (d->n_attrs == 1)
        return d->attrs;
    if (at < 0)
        return NULL;
    cairn_reader_seek(&r, (uint64_t)at);
    uint64_t id = cairn_reader_u64(&r);
    return r.failed ? NULL : cairn_perf_data_attr_of(d, id);
}

/* A chain as long as the kernel's limit goes on where it was cut. */
static const char *cut_of(const struct cairn_perf_data *d, const struct cairn_perf_data_attr *attr,
                          char text[CUT_BYTES])
{
    size_t most = attr->max_stack ? attr->max_stack : STACK_DEFAULT;
    if (d->chain.is_deferred)
        return "the user part of the stack is missing";
    if (d->chain.n_kernel + d->chain.n_user < most)
        return NULL;
    snprintf(text, CUT_BYTES, "deeper than %zu frames", most);
    return text;
}

/* What was copied of the user side; false: nothing. */
static bool find_copy(const struct cairn_perf_data *d, const struct cairn_perf_data_attr *attr,
                      const struct cairn_perf_data_sample *sample,
                      struct cairn_stream_copy *ret_copy)
{
    struct cairn_stream_copy copy = {.stack = sample->stack, .goes_on = sample->is_stack_full};
    if (!cairn_perf_data_has(attr, CAIRN_PERF_DATA_STACK_USER) || !sample->regs.abi ||
        !cairn_perf_data_cursor_regs(&sample->regs, d->machine, d->swap, &copy.regs, &copy.sp))
        return false;
    *ret_copy = copy;
    return true;
}

static int add_sample(struct cairn_perf_data *d, const struct cairn_perf_data_attr *attr,
                      const struct cairn_perf_data_sample *sample, struct cairn_err *err)
{
    char text[CUT_BYTES];
    struct cairn_stream_copy copy;
    struct cairn_label_list details = {.profile = d->stream.profile};
    const struct cairn_stream_sample told = {
        .pid = sample->pid,
        .tid = sample->tid,
        .event = attr->event,
        .value = sample->has_period ? clamped(sample->period)
                 : cairn_perf_data_flag(attr, CAIRN_PERF_DATA_FREQ) || !attr->sample_period
                     ? 1
                     : clamped(attr->sample_period),
        .time_ns = sample->time,
        .has_time = sample->has_time,
        .cpu = sample->cpu,
        .kernel = d->chain.kernel,
        .n_kernel = d->chain.n_kernel,
        .user = {.frames = d->chain.user, .n = d->chain.n_user, .cut = cut_of(d, attr, text)},
        .copy = find_copy(d, attr, sample, &copy) ? &copy : NULL,
        .event_name =
            cairn_perf_data_tracepoint_put(&d->tracepoints, attr, sample->raw, d->swap, &details),
        .event_details = &details,
    };
    return cairn_stream_sample(&d->stream, &told) < 0 ? cairn_fail_memory(err) : CAIRN_OK;
}

/* What became known of a sample since it was recorded. */
struct later {
    struct cairn_span user; /* a chain of the user side; empty: none */
    bool is_last;           /* nothing more will */
};

/* The addresses stay where they are when the sample's own chain, which has none, is split. */
static void split_chain(struct cairn_perf_data *d, const struct cairn_perf_data_sample *sample,
                        enum cairn_perf_data_mode mode, const struct later *later)
{
    const struct cairn_perf_data_sample rest = {.chain = later->user};
    cairn_perf_data_chain_split(&rest, d->swap, PERF_DATA_MODE_USER, &d->chain);
    size_t n_user = d->chain.n_user;
    cairn_perf_data_chain_split(sample, d->swap, mode, &d->chain);
    if (!d->chain.is_deferred || d->chain.n_user || !n_user)
        return;
    d->chain.n_user = n_user;
    d->chain.is_deferred = false;
}

/* The kernel's addresses stay where they are when a chain that has none of them is split. */
static void take_joined(struct cairn_perf_data *d, const struct cairn_perf_data_sample *sample)
{
    const struct cairn_perf_data_sample joined = {
        .chain = cairn_perf_data_joined_find(&d->joined, sample->tid, sample->time)};
    const size_t n_kernel = d->chain.n_kernel;
    if (!joined.chain.size)
        return;
    cairn_perf_data_chain_split(&joined, d->swap, PERF_DATA_MODE_USER, &d->chain);
    d->chain.n_kernel = n_kernel;
}

static int take_sample(struct cairn_perf_data *d, struct cairn_span record,
                       const struct later *later, struct cairn_err *err)
{
    struct cairn_reader r = cairn_reader_of(record, d->swap);
    cairn_reader_skip(&r, 4);
    enum cairn_perf_data_mode mode = cairn_reader_u16(&r) & PERF_DATA_MODE_MASK;
    struct cairn_span body = {record.data + HEAD, record.size - HEAD};
    struct cairn_perf_data_attr *attr = attr_of(d, body);
    struct cairn_perf_data_sample sample;
    if (!attr) {
        d->counts.n_no_event++;
        return CAIRN_OK;
    }
    if (!cairn_perf_data_sample_parse(body, d->swap, attr, &sample)) {
        d->counts.n_damaged++;
        return CAIRN_OK;
    }
    if (mode > PERF_DATA_MODE_USER) {
        d->counts.n_guest++;
        return CAIRN_OK;
    }
    /* simpleperf unwound the copied stack, and has the kernel's chain in front. */
    d->chain.has_calls = d->is_simpleperf && cairn_perf_data_has(attr, CAIRN_PERF_DATA_REGS_USER) &&
                         cairn_perf_data_has(attr, CAIRN_PERF_DATA_STACK_USER);
    split_chain(d, &sample, mode, later);
    take_joined(d, &sample);
    int code = d->chain.is_deferred && !later->is_last
                   ? cairn_perf_data_deferred_add(&d->deferred, d->chain.cookie, record)
                   : 0;
    if (code != 0)
        return code < 0 ? cairn_fail_memory(err) : CAIRN_OK;
    code = find_event(d, attr, err);
    return code < 0 ? code : add_sample(d, attr, &sample, err);
}

/* The user side of the samples with that cookie. */
static int take_deferred(struct cairn_perf_data *d, struct cairn_reader *r, struct cairn_err *err)
{
    uint64_t cookie = cairn_reader_u64(r), n = cairn_reader_u64(r);
    const struct later later = {.user = n <= cairn_reader_left(r) / 8 ? cairn_reader_take(r, n * 8)
                                                                      : (struct cairn_span){0},
                                .is_last = true};
    int code = CAIRN_OK;
    for (struct cairn_span record;
         code == CAIRN_OK &&
         (record = cairn_perf_data_deferred_take(&d->deferred, cookie, false)).size;)
        code = take_sample(d, record, &later, err);
    return code;
}

int cairn_perf_data_end_deferred(struct cairn_perf_data *d, struct cairn_err *err)
{
    const struct later later = {.is_last = true};
    int code = CAIRN_OK;
    for (struct cairn_span record;
         code == CAIRN_OK && (record = cairn_perf_data_deferred_take(&d->deferred, 0, true)).size;)
        code = take_sample(d, record, &later, err);
    return code;
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

int cairn_perf_data_event(struct cairn_perf_data *d, struct cairn_span record,
                          struct cairn_err *err)
{
    struct cairn_reader r = cairn_reader_of(record, d->swap);
    uint32_t type = cairn_reader_u32(&r);
    uint16_t misc = cairn_reader_u16(&r);
    struct cairn_span body = {record.data + HEAD, record.size - HEAD};
    if (type == PERF_DATA_SAMPLE)
        return take_sample(d, record, &(struct later){0}, err);
    if (d->n_attrs)
        body.size -= cairn_perf_data_trailer_of(d->attrs, body, d->swap).size;
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
        return take_deferred(d, &r, err);
    default: /* known, and of no use here */
        return CAIRN_OK;
    }
}
