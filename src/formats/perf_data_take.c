/* SPDX-License-Identifier: MIT */
#include "formats/perf_data_take.h"

#include <stdio.h>

#include "base/error.h"
#include "formats/perf_data_regs.h"
#include "formats/perf_script_line.h"

enum {
    HEAD = PERF_DATA_HEAD_BYTES,
    STACK_DEFAULT = 127, /* kernel.perf_event_max_stack */
    CUT_BYTES = 64
};

/* Values beyond a signed number count as the largest one. */
static int64_t clamped(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
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

static bool is_software(const struct cairn_perf_data_attr *attr, uint64_t config)
{
    return attr->type == CAIRN_PERF_DATA_TYPE_SOFTWARE && attr->config == config;
}

/* Counted switches say something of time where it is recorded when threads come back. Traced ones
 * without their fields are no recording of perf's: what cairn wrote has the waits beside them, and
 * times that it may have made up. */
static bool is_switch(const struct cairn_perf_data *d, const struct cairn_perf_data_attr *attr,
                      const char *name)
{
    return (strcmp(name, "sched:sched_switch") == 0 &&
            (d->is_simpleperf || cairn_perf_data_has(attr, CAIRN_PERF_DATA_RAW))) ||
           (is_software(attr, CAIRN_PERF_DATA_CONTEXT_SWITCHES) &&
            cairn_perf_data_flag(attr, CAIRN_PERF_DATA_SWITCHES));
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
    /* Of perf record --off-cpu, and of cairn. */
    attr->event = strcmp(name, "offcpu-time") == 0 || strcmp(name, "off_cpu") == 0
                      ? cairn_perf_data_waits_event(&d->stream)
                      : cairn_stream_add_event(&d->stream, name, unit);
    attr->is_switch = is_switch(d, attr, name);
    if (attr->is_switch && attr->event != UINT32_MAX)
        d->stream.events[attr->event].rank = CAIRN_STREAM_RANK_SWITCHES;
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

/* What a sample counts: for its event, and for the others of its group. */
struct counted {
    int64_t value;
    struct cairn_stream_value others[CAIRN_STREAM_EVENTS_MAX];
    size_t n_others;
};

static int64_t period_of(const struct cairn_perf_data_attr *attr,
                         const struct cairn_perf_data_sample *sample)
{
    if (sample->has_period)
        return clamped(sample->period);
    return cairn_perf_data_flag(attr, CAIRN_PERF_DATA_FREQ) || !attr->sample_period
               ? 1
               : clamped(attr->sample_period);
}

/* As perf counts: what the counters went on by since the last sample. simpleperf leaves a sample's
 * own event its period. */
static int count(struct cairn_perf_data *d, const struct cairn_perf_data_attr *own,
                 const struct cairn_perf_data_sample *sample, struct counted *counted,
                 struct cairn_err *err)
{
    uint64_t value, number, since;
    uint32_t at;
    counted->value = period_of(own, sample);
    counted->n_others = 0;
    for (size_t i = 0; i < CAIRN_STREAM_EVENTS_MAX &&
                       cairn_perf_data_reading(&sample->readings, d->swap, i, &value, &number);
         i++) {
        struct cairn_perf_data_attr *attr =
            cairn_table_find(&d->by_id, number, &at) ? &d->attrs[at] : NULL;
        const bool is_inherited = attr && cairn_perf_data_flag(attr, CAIRN_PERF_DATA_INHERIT);
        if (!attr || (attr == own && d->is_simpleperf))
            continue;
        if (cairn_perf_data_group_since(&d->group, number, is_inherited ? sample->tid : 0, value,
                                        &since) < 0)
            return cairn_fail_memory(err);
        int code = attr == own || !since ? CAIRN_OK : find_event(d, attr, err);
        if (code < 0)
            return code;
        if (attr == own)
            counted->value = clamped(since);
        else if (since)
            counted->others[counted->n_others++] =
                (struct cairn_stream_value){attr->event, clamped(since)};
    }
    return CAIRN_OK;
}

/* Who runs by a sample: its thread, and whom it is switched to. What of the kernel's own counts is
 * taken while a thread leaves its CPU says nothing. simpleperf has the next switch for an end. */
static int note_running(struct cairn_perf_data *d, const struct cairn_perf_data_attr *attr,
                        const struct cairn_perf_data_sample *sample)
{
    uint64_t next;
    if (!sample->has_time || (!attr->is_switch && !d->waits.n))
        return CAIRN_OK;
    if (attr->is_switch && !d->is_simpleperf)
        cairn_perf_data_waits_forget(&d->waits, sample->tid);
    else if (!is_software(attr, CAIRN_PERF_DATA_CONTEXT_SWITCHES) &&
             !is_software(attr, CAIRN_PERF_DATA_CGROUP_SWITCHES) &&
             cairn_perf_data_waits_stop(&d->waits, &d->stream, sample->tid, sample->time) < 0)
        return CAIRN_E_NOMEM;
    if (!attr->is_switch || !cairn_perf_data_tracepoint_number(&d->tracepoints, attr, sample->raw,
                                                               d->swap, "next_pid", &next))
        return CAIRN_OK;
    return cairn_perf_data_waits_stop(&d->waits, &d->stream, (int)next, sample->time);
}

/* Why a thread leaves its CPU; NULL: it does not, or that is unknown. */
static const char *off_cpu_of(const struct cairn_perf_data *d,
                              const struct cairn_perf_data_attr *attr,
                              const struct cairn_perf_data_sample *sample, bool *ret_ends)
{
    uint64_t state;
    *ret_ends = false;
    return attr->is_switch && cairn_perf_data_tracepoint_number(&d->tracepoints, attr, sample->raw,
                                                                d->swap, "prev_state", &state)
               ? cairn_perf_data_waits_reason(state, ret_ends)
               : NULL;
}

static int add_sample(struct cairn_perf_data *d, const struct cairn_perf_data_attr *attr,
                      const struct cairn_perf_data_sample *sample, struct cairn_err *err)
{
    char text[CUT_BYTES];
    struct cairn_stream_copy copy;
    struct counted counted;
    bool ends;
    int code = count(d, attr, sample, &counted, err);
    if (code < 0)
        return code;
    struct cairn_label_list details = {.profile = d->stream.profile};
    const struct cairn_stream_sample told = {
        .pid = sample->pid,
        .tid = sample->tid,
        .event = attr->event,
        .value = counted.value,
        .off_cpu = off_cpu_of(d, attr, sample, &ends),
        .others = counted.others,
        .n_others = counted.n_others,
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
    if (note_running(d, attr, sample) < 0 || cairn_stream_sample(&d->stream, &told) < 0 ||
        (attr->is_switch && !ends && sample->has_time &&
         cairn_perf_data_waits_start(&d->waits, &d->stream, sample->tid, sample->time) < 0))
        return cairn_fail_memory(err);
    return CAIRN_OK;
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

int cairn_perf_data_take_sample(struct cairn_perf_data *d, struct cairn_span record,
                                struct cairn_err *err)
{
    return take_sample(d, record, &(struct later){0}, err);
}

int cairn_perf_data_take_deferred(struct cairn_perf_data *d, struct cairn_reader *r,
                                  const struct cairn_perf_data_trailer *trailer,
                                  struct cairn_err *err)
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
    /* A thread that slept has come back by then. */
    if (code == CAIRN_OK && trailer->has_tid && trailer->has_time &&
        cairn_perf_data_waits_stop(&d->waits, &d->stream, trailer->tid, trailer->time) < 0)
        code = cairn_fail_memory(err);
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
