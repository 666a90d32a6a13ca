/* SPDX-License-Identifier: MIT */
/*
 * Merging goes from the bottom up, each kind by a map from the numbers of `from` to those of
 * `into`:
 *
 *     strings ─► modules, functions ─► frames ─► stacks
 *           └──► label sets                          └──► samples, last of all
 *
 * Samples come last so that a failure leaves none of them; what else was added by then is there
 * without being used, which is no harm.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "profile/profile.h"

struct merging {
    struct cairn_profile *into;
    const struct cairn_profile *from;
    uint32_t *strings, *modules, *functions, *frames, *stacks, *label_sets;
    size_t types[CAIRN_PROFILE_TYPES_MAX]; /* index in `from` of each type of `into` */
};

static void merging_done(struct merging *m)
{
    cairn_free(m->strings);
    cairn_free(m->modules);
    cairn_free(m->functions);
    cairn_free(m->frames);
    cairn_free(m->stacks);
    cairn_free(m->label_sets);
}

static bool make_maps(struct merging *m)
{
    const struct cairn_profile *from = m->from;
    m->strings = cairn_alloc(from->strings.n, sizeof *m->strings);
    m->modules = cairn_alloc(from->n_modules, sizeof *m->modules);
    m->functions = cairn_alloc(from->n_functions, sizeof *m->functions);
    m->frames = cairn_alloc(from->n_frames, sizeof *m->frames);
    m->stacks = cairn_alloc(from->n_stacks, sizeof *m->stacks);
    m->label_sets = cairn_alloc(from->n_label_sets, sizeof *m->label_sets);
    return m->strings && m->modules && m->functions && m->frames && m->stacks && m->label_sets;
}

static uint32_t string_of(const struct merging *m, uint32_t number)
{
    return number ? m->strings[number] : 0;
}

static bool map_strings(struct merging *m)
{
    const struct cairn_strings *strings = &m->from->strings;
    for (uint32_t i = 1; i < strings->n; i++) {
        m->strings[i] = cairn_profile_text(m->into, cairn_strings_get(strings, i),
                                           cairn_strings_size(strings, i));
        if (m->strings[i] == UINT32_MAX)
            return false;
    }
    return true;
}

static bool map_modules(struct merging *m)
{
    for (uint32_t i = 1; i < m->from->n_modules; i++) {
        struct cairn_profile_module module = m->from->modules[i];
        module.path = string_of(m, module.path);
        module.build_id = string_of(m, module.build_id);
        m->modules[i] = cairn_profile_add_module(m->into, &module);
        if (m->modules[i] == UINT32_MAX)
            return false;
    }
    return true;
}

static bool map_functions(struct merging *m)
{
    for (uint32_t i = 1; i < m->from->n_functions; i++) {
        struct cairn_profile_function function = m->from->functions[i];
        function.name = string_of(m, function.name);
        function.system_name = string_of(m, function.system_name);
        function.file = string_of(m, function.file);
        m->functions[i] = cairn_profile_add_function(m->into, &function);
        if (m->functions[i] == UINT32_MAX)
            return false;
    }
    return true;
}

static bool map_frames(struct merging *m)
{
    struct cairn_profile_line *lines = NULL;
    size_t cap = 0;
    bool ok = true;
    for (uint32_t i = 1; ok && i < m->from->n_frames; i++) {
        struct cairn_profile_frame frame = m->from->frames[i];
        frame.module = m->modules[frame.module];
        ok = cairn_grow((void **)&lines, &cap, frame.n_lines, sizeof *lines) == CAIRN_OK;
        for (uint32_t at = 0; ok && at < frame.n_lines; at++) {
            lines[at] = m->from->lines[frame.lines + at];
            lines[at].function = m->functions[lines[at].function];
        }
        if (ok)
            m->frames[i] = cairn_profile_add_frame(m->into, &frame, lines, frame.n_lines);
        ok = ok && m->frames[i] != UINT32_MAX;
    }
    cairn_free(lines);
    return ok;
}

/* Parents have smaller numbers than their children. */
static bool map_stacks(struct merging *m)
{
    for (uint32_t i = 1; i < m->from->n_stacks; i++) {
        const struct cairn_profile_stack *stack = &m->from->stacks[i];
        m->stacks[i] =
            cairn_profile_add_stack(m->into, m->stacks[stack->parent], m->frames[stack->frame]);
        if (m->stacks[i] == UINT32_MAX)
            return false;
    }
    return true;
}

static bool map_label_sets(struct merging *m)
{
    struct cairn_profile_label *labels = NULL;
    size_t cap = 0;
    bool ok = true;
    for (uint32_t i = 1; ok && i < m->from->n_label_sets; i++) {
        const struct cairn_profile_label_set *set = &m->from->label_sets[i];
        ok = cairn_grow((void **)&labels, &cap, set->n, sizeof *labels) == CAIRN_OK;
        for (uint32_t at = 0; ok && at < set->n; at++) {
            labels[at] = m->from->labels[set->first + at];
            labels[at].key = string_of(m, labels[at].key);
            labels[at].text = string_of(m, labels[at].text);
            labels[at].unit = string_of(m, labels[at].unit);
        }
        if (ok)
            m->label_sets[i] = cairn_profile_add_label_set(m->into, labels, set->n,
                                                           string_of(m, set->cut), set->time_ns);
        ok = ok && m->label_sets[i] != UINT32_MAX;
    }
    cairn_free(labels);
    return ok;
}

static bool add_samples(struct merging *m)
{
    size_t n_before = m->into->n_samples, n_types = m->into->n_types;
    for (size_t i = 0; i < m->from->n_samples; i++) {
        const struct cairn_profile_sample *sample = &m->from->samples[i];
        int64_t values[CAIRN_PROFILE_TYPES_MAX];
        for (size_t type = 0; type < n_types; type++)
            values[type] = m->from->values[i * n_types + m->types[type]];
        if (cairn_profile_add_sample(m->into, m->stacks[sample->stack],
                                     m->label_sets[sample->labels], values) == UINT32_MAX) {
            m->into->n_samples = n_before;
            return false;
        }
    }
    return true;
}

static bool add_markers(struct merging *m)
{
    bool ok = true;
    for (size_t i = 0; i < m->from->n_markers && ok; i++) {
        struct cairn_profile_marker marker = m->from->markers[i];
        marker.name = string_of(m, marker.name);
        marker.stack = m->stacks[marker.stack];
        marker.labels = m->label_sets[marker.labels];
        ok = cairn_profile_add_marker(m->into, &marker) != UINT32_MAX;
    }
    return ok;
}

static bool same_type(const struct merging *m, size_t into, size_t from)
{
    const struct cairn_value_type *a = &m->into->public_types[into];
    const struct cairn_value_type *b = &m->from->public_types[from];
    return strcmp(a->type, b->type) == 0 && strcmp(a->unit, b->unit) == 0;
}

static int match_types(struct merging *m, struct cairn_err *err)
{
    struct cairn_profile *into = m->into;
    const struct cairn_profile *from = m->from;
    for (size_t i = 0; into->n_types == i && into->n_samples == 0 && i < from->n_types; i++)
        if (cairn_profile_add_type(into, from->public_types[i].type, from->public_types[i].unit) ==
            UINT32_MAX)
            return cairn_fail_memory(err);
    if (into->n_types != from->n_types)
        return cairn_fail(err, CAIRN_E_ARG,
                          "profiles that do not go together: %zu types of values and %zu",
                          into->n_types, from->n_types);
    for (size_t i = 0; i < into->n_types; i++) {
        size_t at = 0;
        while (at < from->n_types && !same_type(m, i, at))
            at++;
        if (at == from->n_types)
            return cairn_fail(err, CAIRN_E_ARG,
                              "profiles that do not go together: only one has values of type "
                              "\"%s\" in \"%s\"",
                              into->public_types[i].type, into->public_types[i].unit);
        m->types[i] = at;
    }
    return CAIRN_OK;
}

static uint64_t note_key(uint32_t kind, uint32_t text)
{
    return (uint64_t)kind << 32 | text;
}

/* One that is there already says nothing new. */
static bool add_notes(struct merging *m)
{
    struct cairn_profile *into = m->into;
    struct cairn_table known = {0};
    uint32_t number;
    bool ok = true;
    for (size_t i = 0; i < into->n_notes && ok; i++)
        ok = cairn_table_set(&known, note_key(into->notes[i].kind, into->notes[i].text), 1) ==
             CAIRN_OK;
    for (size_t i = 0; i < m->from->n_notes && ok; i++) {
        const struct cairn_profile_note *note = &m->from->notes[i];
        const uint64_t key = note_key(note->kind, string_of(m, note->text));
        if (!cairn_table_find(&known, key, &number))
            ok = cairn_table_set(&known, key, 1) == CAIRN_OK &&
                 cairn_profile_add_note(into, (enum cairn_note)note->kind,
                                        cairn_strings_get(&m->from->strings, note->text)) ==
                     CAIRN_OK;
    }
    cairn_table_done(&known);
    return ok;
}

/* A period counts only if it is the same for all samples. */
static void merge_period(struct merging *m, bool is_first)
{
    struct cairn_profile *into = m->into;
    const struct cairn_profile *from = m->from;
    struct cairn_profile_type type = {string_of(m, from->period_type.type),
                                      string_of(m, from->period_type.unit)};
    if (is_first) {
        into->period_type = type;
        into->period = from->period;
    } else if (into->period_type.type != type.type || into->period_type.unit != type.unit ||
               into->period != from->period) {
        into->period_type = (struct cairn_profile_type){0};
        into->period = 0;
    }
}

static void merge_facts(struct merging *m, bool is_first)
{
    struct cairn_profile *into = m->into;
    const struct cairn_profile *from = m->from;
    merge_period(m, is_first);
    if (!into->default_type)
        into->default_type = string_of(m, from->default_type);
    if (!into->time_ns || (from->time_ns && from->time_ns < into->time_ns))
        into->time_ns = from->time_ns;
    into->duration_ns = cairn_profile_add_clamped(into->duration_ns, from->duration_ns);
}

int cairn_profile_merge(struct cairn_profile *into, const struct cairn_profile *from,
                        struct cairn_err *err)
{
    struct merging m = {.into = into, .from = from};
    bool is_first = into->n_types == 0;
    const size_t n_markers = into->n_markers;
    int rc = into == from ? cairn_fail(err, CAIRN_E_ARG, "a profile cannot be merged into itself")
                          : match_types(&m, err);
    if (rc < 0)
        return rc;
    bool ok = make_maps(&m) && map_strings(&m) && map_modules(&m) && map_functions(&m) &&
              map_frames(&m) && map_stacks(&m) && map_label_sets(&m) && add_notes(&m) &&
              add_markers(&m) && add_samples(&m);
    if (ok)
        merge_facts(&m, is_first);
    else
        into->n_markers = n_markers;
    merging_done(&m);
    return ok ? CAIRN_OK : cairn_fail_memory(err);
}
