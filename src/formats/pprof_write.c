/* SPDX-License-Identifier: MIT */
/*
 * A profile as pprof. Only what the samples reach is written, so that a filtered profile tells
 * nothing of what was left out; numbers of frames, functions and modules are the ids.
 */
#include "formats/pprof_write.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/zip.h"
#include "formats/pprof.h"
#include "formats/protobuf.h"
#include "profile/frame_kind.h"

enum { GZIP_LEVEL = 6 };

struct writing {
    const struct cairn_profile *p;
    struct cairn_buffer out;
    struct cairn_buffer message, inner; /* of the message being made */
    struct cairn_strings texts;         /* the string table */
    struct cairn_profile_reach reach;   /* what the samples need */
};

static void done(struct writing *w)
{
    cairn_buffer_done(&w->out);
    cairn_buffer_done(&w->message);
    cairn_buffer_done(&w->inner);
    cairn_strings_done(&w->texts);
    cairn_profile_reach_done(&w->reach);
}

/* The index of a text in the string table. */
static uint64_t text(struct writing *w, const char *bytes, size_t size)
{
    uint32_t number = cairn_strings_add(&w->texts, bytes, size);
    w->out.failed |= number == UINT32_MAX;
    return number;
}

static uint64_t own_text(struct writing *w, uint32_t number)
{
    return number ? text(w, cairn_strings_get(&w->p->strings, number),
                         cairn_strings_size(&w->p->strings, number))
                  : 0;
}

/* The message that was made becomes a field of the profile. */
static void put_message(struct writing *w, uint32_t field)
{
    w->out.failed |= w->message.failed || w->inner.failed;
    cairn_pb_bytes(&w->out, field, cairn_buffer_span(&w->message));
    cairn_buffer_clear(&w->message);
}

static void put_inner(struct writing *w, uint32_t field)
{
    cairn_pb_bytes(&w->message, field, cairn_buffer_span(&w->inner));
    w->message.failed |= w->inner.failed;
    cairn_buffer_clear(&w->inner);
}

static void put_value_type(struct writing *w, uint32_t field, struct cairn_profile_type type)
{
    cairn_pb_uint(&w->message, PPROF_TYPE_TYPE, own_text(w, type.type));
    cairn_pb_uint(&w->message, PPROF_TYPE_UNIT, own_text(w, type.unit));
    put_message(w, field);
}

static void put_label(struct writing *w, uint64_t key, uint64_t str, int64_t number, uint64_t unit)
{
    cairn_pb_uint(&w->inner, PPROF_LABEL_KEY, key);
    cairn_pb_uint(&w->inner, PPROF_LABEL_STR, str);
    cairn_pb_uint(&w->inner, PPROF_LABEL_NUM, (uint64_t)number);
    cairn_pb_uint(&w->inner, PPROF_LABEL_UNIT, unit);
    put_inner(w, PPROF_SAMPLE_LABEL);
}

static uint64_t key(struct writing *w, const char *name)
{
    return text(w, name, strlen(name));
}

static void put_labels(struct writing *w, const struct cairn_profile_label_set *set)
{
    static const char unit[] = "nanoseconds";
    for (uint32_t i = 0; i < set->n; i++) {
        const struct cairn_profile_label *label = &w->p->labels[set->first + i];
        put_label(w, own_text(w, label->key), own_text(w, label->text), label->number,
                  own_text(w, label->unit));
    }
    if (set->cut)
        put_label(w, key(w, CAIRN_PROFILE_CUT_LABEL), own_text(w, set->cut), 0, 0);
    if (set->time_ns)
        put_label(w, key(w, CAIRN_PROFILE_TIME_LABEL), 0, set->time_ns, key(w, unit));
}

/* A letter per frame, leaf first, where at least one is known. */
static void put_frame_letters(struct writing *w, uint32_t stack)
{
    const struct cairn_profile *p = w->p;
    bool known = false;
    for (uint32_t at = stack; at; at = p->stacks[at].parent) {
        enum cairn_frame_kind kind = cairn_frame_kind_of(&p->frames[p->stacks[at].frame]);
        known |= kind != CAIRN_FRAME_UNKNOWN;
        cairn_buffer_char(&w->inner, (char)kind);
    }
    uint64_t letters = known ? text(w, cairn_buffer_text(&w->inner), w->inner.size) : 0;
    w->message.failed |= w->inner.failed;
    cairn_buffer_clear(&w->inner);
    if (known)
        put_label(w, key(w, CAIRN_PPROF_FRAMES_LABEL), letters, 0, 0);
}

static void put_stack(struct writing *w, uint32_t stack)
{
    const struct cairn_profile *p = w->p;
    for (uint32_t at = stack; at; at = p->stacks[at].parent)
        cairn_buffer_uleb(&w->inner, p->stacks[at].frame);
    put_inner(w, PPROF_SAMPLE_LOCATION);
}

static void put_sample(struct writing *w, size_t index)
{
    const struct cairn_profile *p = w->p;
    const struct cairn_profile_sample *sample = &p->samples[index];
    put_stack(w, sample->stack);
    for (size_t k = 0; k < p->n_types; k++)
        cairn_buffer_uleb(&w->inner, (uint64_t)p->values[index * p->n_types + k]);
    put_inner(w, PPROF_SAMPLE_VALUE);
    put_labels(w, &p->label_sets[sample->labels]);
    put_frame_letters(w, sample->stack);
    put_message(w, PPROF_SAMPLE);
}

static void put_marker(struct writing *w, const struct cairn_profile_marker *marker)
{
    static const char unit[] = "nanoseconds";
    put_stack(w, marker->stack);
    for (size_t k = 0; k < w->p->n_types; k++)
        cairn_buffer_uleb(&w->inner, 0);
    put_inner(w, PPROF_SAMPLE_VALUE);
    put_labels(w, &w->p->label_sets[marker->labels]);
    put_label(w, key(w, CAIRN_PPROF_MARKER_LABEL), own_text(w, marker->name), 0, 0);
    if (marker->duration_ns)
        put_label(w, key(w, CAIRN_PPROF_DURATION_LABEL), 0, marker->duration_ns, key(w, unit));
    put_frame_letters(w, marker->stack);
    put_message(w, PPROF_SAMPLE);
}

static void put_mapping(struct writing *w, uint32_t number)
{
    const struct cairn_profile_module *m = &w->p->modules[number];
    cairn_pb_uint(&w->message, PPROF_MAPPING_ID, number);
    cairn_pb_uint(&w->message, PPROF_MAPPING_START, m->start);
    cairn_pb_uint(&w->message, PPROF_MAPPING_LIMIT, m->end);
    cairn_pb_uint(&w->message, PPROF_MAPPING_OFFSET, m->off);
    cairn_pb_uint(&w->message, PPROF_MAPPING_FILE, own_text(w, m->path));
    cairn_pb_uint(&w->message, PPROF_MAPPING_BUILD_ID, own_text(w, m->build_id));
    cairn_pb_uint(&w->message, PPROF_MAPPING_HAS_FUNCTIONS, m->has_functions);
    cairn_pb_uint(&w->message, PPROF_MAPPING_HAS_FILES, m->has_files);
    cairn_pb_uint(&w->message, PPROF_MAPPING_HAS_LINES, m->has_lines);
    cairn_pb_uint(&w->message, PPROF_MAPPING_HAS_INLINES, m->has_inlines);
    put_message(w, PPROF_MAPPING);
}

static void put_location(struct writing *w, uint32_t number)
{
    const struct cairn_profile_frame *frame = &w->p->frames[number];
    cairn_pb_uint(&w->message, PPROF_LOCATION_ID, number);
    cairn_pb_uint(&w->message, PPROF_LOCATION_MAPPING, frame->module);
    cairn_pb_uint(&w->message, PPROF_LOCATION_ADDRESS, frame->address);
    for (uint32_t k = 0; k < frame->n_lines; k++) {
        const struct cairn_profile_line *line = &w->p->lines[frame->lines + k];
        cairn_pb_uint(&w->inner, PPROF_LINE_FUNCTION, line->function);
        cairn_pb_uint(&w->inner, PPROF_LINE_LINE, line->line);
        put_inner(w, PPROF_LOCATION_LINE);
    }
    cairn_pb_uint(&w->message, PPROF_LOCATION_FOLDED, frame->folded);
    put_message(w, PPROF_LOCATION);
}

static bool looks_demangled(const char *name)
{
    return strpbrk(name, "<( :") != NULL;
}

/* A system name equal to a demangled name would make pprof strip templates and parameters off it;
 * such a one stays away, which pprof takes for "demangled already". */
static void put_function(struct writing *w, uint32_t number)
{
    const struct cairn_profile_function *f = &w->p->functions[number];
    cairn_pb_uint(&w->message, PPROF_FUNCTION_ID, number);
    cairn_pb_uint(&w->message, PPROF_FUNCTION_NAME, own_text(w, f->name));
    if (f->system_name != f->name || !looks_demangled(cairn_strings_get(&w->p->strings, f->name)))
        cairn_pb_uint(&w->message, PPROF_FUNCTION_SYSTEM_NAME, own_text(w, f->system_name));
    cairn_pb_uint(&w->message, PPROF_FUNCTION_FILE, own_text(w, f->file));
    cairn_pb_uint(&w->message, PPROF_FUNCTION_START_LINE, f->start_line);
    put_message(w, PPROF_FUNCTION);
}

static void put_rest(struct writing *w)
{
    const struct cairn_profile *p = w->p;
    cairn_pb_uint(&w->out, PPROF_TIME_NS, (uint64_t)p->time_ns);
    cairn_pb_uint(&w->out, PPROF_DURATION_NS, (uint64_t)p->duration_ns);
    if (p->period_type.type || p->period)
        put_value_type(w, PPROF_PERIOD_TYPE, p->period_type);
    cairn_pb_uint(&w->out, PPROF_PERIOD, (uint64_t)p->period);
    for (size_t i = 0; i < p->n_notes; i++)
        cairn_buffer_uleb(&w->inner, key(w, p->public_comments[i]));
    if (p->n_notes)
        cairn_pb_bytes(&w->out, PPROF_COMMENT, cairn_buffer_span(&w->inner));
    /* Said even where the profile does not: readers differ in what they take without it. */
    cairn_pb_uint(&w->out, PPROF_DEFAULT_TYPE,
                  own_text(w, p->types[cairn_profile_default_value(p)].type));
    /* The table comes last: by then it holds all that was asked for. */
    for (uint32_t i = 0; i < (w->texts.n ? w->texts.n : 1); i++)
        cairn_pb_bytes(&w->out, PPROF_STRING,
                       (struct cairn_span){(const uint8_t *)cairn_strings_get(&w->texts, i),
                                           cairn_strings_size(&w->texts, i)});
}

static void put_all(struct writing *w)
{
    const struct cairn_profile *p = w->p;
    for (size_t i = 0; i < p->n_types; i++)
        put_value_type(w, PPROF_SAMPLE_TYPE, p->types[i]);
    for (size_t i = 0; i < p->n_samples; i++)
        put_sample(w, i);
    for (size_t i = 0; i < p->n_markers; i++)
        put_marker(w, &p->markers[i]);
    /* pprof takes the first mapping for the main program: modules stand in their own order. */
    for (uint32_t i = 1; i < p->n_modules; i++)
        if (w->reach.modules[i] || i == 1)
            put_mapping(w, i);
    for (uint32_t i = 1; i < p->n_frames; i++)
        if (w->reach.frames[i])
            put_location(w, i);
    for (uint32_t i = 1; i < p->n_functions; i++)
        if (w->reach.functions[i])
            put_function(w, i);
    put_rest(w);
}

int cairn_pprof_write(const struct cairn_profile *p, cairn_write_fn write, void *ctx,
                      struct cairn_err *err)
{
    struct writing w = {.p = p};
    struct cairn_buffer zipped = {0};
    int result = CAIRN_OK;
    bool marked = cairn_profile_reach(p, &w.reach);
    if (marked)
        put_all(&w);
    if (!marked || w.out.failed || w.inner.failed)
        result = cairn_fail_memory(err);
    if (result == CAIRN_OK)
        result = cairn_zip_gzip(cairn_buffer_span(&w.out), GZIP_LEVEL, &zipped, err);
    if (result == CAIRN_OK && write(ctx, zipped.data, zipped.size))
        result = cairn_fail(err, CAIRN_E_IO, "the output could not be written");
    cairn_buffer_done(&zipped);
    done(&w);
    return result;
}
