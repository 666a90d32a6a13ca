/* SPDX-License-Identifier: MIT */
/*
 * Merging: every number of `from` is mapped to one of `into`, kind by kind, lower kinds first.
 *
 *     strings ─► modules, functions ─► frames ─► stacks ─► samples
 *             └► label sets ──────────────────────────────►
 */
#include "base/alloc.h"
#include "base/error.h"
#include "profile/profile.h"
#include "profile/value.h"

struct merge {
    struct cairn_profile *into;
    const struct cairn_profile *from;
    uint32_t *strings, *modules, *functions, *frames, *stacks, *label_sets; /* from -> into */
    size_t *types; /* index in `from` of each type of `into` */
};

static uint32_t *new_map(size_t n)
{
    return cairn_alloc(n, sizeof(uint32_t));
}

static void done(struct merge *m)
{
    cairn_free(m->strings);
    cairn_free(m->modules);
    cairn_free(m->functions);
    cairn_free(m->frames);
    cairn_free(m->stacks);
    cairn_free(m->label_sets);
    cairn_free(m->types);
}

static const char *text_of(const struct cairn_profile *p, uint32_t number)
{
    return cairn_strings_get(&p->strings, number);
}

/* A profile that has no types yet takes them over. */
static int map_types(struct merge *m, struct cairn_err *err)
{
    struct cairn_profile *into = m->into;
    const struct cairn_profile *from = m->from;
    bool fresh = into->n_types == 0;
    for (size_t i = 0; fresh && i < from->n_types; i++)
        if (cairn_profile_add_type(into, text_of(from, from->types[i].type),
                                   text_of(from, from->types[i].unit)) == UINT32_MAX)
            return cairn_fail_memory(err);
    m->types = cairn_alloc(into->n_types, sizeof *m->types);
    if (!m->types)
        return cairn_fail_memory(err);
    for (size_t i = 0; i < into->n_types; i++) {
        const char *type = text_of(into, into->types[i].type);
        const char *unit = text_of(into, into->types[i].unit);
        size_t k = 0;
        while (k < from->n_types && (strcmp(type, text_of(from, from->types[k].type)) != 0 ||
                                     strcmp(unit, text_of(from, from->types[k].unit)) != 0))
            k++;
        if (k == from->n_types || from->n_types != into->n_types)
            return cairn_fail(err, CAIRN_E_ARG,
                              "the profiles count different things: one has %s/%s, %s", type, unit,
                              k == from->n_types ? "the other has not" : "the other has more");
        m->types[i] = k;
    }
    return CAIRN_OK;
}

static bool map_strings(struct merge *m)
{
    size_t n = m->from->strings.n ? m->from->strings.n : 1;
    m->strings = new_map(n);
    for (size_t i = 0; m->strings && i < n; i++) {
        m->strings[i] = cairn_profile_text(m->into, text_of(m->from, (uint32_t)i),
                                           cairn_strings_size(&m->from->strings, (uint32_t)i));
        if (m->strings[i] == UINT32_MAX)
            return false;
    }
    return m->strings;
}

static bool map_modules(struct merge *m)
{
    m->modules = new_map(m->from->n_modules);
    for (size_t i = 1; m->modules && i < m->from->n_modules; i++) {
        struct cairn_profile_module module = m->from->modules[i];
        module.path = m->strings[module.path];
        module.build_id = m->strings[module.build_id];
        m->modules[i] = cairn_profile_add_module(m->into, &module);
        if (m->modules[i] == UINT32_MAX)
            return false;
    }
    return m->modules;
}

static bool map_functions(struct merge *m)
{
    m->functions = new_map(m->from->n_functions);
    for (size_t i = 1; m->functions && i < m->from->n_functions; i++) {
        struct cairn_profile_function function = m->from->functions[i];
        function.name = m->strings[function.name];
        function.system_name = m->strings[function.system_name];
        function.file = m->strings[function.file];
        m->functions[i] = cairn_profile_add_function(m->into, &function);
        if (m->functions[i] == UINT32_MAX)
            return false;
    }
    return m->functions;
}

static bool map_frames(struct merge *m)
{
    const struct cairn_profile *from = m->from;
    struct cairn_profile_line *lines = NULL;
    size_t cap = 0, i = 1;
    m->frames = new_map(from->n_frames);
    for (; m->frames && i < from->n_frames; i++) {
        struct cairn_profile_frame frame = from->frames[i];
        if (cairn_grow((void **)&lines, &cap, frame.n_lines, sizeof *lines) < 0)
            break;
        for (uint32_t k = 0; k < frame.n_lines; k++) {
            lines[k] = from->lines[frame.lines + k];
            lines[k].function = m->functions[lines[k].function];
        }
        frame.module = m->modules[frame.module];
        m->frames[i] = cairn_profile_add_frame(m->into, &frame, lines, frame.n_lines);
        if (m->frames[i] == UINT32_MAX)
            break;
    }
    cairn_free(lines);
    return m->frames && i >= from->n_frames;
}

static bool map_stacks(struct merge *m)
{
    m->stacks = new_map(m->from->n_stacks);
    for (size_t i = 1; m->stacks && i < m->from->n_stacks; i++) {
        const struct cairn_profile_stack *stack = &m->from->stacks[i];
        m->stacks[i] =
            cairn_profile_add_stack(m->into, m->stacks[stack->parent], m->frames[stack->frame]);
        if (m->stacks[i] == UINT32_MAX)
            return false;
    }
    return m->stacks;
}

static bool map_label_sets(struct merge *m)
{
    const struct cairn_profile *from = m->from;
    struct cairn_profile_label *labels = NULL;
    size_t cap = 0, i = 1;
    m->label_sets = new_map(from->n_label_sets);
    for (; m->label_sets && i < from->n_label_sets; i++) {
        struct cairn_profile_label_set set = from->label_sets[i];
        if (cairn_grow((void **)&labels, &cap, set.n, sizeof *labels) < 0)
            break;
        for (uint32_t k = 0; k < set.n; k++) {
            labels[k] = from->labels[set.first + k];
            labels[k].key = m->strings[labels[k].key];
            labels[k].text = m->strings[labels[k].text];
            labels[k].unit = m->strings[labels[k].unit];
        }
        m->label_sets[i] = cairn_profile_add_labels(m->into, labels, set.n);
        if (m->label_sets[i] == UINT32_MAX)
            break;
    }
    cairn_free(labels);
    return m->label_sets && i >= from->n_label_sets;
}

static bool add_samples(struct merge *m)
{
    size_t width = m->into->n_types;
    int64_t *values = cairn_alloc(width, sizeof *values);
    size_t i = 0;
    for (; values && i < m->from->n_samples; i++) {
        const struct cairn_profile_sample *sample = &m->from->samples[i];
        for (size_t k = 0; k < width; k++)
            values[k] = m->from->values[i * width + m->types[k]];
        if (cairn_profile_add_sample(m->into, m->stacks[sample->stack],
                                     m->label_sets[sample->labels], values) == UINT32_MAX)
            break;
    }
    cairn_free(values);
    return values && i >= m->from->n_samples;
}

static bool add_rest(struct merge *m)
{
    struct cairn_profile *into = m->into;
    const struct cairn_profile *from = m->from;
    for (size_t i = 0; i < from->n_comments; i++)
        if (cairn_profile_add_comment(into, text_of(from, from->comments[i])) < 0)
            return false;
    if (!into->default_type)
        into->default_type = m->strings[from->default_type];
    if (!into->period) {
        into->period = from->period;
        into->period_type = (struct cairn_profile_type){m->strings[from->period_type.type],
                                                        m->strings[from->period_type.unit]};
    }
    if (!into->time_ns || (from->time_ns && from->time_ns < into->time_ns))
        into->time_ns = from->time_ns;
    into->duration_ns = cairn_value_add(into->duration_ns, from->duration_ns);
    return true;
}

int cairn_profile_merge(struct cairn_profile *into, const struct cairn_profile *from,
                        struct cairn_err *err)
{
    struct merge m = {.into = into, .from = from};
    size_t n_before = into->n_samples;
    int result = map_types(&m, err);
    if (result == CAIRN_OK &&
        !(map_strings(&m) && map_modules(&m) && map_functions(&m) && map_frames(&m) &&
          map_stacks(&m) && map_label_sets(&m) && add_samples(&m) && add_rest(&m)))
        result = cairn_fail_memory(err);
    /* Half a profile is none: without its samples, what else was added weighs nothing. */
    if (result < 0)
        into->n_samples = n_before;
    if (result == CAIRN_OK && cairn_profile_sum_equal(into) < 0)
        result = cairn_fail_memory(err);
    done(&m);
    return result;
}
