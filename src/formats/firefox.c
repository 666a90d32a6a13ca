/* SPDX-License-Identifier: MIT */
/* A profile for the Firefox Profiler: its threads, and the order of all parts. */
#include "formats/firefox.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "formats/format.h"

enum { NS_PER_US = 1000, US_PLACES = 3, MADE_UP_MS = 1, NAME_BYTES = 64 };

/* Units of time in which weights are milliseconds with so many decimals. */
static const struct {
    const char *unit;
    unsigned places;
} times[] = {{"nanoseconds", 6}, {"microseconds", 3}, {"milliseconds", 0}};

static const char *text_of(const struct cairn_firefox *f, uint32_t string)
{
    return cairn_strings_get(&f->p->strings, string);
}

static const char *unit_of(const struct cairn_firefox *f)
{
    return text_of(f, f->p->types[f->type].unit);
}

static int64_t value_of(const struct cairn_firefox *f, size_t sample, size_t type)
{
    return f->p->values[sample * f->p->n_types + type];
}

static int64_t sample_stack(const struct cairn_firefox *f, size_t row)
{
    return cairn_viewer_of_sample(&f->viewer, f->order[row]);
}

static int64_t sample_weight(const struct cairn_firefox *f, size_t row)
{
    return value_of(f, f->order[row], f->type);
}

static int64_t us_of(const struct cairn_firefox *f, size_t row)
{
    return (int64_t)(cairn_tracks_since_ns(&f->tracks, f->p, f->order[row]) / NS_PER_US);
}

static int64_t sample_delta(const struct cairn_firefox *f, size_t row)
{
    return us_of(f, row) - (row ? us_of(f, row - 1) : 0);
}

static int64_t sample_made_up_delta(const struct cairn_firefox *f, size_t row)
{
    (void)f;
    return row ? MADE_UP_MS : 0;
}

static int64_t sample_cpu(const struct cairn_firefox *f, size_t row)
{
    int64_t ns = value_of(f, f->order[row], f->cpu_type);
    return ns > 0 ? ns / NS_PER_US : 0;
}

static void put_weights(struct cairn_firefox *f)
{
    struct cairn_json *j = &f->stream.json;
    const char *unit = unit_of(f), *type = "samples";
    struct cairn_firefox_column weights = {.name = "weight", .cell = sample_weight};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (strcmp(unit, times[i].unit) == 0) {
            type = "tracing-ms";
            weights.places = times[i].places;
        }
    if (strcmp(unit, "bytes") == 0)
        type = "bytes";
    if (f->are_ones && strcmp(type, "samples") == 0)
        cairn_json_str(j, "weight", NULL);
    else
        cairn_firefox_column(f, &weights, f->n_order);
    cairn_json_str(j, "weightType", type);
}

static void put_samples(struct cairn_firefox *f)
{
    static const struct cairn_firefox_column stacks = {.name = "stack", .cell = sample_stack},
                                             deltas = {.name = "timeDeltas",
                                                       .cell = sample_delta,
                                                       .places = US_PLACES},
                                             made_up = {.name = "timeDeltas",
                                                        .cell = sample_made_up_delta},
                                             cpu = {.name = "threadCPUDelta", .cell = sample_cpu};
    struct cairn_json *j = &f->stream.json;
    cairn_json_open(j, "samples", '{');
    cairn_firefox_column(f, &stacks, f->n_order);
    cairn_firefox_column(f, f->tracks.has_times ? &deltas : &made_up, f->n_order);
    put_weights(f);
    if (f->tracks.has_times && f->cpu_type < f->p->n_types)
        cairn_firefox_column(f, &cpu, f->n_order);
    cairn_json_u64(j, "length", f->n_order);
    cairn_json_close(j, '}');
}

/* A pid is a text; that of a process without one is its name, so that it is a track of its own. */
static void put_process(struct cairn_json *j, const struct cairn_firefox *f,
                        const struct cairn_track *track)
{
    char digits[NAME_BYTES];
    const char *process = track->process ? text_of(f, track->process) : "";
    snprintf(digits, sizeof digits, "%" PRId64, track->has_pid ? track->pid : 0);
    cairn_json_str(j, "processType", "default");
    cairn_json_str(j, "processName", *process ? process : "process");
    cairn_json_str(j, "pid", track->has_pid || !*process ? digits : process);
}

/* Threads of other value types have the name of the type in theirs, and a tid of their own. */
static void put_names(struct cairn_firefox *f, const struct cairn_track *track, size_t number)
{
    struct cairn_json *j = &f->stream.json;
    struct cairn_buffer name = {0}, tid = {0};
    char buf[NAME_BYTES];
    cairn_buffer_str(&name, cairn_track_name(track, f->p, buf, sizeof buf));
    if (track->has_tid)
        cairn_buffer_printf(&tid, "%" PRId64, track->tid);
    else
        cairn_buffer_printf(&tid, "track %zu", number);
    if (f->type != f->shown) {
        cairn_buffer_printf(&name, " (%s)", text_of(f, f->p->types[f->type].type));
        cairn_buffer_printf(&tid, " %s", text_of(f, f->p->types[f->type].type));
    }
    cairn_json_str(j, "name", cairn_buffer_text(&name));
    if (track->has_tid && f->type == f->shown)
        cairn_json_i64(j, "tid", track->tid);
    else
        cairn_json_str(j, "tid", cairn_buffer_text(&tid));
    f->stream.out.failed |= name.failed || tid.failed;
    cairn_buffer_done(&name);
    cairn_buffer_done(&tid);
}

/* Its main thread, or the one that stands for it. */
static bool is_first_of_process(const struct cairn_firefox *f, size_t number)
{
    if (!number)
        return true;
    const struct cairn_track *track = &f->tracks.rows[number], *before = track - 1;
    if (track->has_pid != before->has_pid)
        return true;
    return track->has_pid ? track->pid != before->pid : track->process != before->process;
}

static void put_thread(struct cairn_firefox *f, const struct cairn_track *track, size_t number)
{
    struct cairn_json *j = &f->stream.json;
    bool is_main = f->type == f->shown && is_first_of_process(f, number);
    cairn_json_open(j, NULL, '{');
    put_names(f, track, number);
    put_process(j, f, track);
    cairn_json_bool(j, "isMainThread", is_main);
    cairn_json_u64(j, "registerTime", 0);
    cairn_json_str(j, "unregisterTime", NULL);
    cairn_json_u64(j, "processStartupTime", 0);
    cairn_json_str(j, "processShutdownTime", NULL);
    cairn_json_open(j, "pausedRanges", '[');
    cairn_json_close(j, ']');
    put_samples(f);
    cairn_firefox_put_markers(f, number);
    cairn_json_close(j, '}');
}

/* The samples of a track that have a value of the type. */
static void choose_samples(struct cairn_firefox *f, const struct cairn_track *track)
{
    f->n_order = 0;
    f->are_ones = true;
    for (size_t i = track->first; i < track->first + track->n; i++) {
        int64_t value = value_of(f, f->tracks.order[i], f->type);
        f->are_ones &= value == 0 || value == 1;
        if (value)
            f->order[f->n_order++] = f->tracks.order[i];
    }
}

/* The shown type has a thread for each track, others for those that have values of it. */
static void put_type(struct cairn_firefox *f, size_t type)
{
    f->type = type;
    for (size_t i = 0; i < f->tracks.n && !f->stream.refused; i++) {
        choose_samples(f, &f->tracks.rows[i]);
        if (f->n_order || type == f->shown)
            put_thread(f, &f->tracks.rows[i], i);
    }
}

/* The viewer refuses a profile without threads. */
void cairn_firefox_put_threads(struct cairn_firefox *f)
{
    static const struct cairn_track none = {0};
    cairn_json_open(&f->stream.json, "threads", '[');
    put_type(f, f->shown);
    if (!f->tracks.n) {
        choose_samples(f, &none);
        put_thread(f, &none, 0);
    }
    for (size_t type = 0; type < f->p->n_types; type++)
        if (cairn_tracks_says_more(f->p, type, f->shown))
            put_type(f, type);
    cairn_json_close(&f->stream.json, ']');
}

/* Values that are time on the CPU; n_types: there are none. */
static size_t find_cpu_type(const struct cairn_profile *p)
{
    size_t type = 0;
    while (type < p->n_types && (strcmp(p->public_types[type].type, "cpu") != 0 ||
                                 strcmp(p->public_types[type].unit, "nanoseconds") != 0))
        type++;
    return type;
}

static int prepare(struct cairn_firefox *f, struct cairn_err *err)
{
    f->shown = cairn_profile_default_value(f->p);
    f->cpu_type = find_cpu_type(f->p);
    int result = cairn_tracks_build(f->p, &f->tracks, err);
    if (result == CAIRN_OK)
        result = cairn_viewer_open(f->p, &f->viewer, err);
    if (result < 0)
        return result;
    f->order = cairn_alloc(f->p->n_samples + 1, sizeof *f->order);
    return f->order && cairn_viewer_take_samples(&f->viewer) && cairn_firefox_take_markers(f) &&
                   cairn_firefox_prepare(f)
               ? CAIRN_OK
               : cairn_fail_memory(err);
}

static void put_all(struct cairn_firefox *f)
{
    struct cairn_json *j = &f->stream.json;
    cairn_json_open(j, NULL, '{');
    cairn_firefox_put_meta(f);
    cairn_firefox_put_libs(f);
    cairn_firefox_put_shared(f);
    cairn_firefox_put_threads(f);
    cairn_json_close(j, '}');
}

static int write_firefox(const struct cairn_profile *profile, cairn_write_fn write, void *ctx,
                         struct cairn_err *err)
{
    struct cairn_firefox f = {.p = profile};
    cairn_json_stream_init(&f.stream, write, ctx);
    int result = prepare(&f, err);
    if (result == CAIRN_OK)
        put_all(&f);
    int written = cairn_json_stream_done(&f.stream, result < 0 ? NULL : err);
    cairn_tracks_done(&f.tracks);
    cairn_viewer_done(&f.viewer);
    cairn_free(f.order);
    cairn_free(f.source_of);
    cairn_free(f.sources);
    cairn_free(f.lib_names);
    cairn_free(f.moments);
    cairn_free(f.fields);
    return result < 0 ? result : written;
}

const struct cairn_format_row cairn_format_firefox = {
    .format = CAIRN_FORMAT_FIREFOX,
    .name = "firefox",
    .endings = (const char *const[]){".firefox.json.gz", ".firefox.json", NULL},
    .write = write_firefox,
};
