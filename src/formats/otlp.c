/* SPDX-License-Identifier: MIT */
/*
 * A profile for stores that speak OpenTelemetry: one request as a collector takes it. It has a
 * profile for each type of values, and one dictionary for all of them.
 */
#include "formats/otlp.h"

#include <cairn/version.h>

#include "base/alloc.h"
#include "base/error.h"
#include "formats/format.h"
#include "formats/otlp_write.h"
#include "profile/only.h"

static const char *text_of(const struct cairn_otlp_writing *w, uint32_t number)
{
    return cairn_strings_get(&w->p->strings, number);
}

/* What OpenTelemetry calls the labels that it has a name for. */
static const char *key_of(const char *key)
{
    static const char *const names[][2] = {{"pid", "process.pid"},
                                           {"process", "process.executable.name"},
                                           {"tid", "thread.id"},
                                           {"thread", "thread.name"},
                                           {"cpu", "cpu.logical_number"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(key, names[i][0]) == 0)
            return names[i][1];
    return key;
}

static void put_labels(struct cairn_otlp_writing *w, uint32_t number, struct cairn_buffer *to)
{
    const struct cairn_profile_label_set *set = &w->p->label_sets[number];
    struct cairn_buffer packed = {0};
    for (uint32_t i = 0; i < set->n; i++) {
        const struct cairn_profile_label *label = &w->p->labels[set->first + i];
        cairn_buffer_uleb(&packed,
                          cairn_otlp_attribute(w, key_of(text_of(w, label->key)),
                                               label->text ? text_of(w, label->text) : NULL,
                                               label->number, text_of(w, label->unit)));
    }
    if (set->cut)
        cairn_buffer_uleb(
            &packed, cairn_otlp_attribute(w, CAIRN_PROFILE_CUT_LABEL, text_of(w, set->cut), 0, ""));
    if (packed.size)
        cairn_otlp_put_message(w, to, OTLP_SAMPLE_ATTRIBUTES, &packed);
    cairn_buffer_done(&packed);
}

/* One value for each time; without times the sum. Rows that count for nothing are left out. */
static void put_sample(struct cairn_otlp_writing *w, uint32_t first, size_t type,
                       struct cairn_buffer *to)
{
    const struct cairn_profile *p = w->p;
    struct cairn_buffer message = {0}, values = {0}, times = {0};
    int64_t sum = 0;
    for (uint32_t at = first + 1; at; at = w->next[at - 1]) {
        const int64_t value = p->values[(size_t)(at - 1) * p->n_types + type];
        sum = cairn_profile_add_clamped(sum, value);
        if (!w->has_times || !value)
            continue;
        cairn_buffer_uleb(&values, (uint64_t)value);
        cairn_buffer_le(&times, (uint64_t)cairn_profile_time_of(p, at - 1), sizeof(uint64_t));
    }
    if (!w->has_times && sum)
        cairn_buffer_uleb(&values, (uint64_t)sum);
    if (values.size) {
        cairn_pb_uint(&message, OTLP_SAMPLE_STACK, cairn_otlp_stack(w, p->samples[first].stack));
        put_labels(w, p->samples[first].labels, &message);
        cairn_otlp_put_message(w, &message, OTLP_SAMPLE_VALUES, &values);
        if (w->has_times)
            cairn_otlp_put_message(w, &message, OTLP_SAMPLE_TIMES, &times);
        cairn_otlp_put_message(w, to, OTLP_PROFILE_SAMPLE, &message);
    }
    w->failed |= values.failed || times.failed;
    cairn_buffer_done(&values);
    cairn_buffer_done(&times);
}

static void put_type(struct cairn_otlp_writing *w, uint32_t field, struct cairn_profile_type type,
                     struct cairn_buffer *to)
{
    struct cairn_buffer message = {0};
    cairn_pb_uint(&message, OTLP_TYPE_TYPE, cairn_otlp_own_text(w, type.type));
    cairn_pb_uint(&message, OTLP_TYPE_UNIT, cairn_otlp_own_text(w, type.unit));
    cairn_otlp_put_message(w, to, field, &message);
}

/* The names are those of OpenTelemetry's conventions for pprof. */
static void put_notes(struct cairn_otlp_writing *w, struct cairn_buffer *to)
{
    struct cairn_buffer value = {0}, array = {0}, packed = {0};
    if (!w->p->n_notes)
        return;
    for (size_t i = 0; i < w->p->n_notes; i++) {
        struct cairn_buffer item = {0};
        cairn_otlp_put_text(&item, OTLP_ANY_STRING, w->p->public_comments[i]);
        cairn_otlp_put_message(w, &array, OTLP_ARRAY_VALUE, &item);
    }
    cairn_otlp_put_message(w, &value, OTLP_ANY_ARRAY, &array);
    cairn_buffer_uleb(&packed, cairn_otlp_attribute_of(w, "pprof.profile.comment", &value, ""));
    cairn_otlp_put_message(w, to, OTLP_PROFILE_ATTRIBUTES, &packed);
}

static void put_profile(struct cairn_otlp_writing *w, size_t type, struct cairn_buffer *to)
{
    const struct cairn_profile *p = w->p;
    struct cairn_buffer message = {0};
    put_type(w, OTLP_PROFILE_TYPE, p->types[type], &message);
    for (size_t i = 0; i < w->n_groups; i++)
        put_sample(w, w->groups[i], type, &message);
    if (p->time_ns > 0) {
        cairn_buffer_uleb(&message, OTLP_PROFILE_TIME_NS << 3 | CAIRN_PB_FIXED64);
        cairn_buffer_le(&message, (uint64_t)p->time_ns, sizeof(uint64_t));
    }
    if (p->duration_ns > 0)
        cairn_pb_uint(&message, OTLP_PROFILE_DURATION_NS, (uint64_t)p->duration_ns);
    if (p->period_type.type || p->period)
        put_type(w, OTLP_PROFILE_PERIOD_TYPE, p->period_type, &message);
    cairn_pb_uint(&message, OTLP_PROFILE_PERIOD, (uint64_t)p->period);
    put_notes(w, &message);
    cairn_otlp_put_message(w, to, OTLP_PROFILE, &message);
}

static void put_key_value(struct cairn_otlp_writing *w, const char *key, const char *text,
                          struct cairn_buffer *to)
{
    struct cairn_buffer message = {0}, value = {0};
    if (!text || !*text)
        return;
    cairn_otlp_put_text(&message, OTLP_KEY_VALUE_KEY, key);
    cairn_otlp_put_text(&value, OTLP_ANY_STRING, text);
    cairn_otlp_put_message(w, &message, OTLP_KEY_VALUE_VALUE, &value);
    cairn_otlp_put_message(w, to, OTLP_RESOURCE_ATTRIBUTE, &message);
}

/* What the caller says of the resource stands before what the profile says. */
static bool is_said(const struct cairn_otlp_resource_rows *resource, const char *key)
{
    for (size_t i = 0; i < resource->n; i++)
        if (strcmp(resource->rows[i].key, key) == 0)
            return true;
    return false;
}

static void put_resource(struct cairn_otlp_writing *w, struct cairn_buffer *to)
{
    const char *const own[][2] = {{"service.name", cairn_profile_only_process(w->p)},
                                  {"host.name", cairn_profile_note(w->p, CAIRN_NOTE_HOST, 0)},
                                  {"os.version", cairn_profile_note(w->p, CAIRN_NOTE_KERNEL, 0)}};
    struct cairn_buffer message = {0};
    for (size_t i = 0; i < w->resource.n; i++)
        put_key_value(w, w->resource.rows[i].key, w->resource.rows[i].value, &message);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!is_said(&w->resource, own[i][0]))
            put_key_value(w, own[i][0], own[i][1], &message);
    cairn_otlp_put_message(w, to, OTLP_RESOURCE, &message);
}

static void put_all(struct cairn_otlp_writing *w, struct cairn_buffer *to)
{
    struct cairn_buffer profiles = {0}, scope_profiles = {0}, scope = {0}, dictionary = {0};
    put_resource(w, &profiles);
    cairn_pb_bytes(&scope, OTLP_SCOPE_NAME, cairn_span_of("cairn"));
    cairn_pb_bytes(&scope, OTLP_SCOPE_VERSION, cairn_span_of(cairn_version()));
    cairn_otlp_put_message(w, &scope_profiles, OTLP_SCOPE, &scope);
    for (size_t type = 0; type < w->p->n_types; type++)
        put_profile(w, type, &scope_profiles);
    cairn_otlp_put_message(w, &profiles, OTLP_SCOPE_PROFILES, &scope_profiles);
    cairn_otlp_put_message(w, to, OTLP_RESOURCE_PROFILES, &profiles);
    cairn_otlp_put_dictionary(w, &dictionary);
    cairn_otlp_put_message(w, to, OTLP_DICTIONARY, &dictionary);
}

static uint32_t *number_reached(const bool *reached, size_t n)
{
    uint32_t *numbers = cairn_alloc(n + 1, sizeof *numbers), next = 1;
    for (size_t i = 1; numbers && i < n; i++)
        numbers[i] = reached[i] ? next++ : 0;
    return numbers;
}

/* Samples with equal stacks, labels and reasons: those that differ in time alone share their
 * labels. */
static bool find_groups(struct cairn_otlp_writing *w)
{
    const struct cairn_profile *p = w->p;
    struct cairn_table known = {0};
    uint32_t *last = cairn_alloc(p->n_samples + 1, sizeof *last);
    w->groups = cairn_alloc(p->n_samples + 1, sizeof *w->groups);
    w->next = cairn_alloc(p->n_samples + 1, sizeof *w->next);
    bool ok = last && w->groups && w->next;
    for (uint32_t i = 0; ok && i < p->n_samples; i++) {
        const struct cairn_profile_label_set *set = &p->label_sets[p->samples[i].labels];
        const uint32_t what[] = {p->samples[i].stack, set->first, set->n, set->cut};
        const uint64_t key = cairn_hash_bytes(what, sizeof what);
        uint32_t group = (uint32_t)w->n_groups;
        if (cairn_table_find(&known, key, &group)) {
            w->next[last[group]] = i + 1;
        } else {
            w->groups[w->n_groups++] = i;
            ok = cairn_table_set(&known, key, group) == CAIRN_OK;
        }
        last[group] = i;
    }
    cairn_table_done(&known);
    cairn_free(last);
    return ok;
}

/* Times of a recorder's own clock are not what OpenTelemetry means. */
static bool has_wall_times(const struct cairn_profile *p)
{
    bool has = p->time_ns > 0 && p->n_samples;
    for (size_t i = 0; has && i < p->n_samples; i++)
        has = cairn_profile_time_of(p, i) > 0;
    return has;
}

static bool prepare(struct cairn_otlp_writing *w)
{
    const struct cairn_profile *p = w->p;
    w->has_times = has_wall_times(p);
    if (!cairn_profile_reach(p, &w->reach) || !find_groups(w))
        return false;
    w->mappings = number_reached(w->reach.modules, p->n_modules);
    w->locations = number_reached(w->reach.frames, p->n_frames);
    w->functions = number_reached(w->reach.functions, p->n_functions);
    return w->mappings && w->locations && w->functions;
}

static void done(struct cairn_otlp_writing *w)
{
    cairn_profile_reach_done(&w->reach);
    cairn_strings_done(&w->texts);
    cairn_free(w->mappings);
    cairn_free(w->locations);
    cairn_free(w->functions);
    cairn_table_done(&w->stacks);
    cairn_table_done(&w->attributes);
    cairn_buffer_done(&w->stack_table);
    cairn_buffer_done(&w->attribute_table);
    cairn_free(w->groups);
    cairn_free(w->next);
}

int cairn_otlp_write(const struct cairn_profile *profile,
                     const struct cairn_otlp_resource_rows *resource, cairn_write_fn write,
                     void *ctx, struct cairn_err *err)
{
    struct cairn_otlp_writing w = {.p = profile, .resource = *resource};
    struct cairn_buffer out = {0};
    int code = prepare(&w) ? CAIRN_OK : cairn_fail_memory(err);
    if (code == CAIRN_OK) {
        put_all(&w, &out);
        if (w.failed || out.failed)
            code = cairn_fail_memory(err);
        else if (write(ctx, out.data, out.size))
            code = cairn_fail(err, CAIRN_E_IO, "the output could not be written");
    }
    cairn_buffer_done(&out);
    done(&w);
    return code;
}

static int write_otlp(const struct cairn_profile *profile, cairn_write_fn write, void *ctx,
                      struct cairn_err *err)
{
    const struct cairn_otlp_resource_rows none = {0};
    return cairn_otlp_write(profile, &none, write, ctx, err);
}

const struct cairn_format_row cairn_format_otlp = {
    .format = CAIRN_FORMAT_OTLP,
    .name = "otlp",
    .endings = (const char *const[]){".otlp.gz", ".otlp", NULL},
    .write = write_otlp,
};
