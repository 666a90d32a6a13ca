/* SPDX-License-Identifier: MIT */
/*
 * A profile as a recording of perf, in its file form:
 *
 *     header | numbers of events | attributes | data | table of features | features
 *
 * Source: Linux, tools/perf/Documentation/perf.data-file-format.txt.
 */
#include "formats/perf_data_write.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "formats/perf_data_attr.h"
#include "formats/perf_data_numbers.h"

enum { WORD = 8, ENTRY = CAIRN_PERF_DATA_WRITE_ATTR + PERF_DATA_SECTION_BYTES };
static const uint64_t usual_step_ns = 1000000; /* where nobody says how long it took */

static const char *text_of(const struct cairn_perf_data_writing *w, uint32_t text)
{
    return cairn_strings_get(&w->p->strings, text);
}

/* perf's own number where the name is one of perf's: some readers go by that. */
static void find_number(const struct cairn_perf_data_writing *w,
                        struct cairn_perf_data_event_out *event, bool is_time)
{
    static const unsigned n_of[] = {CAIRN_PERF_DATA_N_HARDWARE, CAIRN_PERF_DATA_N_SOFTWARE};
    const char *name = text_of(w, w->p->types[event->values].type);
    char perf_name[CAIRN_PERF_DATA_NAME_BYTES];
    event->type = is_time ? CAIRN_PERF_DATA_TYPE_SOFTWARE : CAIRN_PERF_DATA_TYPE_RAW;
    event->config = is_time ? 0 : event->values + 1;
    for (uint32_t type = 0; type <= CAIRN_PERF_DATA_TYPE_SOFTWARE; type++) {
        for (unsigned config = 0; config < n_of[type]; config++) {
            struct cairn_perf_data_attr attr = {.type = type, .config = config};
            cairn_perf_data_attr_name(&attr, perf_name);
            if (strcmp(name, perf_name) != 0 || cairn_perf_data_is_clock(&attr) != is_time ||
                (type == CAIRN_PERF_DATA_TYPE_SOFTWARE && config == CAIRN_PERF_DATA_DUMMY))
                continue;
            event->type = type;
            event->config = config;
        }
    }
}

static void add_event(struct cairn_perf_data_writing *w, size_t values)
{
    const char *unit = text_of(w, w->p->types[values].unit);
    bool is_time = strcmp(unit, "nanoseconds") == 0;
    if (w->n_events == CAIRN_PERF_DATA_WRITE_EVENTS) {
        w->left.n_types++;
        return;
    }
    struct cairn_perf_data_event_out *event = &w->events[w->n_events++];
    *event = (struct cairn_perf_data_event_out){
        .values = values, .has_unit = !is_time && *unit && strcmp(unit, "count") != 0};
    find_number(w, event, is_time);
}

/* The type that is shown first is the first event. */
static void find_events(struct cairn_perf_data_writing *w)
{
    const struct cairn_profile *p = w->p;
    const size_t shown = cairn_profile_default_value(p);
    w->samples_type = p->n_types;
    for (size_t i = p->n_types; i-- > 0;)
        if (strcmp(text_of(w, p->types[i].type), "samples") == 0)
            w->samples_type = i;
    if (shown != w->samples_type || p->n_types == 1)
        add_event(w, shown);
    for (size_t i = 0; i < p->n_types; i++)
        if (i != shown && i != w->samples_type)
            add_event(w, i);
    if (!w->n_events)
        add_event(w, shown);
}

struct timed {
    int64_t time_ns;
    uint32_t sample;
};

static int compare(const void *a, const void *b)
{
    const struct timed *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return x->sample < y->sample ? -1 : x->sample > y->sample;
}

/* Samples without a time stand before the others. */
static bool find_order(struct cairn_perf_data_writing *w)
{
    const size_t n = w->p->n_samples;
    struct timed *timed = cairn_alloc(n + 1, sizeof *timed);
    w->order = cairn_alloc(n + 1, sizeof *w->order);
    if (!timed || !w->order) {
        cairn_free(timed);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        timed[i] = (struct timed){cairn_profile_time_of(w->p, i), (uint32_t)i};
    if (n)
        qsort(timed, n, sizeof *timed, compare);
    for (size_t i = 0; i < n; i++) {
        w->order[i] = timed[i].sample;
        if (!w->first_ns && timed[i].time_ns)
            w->first_ns = (uint64_t)timed[i].time_ns - w->clock_shift;
    }
    cairn_free(timed);
    return true;
}

static uint64_t count_records(const struct cairn_perf_data_writing *w)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < w->p->n_samples; i++)
        for (size_t event = 0; event < w->n_events; event++)
            if (__builtin_add_overflow(sum, cairn_perf_data_write_count(w, i, event), &sum))
                return UINT64_MAX;
    return sum;
}

/* Where no sample has a time they stand at equal distances: readers want one of each. */
static void find_times(struct cairn_perf_data_writing *w)
{
    uint64_t n = count_records(w);
    const uint64_t duration_ns = (uint64_t)w->p->duration_ns;
    w->sums_rows = n > CAIRN_PERF_DATA_WRITE_RECORDS;
    if (w->first_ns && w->first_ns <= INT64_MAX)
        return;
    if (w->sums_rows) /* then there are fewer */
        n = count_records(w);
    w->first_ns = w->p->time_ns > 0 ? (uint64_t)w->p->time_ns - w->clock_shift : 0;
    w->first_ns = w->first_ns && w->first_ns <= INT64_MAX ? w->first_ns : 1;
    w->step_ns = usual_step_ns;
    if (w->p->duration_ns > 0 && n > 1)
        w->step_ns = duration_ns / (n - 1) ? duration_ns / (n - 1) : 1;
}

static bool has_addresses(const struct cairn_profile *p)
{
    for (size_t i = 1; i < p->n_frames; i++)
        if (p->frames[i].address && cairn_perf_data_write_holds(&p->frames[i]))
            return true;
    return false;
}

static int prepare(struct cairn_perf_data_writing *w, struct cairn_err *err)
{
    const char *shift = cairn_profile_note(w->p, CAIRN_NOTE_CLOCK, 0);
    if (w->p->n_samples && !has_addresses(w->p)) {
        cairn_fail(err, CAIRN_E_ARG,
                   "no frame has an address, and perf.data holds addresses alone");
        cairn_hint(err, "--to pprof and --to collapsed hold names");
        return CAIRN_E_ARG;
    }
    w->clock_shift = shift ? (uint64_t)strtoll(shift, NULL, 10) : 0;
    for (size_t i = 0; i < w->p->n_samples && !w->has_cpus; i++)
        w->has_cpus = cairn_profile_find_label(w->p, w->p->samples[i].labels, "cpu") != NULL;
    find_events(w);
    w->places = cairn_perf_data_places(w->p);
    if (!w->places || !find_order(w))
        return cairn_fail_memory(err);
    find_times(w);
    return CAIRN_OK;
}

static void put_header(struct cairn_perf_data_writing *w, uint64_t data_bytes,
                       const uint64_t features[4])
{
    struct cairn_buffer *to = &w->out.bytes;
    const uint64_t ids = PERF_DATA_HEADER_BYTES, attrs = ids + w->n_events * WORD,
                   data = attrs + w->n_events * ENTRY;
    const uint64_t words[] = {
        PERF_DATA_HEADER_BYTES, ENTRY, attrs, w->n_events * ENTRY, data, data_bytes, 0, 0};
    cairn_buffer_add(to, "PERFILE2", WORD);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        cairn_buffer_le(to, words[i], WORD);
    for (size_t i = 0; i < 4; i++)
        cairn_buffer_le(to, features[i], WORD);
    for (size_t i = 0; i < w->n_events; i++)
        cairn_buffer_le(to, CAIRN_PERF_DATA_WRITE_ID + i, WORD);
    for (size_t i = 0; i < w->n_events; i++) {
        cairn_perf_data_write_attr(w, i, to);
        cairn_buffer_le(to, ids + i * WORD, WORD);
        cairn_buffer_le(to, WORD, WORD);
    }
}

/* The first pass only counts. */
static int write_all(struct cairn_perf_data_writing *w, struct cairn_err *err)
{
    struct cairn_buffer features = {0};
    uint64_t bits[4];
    w->out.only_counts = true;
    int code = cairn_perf_data_write_records(w);
    cairn_perf_data_out_flush(&w->out);
    const uint64_t data_bytes = w->out.n_bytes;
    cairn_perf_data_write_features(
        w, PERF_DATA_HEADER_BYTES + w->n_events * (WORD + ENTRY) + data_bytes, bits, &features);
    w->out.only_counts = false;
    if (code == CAIRN_OK && !w->out.bytes.failed) {
        put_header(w, data_bytes, bits);
        code = cairn_perf_data_write_records(w);
        cairn_buffer_add(&w->out.bytes, features.data, features.size);
        cairn_perf_data_out_flush(&w->out);
    }
    bool failed = code < 0 || w->out.bytes.failed || features.failed;
    cairn_buffer_done(&features);
    if (failed)
        return cairn_fail_memory(err);
    return w->out.refused ? cairn_fail(err, CAIRN_E_IO, "the output could not be written")
                          : CAIRN_OK;
}

static void say_left(const struct cairn_perf_data_writing *w)
{
    const struct cairn_perf_data_left *left = &w->left;
    const struct {
        uint64_t n;
        const char *what;
    } rows[] = {
        {left->n_interpreted, "frames of interpreters"},
        {left->n_inlined, "inlined calls"},
        {left->n_no_address, "other frames without an address"},
        {left->n_deep, "samples' outermost frames"},
        {left->n_cut, "reasons why stacks end early"},
        {left->n_negative, "values below zero"},
        {left->n_types, "types of values"},
    };
    struct cairn_buffer text = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].n)
            cairn_buffer_printf(&text, "%s%" PRIu64 " %s", text.size ? ", " : "", rows[i].n,
                                rows[i].what);
    if (text.size)
        cairn_log(CAIRN_LOG_WARNING, "perf.data has no place for %s: left out",
                  cairn_buffer_text(&text));
    if (w->step_ns)
        cairn_log(CAIRN_LOG_WARNING,
                  "no sample says when it was: in perf.data they stand at equal distances");
    if (w->sums_rows)
        cairn_log(CAIRN_LOG_WARNING, "more than %d samples: equal ones are one of perf.data",
                  CAIRN_PERF_DATA_WRITE_RECORDS);
    cairn_buffer_done(&text);
}

int cairn_perf_data_write(const struct cairn_profile *profile, cairn_write_fn write, void *ctx,
                          struct cairn_err *err)
{
    struct cairn_perf_data_writing *w = cairn_alloc(1, sizeof *w); /* it is large */
    if (!w)
        return cairn_fail_memory(err);
    w->p = profile;
    w->out.write = write;
    w->out.ctx = ctx;
    int code = prepare(w, err);
    if (code == CAIRN_OK)
        code = write_all(w, err);
    if (code == CAIRN_OK)
        say_left(w);
    cairn_buffer_done(&w->out.bytes);
    cairn_table_done(&w->names);
    cairn_table_done(&w->mapped);
    cairn_free(w->places);
    cairn_free(w->order);
    cairn_free(w);
    return code;
}
