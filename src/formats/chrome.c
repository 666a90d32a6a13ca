/* SPDX-License-Identifier: MIT */
/*
 * A profile for Perfetto (ui.perfetto.dev) and chrome://tracing: the Trace Event Format, as JSON.
 *
 *     M  names of processes and threads
 *     B, E  a call begins and ends: frames that samples in a row share are one call, as a flame
 *           chart has them. In order of time, for readers differ in what else they take
 *     b, e, n  markers, on a track of their own
 *
 * Source: "Trace Event Format" (Chromium, catapult project), sections "Duration Events", "Async
 * Events", "Metadata Events".
 */
#include <stdio.h>

#include <cairn/version.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "formats/format.h"
#include "formats/json_stream.h"
#include "formats/tracks.h"
#include "formats/viewer.h"

enum { NAME_BYTES = 64, NS_PLACES = 3, GAP = 2 };
static const int64_t USUAL_NS = 10000000; /* between samples, where nobody says how far apart */

struct writing {
    const struct cairn_profile *p;
    struct cairn_json_stream stream;
    struct cairn_tracks tracks;
    struct cairn_viewer viewer;
    size_t length_type; /* values that say how long each sample stands for; n_types: none does */
    bool are_stretches; /* a sample is a stretch of time from its moment on: off the CPU */
    uint32_t *open;     /* functions of calls that samples still have, outermost first */
    size_t n_open, cap_open;
    uint32_t *path; /* functions of one stack, outermost first */
    size_t n_path, cap_path;
    size_t track; /* the one that is written */
};

static const char *text_of(const struct writing *w, uint32_t string)
{
    return cairn_strings_get(&w->p->strings, string);
}

static int64_t value_of(const struct writing *w, size_t sample, size_t type)
{
    return w->p->values[sample * w->p->n_types + type];
}

/* Threads without a number have that of their track: the viewer knows numbers alone. */
static int64_t pid_of(const struct writing *w, size_t track)
{
    return w->tracks.rows[track].has_pid ? w->tracks.rows[track].pid : 0;
}

static int64_t tid_of(const struct writing *w, size_t track)
{
    return w->tracks.rows[track].has_tid ? w->tracks.rows[track].tid : (int64_t)track + 1;
}

static void begin_event(struct writing *w, const char *phase, const char *name, size_t track)
{
    struct cairn_json *j = &w->stream.json;
    cairn_json_open(j, NULL, '{');
    cairn_json_str(j, "ph", phase);
    cairn_json_str(j, "name", name);
    cairn_json_i64(j, "pid", pid_of(w, track));
    cairn_json_i64(j, "tid", tid_of(w, track));
}

static void end_event(struct writing *w)
{
    cairn_json_close(&w->stream.json, '}');
    cairn_json_stream_pass(&w->stream);
}

/* Times are microseconds. */
static void put_time(struct writing *w, const char *key, int64_t ns)
{
    cairn_json_fixed(&w->stream.json, key, ns, NS_PLACES);
}

static void begin_call(struct writing *w, uint32_t number, int64_t ns)
{
    struct cairn_json *j = &w->stream.json;
    const struct cairn_viewer_function *function = &w->viewer.functions[number];
    const struct cairn_strings *texts = &w->viewer.texts;
    w->open[w->n_open++] = number;
    begin_event(w, "B", cairn_strings_get(texts, function->name), w->track);
    put_time(w, "ts", ns - w->tracks.first_ns);
    cairn_json_open(j, "args", '{');
    if (function->lib != CAIRN_VIEWER_NONE)
        cairn_json_str(j, "module", text_of(w, w->viewer.libs[function->lib].path));
    if (function->file)
        cairn_json_str(j, "file", cairn_strings_get(texts, function->file));
    cairn_json_close(j, '}');
    end_event(w);
}

static void end_calls(struct writing *w, size_t n_left, int64_t ns)
{
    while (w->n_open > n_left) {
        const struct cairn_viewer_function *function = &w->viewer.functions[w->open[--w->n_open]];
        begin_event(w, "E", cairn_strings_get(&w->viewer.texts, function->name), w->track);
        put_time(w, "ts", ns - w->tracks.first_ns);
        end_event(w);
    }
}

static bool find_path(struct writing *w, uint32_t row)
{
    const struct cairn_viewer *v = &w->viewer;
    size_t n = 0;
    for (uint32_t at = row; at != CAIRN_VIEWER_NONE; at = v->stacks[at].parent)
        n++;
    if (cairn_grow((void **)&w->path, &w->cap_path, n, sizeof *w->path) < 0 ||
        cairn_grow((void **)&w->open, &w->cap_open, n, sizeof *w->open) < 0)
        return false;
    w->n_path = n;
    for (uint32_t at = row; at != CAIRN_VIEWER_NONE; at = v->stacks[at].parent)
        w->path[--n] = v->frames[v->stacks[at].frame].function;
    return true;
}

/* Calls that the stack has not end, those that are new begin. */
static void turn_to(struct writing *w, int64_t ns)
{
    size_t same = 0;
    while (same < w->n_open && same < w->n_path && w->open[same] == w->path[same])
        same++;
    end_calls(w, same, ns);
    while (w->n_open < w->n_path)
        begin_call(w, w->path[w->n_open], ns);
}

/* For how long a sample stands. */
static int64_t length_of(const struct writing *w, size_t sample)
{
    int64_t ns = w->length_type < w->p->n_types ? value_of(w, sample, w->length_type) : 0;
    return ns > 0 ? ns : USUAL_NS;
}

static int64_t later(int64_t ns, int64_t by)
{
    return cairn_profile_add_clamped(ns, by);
}

static void put_samples(struct writing *w, const struct cairn_track *track)
{
    int64_t end_ns = 0,
            most_ns = 0; /* of the last sample: as it says, and for how long it may do */
    for (size_t i = track->first; i < track->first + track->n && !w->stream.refused; i++) {
        const size_t sample = w->tracks.order[i];
        const int64_t at_ns = cairn_profile_time_of(w->p, sample), ns = length_of(w, sample);
        const uint32_t row = cairn_viewer_of_sample(&w->viewer, sample);
        if (row == CAIRN_VIEWER_NONE || !at_ns)
            continue;
        if (!find_path(w, row)) {
            w->stream.out.failed = true;
            return;
        }
        if (w->are_stretches || at_ns > most_ns)
            end_calls(w, 0, end_ns < at_ns ? end_ns : at_ns);
        turn_to(w, at_ns);
        end_ns = later(at_ns, ns);
        most_ns = later(end_ns, w->are_stretches ? 0 : ns * (GAP - 1));
    }
    end_calls(w, 0, end_ns);
}

/* Details of a marker; who it is of is said by its track. */
static void put_details(struct writing *w, const struct cairn_profile_label_set *set)
{
    struct cairn_json *j = &w->stream.json;
    cairn_json_open(j, "args", '{');
    for (uint32_t i = 0; i < set->n; i++) {
        const struct cairn_profile_label *label = &w->p->labels[set->first + i];
        if (!cairn_tracks_is_detail(text_of(w, label->key)))
            continue;
        if (label->text)
            cairn_json_str(j, cairn_tracks_detail_name(text_of(w, label->key)),
                           text_of(w, label->text));
        else
            cairn_json_i64(j, cairn_tracks_detail_name(text_of(w, label->key)), label->number);
    }
    cairn_json_close(j, '}');
}

static void put_async(struct writing *w, const char *phase, size_t marker, int64_t ns)
{
    struct cairn_json *j = &w->stream.json;
    const struct cairn_profile_marker *of = &w->p->markers[marker];
    begin_event(w, phase, text_of(w, of->name), w->tracks.of_markers[marker]);
    cairn_json_str(j, "cat", "event");
    cairn_json_u64(j, "id", marker + 1);
    put_time(w, "ts", ns - w->tracks.first_ns);
    if (*phase != 'e')
        put_details(w, &w->p->label_sets[of->labels]);
    end_event(w);
}

static void put_markers(struct writing *w)
{
    for (size_t i = 0; i < w->p->n_markers && !w->stream.refused; i++) {
        const struct cairn_profile_marker *marker = &w->p->markers[i];
        const int64_t ns = w->p->label_sets[marker->labels].time_ns;
        if (!ns)
            continue;
        put_async(w, marker->duration_ns ? "b" : "n", i, ns);
        if (marker->duration_ns)
            put_async(w, "e", i, later(ns, marker->duration_ns));
    }
}

static void put_metadata(struct writing *w, const char *what, const char *name, size_t track)
{
    begin_event(w, "M", what, track);
    cairn_json_open(&w->stream.json, "args", '{');
    cairn_json_str(&w->stream.json, "name", name);
    cairn_json_close(&w->stream.json, '}');
    end_event(w);
}

static void put_names(struct writing *w, size_t track)
{
    const struct cairn_track *row = &w->tracks.rows[track];
    char buf[NAME_BYTES];
    if (row->process)
        put_metadata(w, "process_name", text_of(w, row->process), track);
    put_metadata(w, "thread_name", cairn_track_name(row, w->p, buf, sizeof buf), track);
}

static void put_all(struct writing *w)
{
    struct cairn_json *j = &w->stream.json;
    cairn_json_open(j, NULL, '{');
    cairn_json_str(j, "displayTimeUnit", "ns");
    cairn_json_open(j, "otherData", '{');
    cairn_json_str(j, "producer", "cairn");
    cairn_json_str(j, "version", cairn_version());
    for (size_t i = 0; i < w->p->n_notes; i++) {
        char key[NAME_BYTES];
        snprintf(key, sizeof key, "note %zu", i + 1);
        cairn_json_str(j, key, w->p->public_comments[i]);
    }
    cairn_json_close(j, '}');
    cairn_json_open(j, "traceEvents", '[');
    for (w->track = 0; w->track < w->tracks.n && !w->stream.refused; w->track++) {
        put_names(w, w->track);
        put_samples(w, &w->tracks.rows[w->track]);
    }
    put_markers(w);
    cairn_json_close(j, ']');
    cairn_json_close(j, '}');
}

/* Values in nanoseconds that say how long: time on the CPU, or off it. */
static void find_length(struct writing *w)
{
    const struct cairn_profile *p = w->p;
    w->length_type = p->n_types;
    for (size_t type = 0; type < p->n_types; type++) {
        bool is_off = strcmp(p->public_types[type].type, "off_cpu") == 0;
        bool is_cpu = strcmp(p->public_types[type].type, "cpu") == 0 ||
                      strcmp(p->public_types[type].type, "cpu-clock") == 0 ||
                      strcmp(p->public_types[type].type, "task-clock") == 0;
        if ((is_off || is_cpu) && strcmp(p->public_types[type].unit, "nanoseconds") == 0) {
            w->length_type = type;
            w->are_stretches = is_off;
        }
    }
}

static int prepare(struct writing *w, struct cairn_err *err)
{
    int code = cairn_tracks_build(w->p, &w->tracks, err);
    if (code < 0)
        return code;
    if (!w->tracks.first_ns && (w->p->n_samples || w->p->n_markers)) {
        cairn_fail(err, CAIRN_E_ARG,
                   "no sample says when it was, and a trace has calls in time alone");
        cairn_hint(err, "cairn record --timeline keeps times, and so does perf record");
        return CAIRN_E_ARG;
    }
    code = cairn_viewer_open(w->p, &w->viewer, err);
    if (code < 0)
        return code;
    find_length(w);
    return cairn_viewer_take_samples(&w->viewer) ? CAIRN_OK : cairn_fail_memory(err);
}

static int write_chrome(const struct cairn_profile *profile, cairn_write_fn write, void *ctx,
                        struct cairn_err *err)
{
    struct writing w = {.p = profile};
    cairn_json_stream_init(&w.stream, write, ctx);
    int result = prepare(&w, err);
    if (result == CAIRN_OK)
        put_all(&w);
    if (result == CAIRN_OK && w.tracks.n_timed < profile->n_samples)
        cairn_log(CAIRN_LOG_WARNING, "%zu samples without a time are left out of the trace",
                  profile->n_samples - w.tracks.n_timed);
    int written = cairn_json_stream_done(&w.stream, result < 0 ? NULL : err);
    cairn_tracks_done(&w.tracks);
    cairn_viewer_done(&w.viewer);
    cairn_free(w.open);
    cairn_free(w.path);
    return result < 0 ? result : written;
}

const struct cairn_format_row cairn_format_chrome = {
    .format = CAIRN_FORMAT_CHROME,
    .name = "chrome",
    .endings = (const char *const[]){".trace.json.gz", ".trace.json", NULL},
    .write = write_chrome,
};
