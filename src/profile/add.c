/* SPDX-License-Identifier: MIT */
/* Adding to a profile: each kind of thing once, found again by what it holds. */
#include "base/alloc.h"
#include "base/module_kind.h"
#include "profile/index.h"

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return cairn_hash_u64(hash + value);
}

/* Appends one row to an array of the profile; false where memory is gone, or where it is closed to
 * these things from `from` on. */
#define APPEND(p, from, array, row)                                                                \
    ((p)->closed < (from) &&                                                                       \
     cairn_grow((void **)&(p)->array, &(p)->cap_##array, (p)->n_##array + 1,                       \
                sizeof *(p)->array) == CAIRN_OK &&                                                 \
     ((p)->array[(p)->n_##array++] = (row), true))

static uint64_t hash_module(const struct cairn_profile_module *m)
{
    return mix(mix(mix(mix(m->path, m->build_id), m->start), m->end), m->off);
}

static uint64_t hash_of_module(const struct cairn_profile *p, uint32_t number)
{
    return hash_module(&p->modules[number]);
}

static bool is_module(const struct cairn_profile *p, uint32_t number, const void *thing)
{
    const struct cairn_profile_module *a = &p->modules[number], *b = thing;
    return a->path == b->path && a->build_id == b->build_id && a->start == b->start &&
           a->end == b->end && a->off == b->off;
}

uint32_t cairn_profile_add_module(struct cairn_profile *p,
                                  const struct cairn_profile_module *module)
{
    static const struct cairn_profile_rule rule = {hash_of_module, is_module};
    struct cairn_profile_index *index = cairn_profile_need_index(p);
    uint32_t *slot = index ? cairn_profile_slot(p, &index->modules, &rule, p->n_modules,
                                                hash_module(module), module)
                           : NULL;
    if (!slot)
        return UINT32_MAX;
    if (*slot) { /* what naming found adds up */
        struct cairn_profile_module *old = &p->modules[*slot];
        old->has_functions |= module->has_functions;
        old->has_files |= module->has_files;
        old->has_lines |= module->has_lines;
        old->has_inlines |= module->has_inlines;
        return *slot;
    }
    uint32_t number = (uint32_t)p->n_modules;
    if (!APPEND(p, CAIRN_PROFILE_NO_STACKS, modules, *module)) {
        index->modules.n_indexed = number;
        return UINT32_MAX;
    }
    p->modules[number].kind =
        (uint8_t)cairn_module_kind_of(cairn_strings_get(&p->strings, module->path), module->start);
    return *slot = number;
}

uint32_t cairn_profile_add_kernel(struct cairn_profile *p, uint64_t text, const char *build_id)
{
    static const char path[] = "[kernel.kallsyms]";
    static const uint64_t upper_half = 1ull << 63;
    const struct cairn_profile_module module = {
        .start = upper_half,
        .end = UINT64_MAX,
        .off = text > upper_half ? text : upper_half,
        .path = cairn_profile_text(p, path, sizeof path - 1),
        .build_id = cairn_profile_text(p, build_id, strlen(build_id)),
    };
    if (module.path == UINT32_MAX || module.build_id == UINT32_MAX)
        return UINT32_MAX;
    return cairn_profile_add_module(p, &module);
}

static uint64_t hash_function(const struct cairn_profile_function *f)
{
    return mix(mix(mix(f->name, f->system_name), f->file), f->start_line);
}

static uint64_t hash_of_function(const struct cairn_profile *p, uint32_t number)
{
    return hash_function(&p->functions[number]);
}

static bool is_function(const struct cairn_profile *p, uint32_t number, const void *thing)
{
    const struct cairn_profile_function *a = &p->functions[number], *b = thing;
    return a->name == b->name && a->system_name == b->system_name && a->file == b->file &&
           a->start_line == b->start_line;
}

uint32_t cairn_profile_add_function(struct cairn_profile *p,
                                    const struct cairn_profile_function *function)
{
    static const struct cairn_profile_rule rule = {hash_of_function, is_function};
    struct cairn_profile_index *index = cairn_profile_need_index(p);
    uint32_t *slot = index ? cairn_profile_slot(p, &index->functions, &rule, p->n_functions,
                                                hash_function(function), function)
                           : NULL;
    if (!slot)
        return UINT32_MAX;
    if (*slot)
        return *slot;
    uint32_t number = (uint32_t)p->n_functions;
    if (!APPEND(p, CAIRN_PROFILE_NO_STACKS, functions, *function)) {
        index->functions.n_indexed = number;
        return UINT32_MAX;
    }
    return *slot = number;
}

/* A frame together with its lines, wherever they are. */
struct frame_view {
    const struct cairn_profile_frame *frame;
    const struct cairn_profile_line *lines;
    uint32_t n_lines;
};

static uint64_t found_as(const struct cairn_profile_frame *frame)
{
    return (uint64_t)frame->what << 16 | (uint64_t)frame->how << 8 | (uint64_t)frame->own << 24 |
           frame->language;
}

static uint64_t hash_frame(const struct frame_view *view)
{
    const struct cairn_profile_frame *f = view->frame;
    uint64_t hash = mix(mix(f->address, f->module), found_as(f) << 1 | f->folded);
    for (uint32_t i = 0; i < view->n_lines; i++)
        hash = mix(hash, (uint64_t)view->lines[i].function << 32 | view->lines[i].line);
    return hash;
}

static struct frame_view view_of_frame(const struct cairn_profile *p, uint32_t number)
{
    const struct cairn_profile_frame *f = &p->frames[number];
    return (struct frame_view){f, f->n_lines ? p->lines + f->lines : NULL, f->n_lines};
}

static uint64_t hash_of_frame(const struct cairn_profile *p, uint32_t number)
{
    struct frame_view view = view_of_frame(p, number);
    return hash_frame(&view);
}

static bool is_frame(const struct cairn_profile *p, uint32_t number, const void *thing)
{
    const struct frame_view a = view_of_frame(p, number), *b = thing;
    if (a.frame->address != b->frame->address || a.frame->module != b->frame->module ||
        found_as(a.frame) != found_as(b->frame) || a.frame->folded != b->frame->folded ||
        a.n_lines != b->n_lines)
        return false;
    return a.n_lines == 0 || memcmp(a.lines, b->lines, a.n_lines * sizeof *a.lines) == 0;
}

static bool append_frame(struct cairn_profile *p, const struct frame_view *view)
{
    if (p->n_lines > UINT32_MAX - view->n_lines ||
        cairn_grow((void **)&p->lines, &p->cap_lines, p->n_lines + view->n_lines,
                   sizeof *p->lines) < 0)
        return false;
    struct cairn_profile_frame frame = *view->frame;
    frame.lines = (uint32_t)p->n_lines;
    frame.n_lines = view->n_lines;
    if (!APPEND(p, CAIRN_PROFILE_NO_STACKS, frames, frame))
        return false;
    if (view->n_lines)
        memcpy(p->lines + p->n_lines, view->lines, view->n_lines * sizeof *p->lines);
    p->n_lines += view->n_lines;
    return true;
}

uint32_t cairn_profile_add_frame(struct cairn_profile *p, const struct cairn_profile_frame *frame,
                                 const struct cairn_profile_line *lines, uint32_t n_lines)
{
    static const struct cairn_profile_rule rule = {hash_of_frame, is_frame};
    struct frame_view view = {frame, lines, n_lines};
    struct cairn_profile_index *index = cairn_profile_need_index(p);
    uint32_t *slot =
        index ? cairn_profile_slot(p, &index->frames, &rule, p->n_frames, hash_frame(&view), &view)
              : NULL;
    if (!slot)
        return UINT32_MAX;
    if (*slot)
        return *slot;
    uint32_t number = (uint32_t)p->n_frames;
    if (!append_frame(p, &view)) {
        index->frames.n_indexed = number;
        return UINT32_MAX;
    }
    return *slot = number;
}

struct set_view {
    const struct cairn_profile_label *labels;
    uint32_t n, cut;
    int64_t time_ns;
};

static uint64_t hash_set(const struct set_view *view)
{
    uint64_t hash = mix(mix(view->n, view->cut), (uint64_t)view->time_ns);
    for (uint32_t i = 0; i < view->n; i++) {
        const struct cairn_profile_label *label = &view->labels[i];
        hash = mix(hash, (uint64_t)label->key << 32 | label->text);
        hash = mix(mix(hash, (uint64_t)label->number), label->unit);
    }
    return hash;
}

static struct set_view view_of_set(const struct cairn_profile *p, uint32_t number)
{
    const struct cairn_profile_label_set *set = &p->label_sets[number];
    return (struct set_view){set->n ? p->labels + set->first : NULL, set->n, set->cut,
                             set->time_ns};
}

static uint64_t hash_of_set(const struct cairn_profile *p, uint32_t number)
{
    struct set_view view = view_of_set(p, number);
    return hash_set(&view);
}

static int compare_labels(const struct cairn_profile_label *a, const struct cairn_profile_label *b)
{
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->text != b->text)
        return a->text < b->text ? -1 : 1;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->unit < b->unit ? -1 : a->unit > b->unit;
}

static bool is_set(const struct cairn_profile *p, uint32_t number, const void *thing)
{
    const struct set_view a = view_of_set(p, number), *b = thing;
    bool same = a.n == b->n && a.cut == b->cut && a.time_ns == b->time_ns;
    for (uint32_t i = 0; same && i < a.n; i++)
        same = compare_labels(&a.labels[i], &b->labels[i]) == 0;
    return same;
}

/* Copies the labels behind those of the profile, in order; they count once the set is new. */
static bool stage_labels(struct cairn_profile *p, const struct cairn_profile_label *labels,
                         uint32_t n)
{
    if (p->n_labels > UINT32_MAX - n ||
        cairn_grow((void **)&p->labels, &p->cap_labels, p->n_labels + n, sizeof *p->labels) < 0)
        return false;
    struct cairn_profile_label *staged = p->labels + p->n_labels;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = i;
        for (; at > 0 && compare_labels(&staged[at - 1], &labels[i]) > 0; at--)
            staged[at] = staged[at - 1];
        staged[at] = labels[i];
    }
    return true;
}

/* The set, new or old; a new one has its labels from `first` on. */
static uint32_t intern_set(struct cairn_profile *p, const struct set_view *view, uint32_t first)
{
    static const struct cairn_profile_rule rule = {hash_of_set, is_set};
    struct cairn_profile_index *index = cairn_profile_need_index(p);
    uint32_t *slot = index ? cairn_profile_slot(p, &index->label_sets, &rule, p->n_label_sets,
                                                hash_set(view), view)
                           : NULL;
    if (!slot)
        return UINT32_MAX;
    if (*slot)
        return *slot;
    uint32_t number = (uint32_t)p->n_label_sets;
    struct cairn_profile_label_set set = {first, view->n, view->cut, view->time_ns};
    if (!APPEND(p, CAIRN_PROFILE_NO_SAMPLES, label_sets, set)) {
        index->label_sets.n_indexed = number;
        return UINT32_MAX;
    }
    return *slot = number;
}

/* Sets with times may be as many as the samples: each has the labels of the set without one. */
uint32_t cairn_profile_add_label_set(struct cairn_profile *p,
                                     const struct cairn_profile_label *labels, uint32_t n,
                                     uint32_t cut, int64_t time_ns)
{
    if (n > CAIRN_PROFILE_LABELS_MAX || !stage_labels(p, labels, n))
        return UINT32_MAX;
    const uint32_t staged = (uint32_t)p->n_labels, n_sets = (uint32_t)p->n_label_sets;
    struct set_view view = {n ? p->labels + staged : NULL, n, cut, 0};
    uint32_t untimed = n || cut ? intern_set(p, &view, staged) : 0;
    if (untimed == n_sets)
        p->n_labels += n;
    if (untimed == UINT32_MAX || time_ns <= 0)
        return untimed;
    view.time_ns = time_ns;
    return intern_set(p, &view, p->label_sets[untimed].first);
}

uint32_t cairn_profile_add_labels(struct cairn_profile *p, const struct cairn_profile_label *labels,
                                  uint32_t n)
{
    return cairn_profile_add_label_set(p, labels, n, 0, 0);
}

const struct cairn_profile_label *cairn_profile_find_label(const struct cairn_profile *p,
                                                           uint32_t label_set, const char *key)
{
    struct set_view view = view_of_set(p, label_set);
    for (uint32_t i = 0; i < view.n; i++)
        if (strcmp(cairn_strings_get(&p->strings, view.labels[i].key), key) == 0)
            return &view.labels[i];
    return NULL;
}

uint32_t cairn_profile_add_marker(struct cairn_profile *p,
                                  const struct cairn_profile_marker *marker)
{
    if (marker->stack >= p->n_stacks || marker->labels >= p->n_label_sets ||
        p->n_markers >= CAIRN_PROFILE_NUMBERS_MAX ||
        !APPEND(p, CAIRN_PROFILE_NO_SAMPLES, markers, *marker))
        return UINT32_MAX;
    return (uint32_t)p->n_markers - 1;
}

uint32_t cairn_profile_add_sample(struct cairn_profile *p, uint32_t stack, uint32_t labels,
                                  const int64_t *values)
{
    if (stack >= p->n_stacks || labels >= p->n_label_sets ||
        p->n_samples >= CAIRN_PROFILE_NUMBERS_MAX || p->closed >= CAIRN_PROFILE_NO_SAMPLES)
        return UINT32_MAX;
    if (p->n_samples == p->cap_samples) { /* two arrays that grow together */
        size_t cap = p->cap_samples;
        if (cairn_grow((void **)&p->samples, &cap, p->n_samples + 1, sizeof *p->samples) < 0)
            return UINT32_MAX;
        int64_t *grown = cairn_realloc(p->values, cap, p->n_types * sizeof *grown);
        if (!grown)
            return UINT32_MAX;
        p->values = grown;
        p->cap_samples = cap;
    }
    p->samples[p->n_samples] = (struct cairn_profile_sample){.stack = stack, .labels = labels};
    memcpy(p->values + p->n_samples * p->n_types, values, p->n_types * sizeof *values);
    return (uint32_t)p->n_samples++;
}
