/* SPDX-License-Identifier: MIT */
/*
 * A profile for speedscope (github.com/jlfwong/speedscope, src/lib/file-format-spec.ts), as JSON:
 *
 *     shared.frames   functions, each once
 *     profiles        one of type "sampled" for each thread and value type: its samples are stacks
 *                     of numbers of frames, root first; weights are in `unit`
 */
#include <inttypes.h>
#include <stdlib.h>

#include <cairn/version.h>

#include "base/alloc.h"
#include "base/error.h"
#include "formats/format.h"
#include "formats/json_stream.h"
#include "formats/tracks.h"
#include "formats/viewer.h"

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

enum { NAME_BYTES = 64 };

/* A stack as speedscope has them, without lines and addresses: several of the viewer's are one. */
struct call {
    uint32_t parent, function; /* CAIRN_VIEWER_NONE: it is a root */
};

/* Samples of one stack that follow each other. */
struct run {
    uint32_t call;
    int64_t weight;
};

struct writing {
    const struct cairn_profile *p;
    struct cairn_json_stream stream;
    struct cairn_tracks tracks;
    struct cairn_viewer viewer;
    struct call *calls;
    size_t n_calls, cap_calls;
    uint32_t *call_of;  /* by row of the viewer's stacks */
    size_t shown, type; /* the value type shown first, the one that is written */
    struct run *runs;   /* of the profile that is written */
    size_t n_runs;
    uint32_t *functions; /* of one stack, leaf first */
    size_t cap_functions;
    size_t n_written;     /* profiles */
    size_t heaviest;      /* of those of the shown type */
    int64_t heaviest_sum; /* -1: there are none */
};

static const char *text_of(const struct writing *w, uint32_t string)
{
    return cairn_strings_get(&w->p->strings, string);
}

static int64_t value_of(const struct writing *w, size_t sample, size_t type)
{
    return w->p->values[sample * w->p->n_types + type];
}

static const char *unit_of(const struct writing *w)
{
    static const char *const known[] = {"nanoseconds", "microseconds", "milliseconds", "seconds",
                                        "bytes"};
    const char *unit = text_of(w, w->p->types[w->type].unit);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(unit, known[i]) == 0)
            return unit;
    return "none";
}

static void put_frame(struct writing *w, const struct cairn_viewer_function *function)
{
    struct cairn_json *j = &w->stream.json;
    const struct cairn_strings *texts = &w->viewer.texts;
    cairn_json_open(j, NULL, '{');
    cairn_json_str(j, "name", cairn_strings_get(texts, function->name));
    if (function->file)
        cairn_json_str(j, "file", cairn_strings_get(texts, function->file));
    else if (function->lib != CAIRN_VIEWER_NONE)
        cairn_json_str(j, "file", text_of(w, w->viewer.libs[function->lib].path));
    if (function->line)
        cairn_json_u64(j, "line", function->line);
    cairn_json_close(j, '}');
    cairn_json_stream_pass(&w->stream);
}

static void put_frames(struct writing *w)
{
    struct cairn_json *j = &w->stream.json;
    cairn_json_open(j, "shared", '{');
    cairn_json_open(j, "frames", '[');
    for (size_t i = 0; i < w->viewer.n_functions; i++)
        put_frame(w, &w->viewer.functions[i]);
    cairn_json_close(j, ']');
    cairn_json_close(j, '}');
}

static uint32_t call_of(const struct writing *w, size_t sample)
{
    return w->call_of[cairn_viewer_of_sample(&w->viewer, sample)];
}

static int compare_runs(const void *a, const void *b)
{
    const struct run *x = a, *y = b;
    return x->call < y->call ? -1 : x->call > y->call;
}

/* Without times the order of samples means nothing: equal stacks become one. */
static void make_runs(struct writing *w, const struct cairn_track *track)
{
    size_t n = 0, n_joined = 0;
    for (size_t i = track->first; i < track->first + track->n; i++) {
        size_t sample = w->tracks.order[i];
        int64_t weight = value_of(w, sample, w->type);
        if (weight)
            w->runs[n++] = (struct run){call_of(w, sample), weight};
    }
    if (!w->tracks.has_times && n)
        qsort(w->runs, n, sizeof *w->runs, compare_runs);
    for (size_t i = 0; i < n; i++) {
        struct run *last = &w->runs[n_joined ? n_joined - 1 : 0];
        if (n_joined && last->call == w->runs[i].call)
            last->weight = cairn_profile_add_clamped(last->weight, w->runs[i].weight);
        else
            w->runs[n_joined++] = w->runs[i];
    }
    w->n_runs = n_joined;
}

static void put_stack(struct writing *w, uint32_t call)
{
    struct cairn_json *j = &w->stream.json;
    size_t n = 0;
    for (uint32_t at = call; at != CAIRN_VIEWER_NONE; at = w->calls[at].parent) {
        if (cairn_grow((void **)&w->functions, &w->cap_functions, n + 1, sizeof *w->functions) <
            0) {
            w->stream.out.failed = true;
            return;
        }
        w->functions[n++] = w->calls[at].function;
    }
    cairn_json_open(j, NULL, '[');
    while (n-- > 0)
        cairn_json_u64(j, NULL, w->functions[n]);
    cairn_json_close(j, ']');
    cairn_json_stream_pass(&w->stream);
}

static void put_name(struct writing *w, const struct cairn_track *track)
{
    struct cairn_buffer name = {0};
    char buf[NAME_BYTES];
    cairn_buffer_str(&name, cairn_track_name(track, w->p, buf, sizeof buf));
    if (track->has_pid)
        cairn_buffer_printf(&name, " %" PRId64, track->pid);
    if (track->has_tid)
        cairn_buffer_printf(&name, "/%" PRId64, track->tid);
    cairn_buffer_printf(&name, " (%s)", text_of(w, w->p->types[w->type].type));
    cairn_json_str(&w->stream.json, "name", cairn_buffer_text(&name));
    w->stream.out.failed |= name.failed;
    cairn_buffer_done(&name);
}

static void put_profile(struct writing *w, const struct cairn_track *track)
{
    struct cairn_json *j = &w->stream.json;
    int64_t sum = 0;
    for (size_t i = 0; i < w->n_runs; i++)
        sum = cairn_profile_add_clamped(sum, w->runs[i].weight);
    if (w->type == w->shown && sum > w->heaviest_sum) {
        w->heaviest_sum = sum;
        w->heaviest = w->n_written;
    }
    w->n_written++;
    cairn_json_open(j, NULL, '{');
    cairn_json_str(j, "type", "sampled");
    put_name(w, track);
    cairn_json_str(j, "unit", unit_of(w));
    cairn_json_u64(j, "startValue", 0);
    cairn_json_i64(j, "endValue", sum);
    cairn_json_open(j, "samples", '[');
    for (size_t i = 0; i < w->n_runs && !w->stream.refused; i++)
        put_stack(w, w->runs[i].call);
    cairn_json_close(j, ']');
    cairn_json_open(j, "weights", '[');
    for (size_t i = 0; i < w->n_runs; i++) {
        cairn_json_i64(j, NULL, w->runs[i].weight);
        cairn_json_stream_pass(&w->stream);
    }
    cairn_json_close(j, ']');
    cairn_json_close(j, '}');
}

static void put_type(struct writing *w, size_t type)
{
    w->type = type;
    for (size_t i = 0; i < w->tracks.n && !w->stream.refused; i++) {
        make_runs(w, &w->tracks.rows[i]);
        if (w->n_runs)
            put_profile(w, &w->tracks.rows[i]);
    }
}

/* The viewer refuses a file without profiles. */
static void put_profiles(struct writing *w)
{
    static const struct cairn_track none = {0};
    cairn_json_open(&w->stream.json, "profiles", '[');
    put_type(w, w->shown);
    for (size_t type = 0; type < w->p->n_types; type++)
        if (cairn_tracks_says_more(w->p, type, w->shown))
            put_type(w, type);
    w->type = w->shown;
    w->n_runs = 0;
    if (!w->n_written)
        put_profile(w, &none);
    cairn_json_close(&w->stream.json, ']');
}

static void put_all(struct writing *w)
{
    struct cairn_json *j = &w->stream.json;
    struct cairn_buffer exporter = {0};
    const char *command = cairn_profile_note(w->p, CAIRN_NOTE_COMMAND, 0);
    cairn_buffer_printf(&exporter, "cairn@%s", cairn_version());
    cairn_json_open(j, NULL, '{');
    cairn_json_str(j, "$schema", SCHEMA);
    cairn_json_str(j, "exporter", cairn_buffer_text(&exporter));
    cairn_json_str(j, "name", command ? command : "cairn");
    put_frames(w);
    put_profiles(w);
    cairn_json_u64(j, "activeProfileIndex", w->heaviest);
    cairn_json_close(j, '}');
    w->stream.out.failed |= exporter.failed;
    cairn_buffer_done(&exporter);
}

/* The viewer refuses weights below zero. */
static int check_signs(const struct writing *w, struct cairn_err *err)
{
    for (size_t type = 0; type < w->p->n_types; type++) {
        if ((type != w->shown && !cairn_tracks_says_more(w->p, type, w->shown)) ||
            !cairn_tracks_goes_below_zero(w->p, type))
            continue;
        cairn_fail(err, CAIRN_E_ARG,
                   "the values \"%s\" go below zero, and speedscope shows none that do",
                   text_of(w, w->p->types[type].type));
        cairn_hint(err, "the Firefox Profiler does: --to firefox");
        return CAIRN_E_ARG;
    }
    return CAIRN_OK;
}

/* The number of the call, new or old; NONE where memory is gone. */
static uint32_t add_call(struct writing *w, struct cairn_table *known, struct call call)
{
    uint64_t key = (uint64_t)call.parent << 32 | call.function;
    uint32_t number;
    if (cairn_table_find(known, key, &number))
        return number;
    if (cairn_grow((void **)&w->calls, &w->cap_calls, w->n_calls + 1, sizeof *w->calls) < 0 ||
        cairn_table_set(known, key, (uint32_t)w->n_calls) < 0)
        return CAIRN_VIEWER_NONE;
    w->calls[w->n_calls] = call;
    return (uint32_t)w->n_calls++;
}

/* Parents have smaller numbers than their children. */
static bool make_calls(struct writing *w)
{
    const struct cairn_viewer *v = &w->viewer;
    struct cairn_table known = {0};
    w->call_of = cairn_alloc(v->n_stacks + 1, sizeof *w->call_of);
    bool ok = w->call_of != NULL;
    for (size_t row = 0; ok && row < v->n_stacks; row++) {
        const struct cairn_viewer_stack *stack = &v->stacks[row];
        struct call call = {CAIRN_VIEWER_NONE, v->frames[stack->frame].function};
        if (stack->parent != CAIRN_VIEWER_NONE)
            call.parent = w->call_of[stack->parent];
        w->call_of[row] = add_call(w, &known, call);
        ok = w->call_of[row] != CAIRN_VIEWER_NONE;
    }
    cairn_table_done(&known);
    return ok;
}

static int prepare(struct writing *w, struct cairn_err *err)
{
    w->shown = cairn_profile_default_value(w->p);
    int result = check_signs(w, err);
    if (result == CAIRN_OK)
        result = cairn_tracks_build(w->p, &w->tracks, err);
    if (result == CAIRN_OK)
        result = cairn_viewer_open(w->p, &w->viewer, err);
    if (result < 0)
        return result;
    w->runs = cairn_alloc(w->p->n_samples + 1, sizeof *w->runs);
    bool ok = w->runs && cairn_viewer_take_samples(&w->viewer) && make_calls(w);
    return ok ? CAIRN_OK : cairn_fail_memory(err);
}

static int write_speedscope(const struct cairn_profile *profile, cairn_write_fn write, void *ctx,
                            struct cairn_err *err)
{
    struct writing w = {.p = profile, .heaviest_sum = -1};
    cairn_json_stream_init(&w.stream, write, ctx);
    int result = prepare(&w, err);
    if (result == CAIRN_OK)
        put_all(&w);
    int written = cairn_json_stream_done(&w.stream, result < 0 ? NULL : err);
    cairn_tracks_done(&w.tracks);
    cairn_viewer_done(&w.viewer);
    cairn_free(w.calls);
    cairn_free(w.call_of);
    cairn_free(w.runs);
    cairn_free(w.functions);
    return result < 0 ? result : written;
}

const struct cairn_format_row cairn_format_speedscope = {
    .format = CAIRN_FORMAT_SPEEDSCOPE,
    .name = "speedscope",
    .endings = (const char *const[]){".speedscope.json.gz", ".speedscope.json", NULL},
    .write = write_speedscope,
};
