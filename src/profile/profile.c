/* SPDX-License-Identifier: MIT */
/* Adding to the model: every kind is looked for first, so that equal things are one number. */
#include "profile/profile.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "profile/index.h"
#include "profile/value.h"

/* Room for one more of a kind. Numbers stay below 2^31, so that a file cannot make them wrap. */
#define ROOM_FOR(p, array, n, cap)                                                                 \
    ((p)->n < INT32_MAX &&                                                                         \
     cairn_grow((void **)&(p)->array, &(p)->cap, (p)->n + 1, sizeof *(p)->array) == CAIRN_OK)

int cairn_profile_new(struct cairn_profile **ret_profile, struct cairn_err *err)
{
    struct cairn_profile *p = cairn_alloc(1, sizeof *p);
    if (!p)
        return cairn_fail_memory(err);
    if (!ROOM_FOR(p, modules, n_modules, cap_modules) ||
        !ROOM_FOR(p, functions, n_functions, cap_functions) ||
        !ROOM_FOR(p, frames, n_frames, cap_frames) || !ROOM_FOR(p, stacks, n_stacks, cap_stacks) ||
        !ROOM_FOR(p, label_sets, n_label_sets, cap_label_sets)) {
        cairn_profile_free(p);
        return cairn_fail_memory(err);
    }
    /* Number 0 of each kind is "none", the empty stack, the empty set. */
    p->modules[p->n_modules++] = (struct cairn_profile_module){0};
    p->functions[p->n_functions++] = (struct cairn_profile_function){0};
    p->frames[p->n_frames++] = (struct cairn_profile_frame){.kind = CAIRN_FRAME_UNKNOWN};
    p->stacks[p->n_stacks++] = (struct cairn_profile_stack){0};
    p->label_sets[p->n_label_sets++] = (struct cairn_profile_label_set){0};
    *ret_profile = p;
    return CAIRN_OK;
}

void cairn_profile_free(struct cairn_profile *p)
{
    if (!p)
        return;
    cairn_profile_drop_index(p);
    cairn_strings_done(&p->strings);
    cairn_free(p->types);
    cairn_free(p->modules);
    cairn_free(p->functions);
    cairn_free(p->lines);
    cairn_free(p->frames);
    cairn_free(p->stacks);
    cairn_free(p->labels);
    cairn_free(p->label_sets);
    cairn_free(p->samples);
    cairn_free(p->values);
    cairn_free(p->comments);
    cairn_free(p->public_types);
    cairn_free((void *)p->public_comments);
    cairn_free(p);
}

uint32_t cairn_profile_text(struct cairn_profile *p, const char *text, size_t size)
{
    return cairn_strings_add(&p->strings, text, size);
}

uint32_t cairn_profile_add_type(struct cairn_profile *p, const char *type, const char *unit)
{
    struct cairn_profile_type added = {cairn_strings_add_str(&p->strings, type),
                                       cairn_strings_add_str(&p->strings, unit)};
    /* Samples have a value for each type: none may be added under them. */
    if (added.type == UINT32_MAX || added.unit == UINT32_MAX || p->n_samples)
        return UINT32_MAX;
    struct cairn_profile_type *types = cairn_realloc(p->types, p->n_types + 1, sizeof *types);
    if (!types)
        return UINT32_MAX;
    p->types = types;
    p->types[p->n_types] = added;
    cairn_free(p->public_types);
    p->public_types = NULL;
    return (uint32_t)p->n_types++;
}

/* Appends what was made unique. The thing itself is stored at arrays[n] already. */
static uint32_t enter(struct cairn_profile *p, struct cairn_profile_set *set,
                      cairn_profile_hash_fn hash_of, uint64_t hash, size_t *n)
{
    if (!cairn_profile_set_reserve(set, p, hash_of))
        return UINT32_MAX;
    uint32_t number = (uint32_t)(*n)++;
    cairn_profile_set_put(set, hash, number);
    return number;
}

static bool equal_module(const struct cairn_profile *p, uint32_t number, const void *wanted)
{
    const struct cairn_profile_module *a = &p->modules[number], *b = wanted;
    return a->path == b->path && a->build_id == b->build_id && a->start == b->start &&
           a->end == b->end && a->off == b->off;
}

uint32_t cairn_profile_add_module(struct cairn_profile *p,
                                  const struct cairn_profile_module *module)
{
    struct cairn_profile_index *x = cairn_profile_need_index(p);
    if (!x || !ROOM_FOR(p, modules, n_modules, cap_modules))
        return UINT32_MAX;
    p->modules[p->n_modules] = *module;
    uint64_t hash = cairn_profile_hash_module(p, (uint32_t)p->n_modules);
    uint32_t old = cairn_profile_set_find(&x->modules, p, hash, equal_module, module);
    if (old == UINT32_MAX)
        return enter(p, &x->modules, cairn_profile_hash_module, hash, &p->n_modules);
    struct cairn_profile_module *known = &p->modules[old];
    known->has_functions |= module->has_functions;
    known->has_files |= module->has_files;
    known->has_lines |= module->has_lines;
    known->has_inlines |= module->has_inlines;
    return old;
}

static bool equal_function(const struct cairn_profile *p, uint32_t number, const void *wanted)
{
    return memcmp(&p->functions[number], wanted, sizeof p->functions[number]) == 0;
}

uint32_t cairn_profile_add_function(struct cairn_profile *p,
                                    const struct cairn_profile_function *function)
{
    struct cairn_profile_index *x = cairn_profile_need_index(p);
    if (!x || !ROOM_FOR(p, functions, n_functions, cap_functions))
        return UINT32_MAX;
    p->functions[p->n_functions] = *function;
    uint64_t hash = cairn_profile_hash_function(p, (uint32_t)p->n_functions);
    uint32_t old = cairn_profile_set_find(&x->functions, p, hash, equal_function, function);
    if (old != UINT32_MAX)
        return old;
    return enter(p, &x->functions, cairn_profile_hash_function, hash, &p->n_functions);
}

static bool equal_frame(const struct cairn_profile *p, uint32_t number, const void *wanted)
{
    const struct cairn_profile_frame *a = &p->frames[number], *b = wanted;
    return a->address == b->address && a->module == b->module && a->kind == b->kind &&
           a->folded == b->folded && a->n_lines == b->n_lines &&
           (a->n_lines == 0 ||
            memcmp(&p->lines[a->lines], &p->lines[b->lines], a->n_lines * sizeof *p->lines) == 0);
}

uint32_t cairn_profile_add_frame(struct cairn_profile *p, const struct cairn_profile_frame *frame,
                                 const struct cairn_profile_line *lines, uint32_t n_lines)
{
    struct cairn_profile_index *x = cairn_profile_need_index(p);
    if (!x || !ROOM_FOR(p, frames, n_frames, cap_frames) || n_lines > INT32_MAX - p->n_lines ||
        cairn_grow((void **)&p->lines, &p->cap_lines, p->n_lines + n_lines, sizeof *p->lines) < 0)
        return UINT32_MAX;
    if (n_lines)
        memcpy(p->lines + p->n_lines, lines, n_lines * sizeof *lines);
    struct cairn_profile_frame added = *frame;
    added.lines = (uint32_t)p->n_lines;
    added.n_lines = n_lines;
    if (!added.kind)
        added.kind = CAIRN_FRAME_UNKNOWN;
    p->frames[p->n_frames] = added;
    uint64_t hash = cairn_profile_hash_frame(p, (uint32_t)p->n_frames);
    uint32_t number = cairn_profile_set_find(&x->frames, p, hash, equal_frame, &added);
    if (number != UINT32_MAX)
        return number;
    number = enter(p, &x->frames, cairn_profile_hash_frame, hash, &p->n_frames);
    if (number != UINT32_MAX)
        p->n_lines += n_lines;
    return number;
}

static bool equal_stack(const struct cairn_profile *p, uint32_t number, const void *wanted)
{
    const struct cairn_profile_stack *a = &p->stacks[number], *b = wanted;
    return a->parent == b->parent && a->frame == b->frame;
}

uint32_t cairn_profile_add_stack(struct cairn_profile *p, uint32_t parent, uint32_t frame)
{
    struct cairn_profile_index *x = cairn_profile_need_index(p);
    if (!x || !ROOM_FOR(p, stacks, n_stacks, cap_stacks))
        return UINT32_MAX;
    struct cairn_profile_stack added = {parent, frame};
    uint64_t hash = cairn_hash_u64((uint64_t)parent << 32 | frame);
    uint32_t old = cairn_profile_set_find(&x->stacks, p, hash, equal_stack, &added);
    if (old != UINT32_MAX)
        return old;
    p->stacks[p->n_stacks] = added;
    return enter(p, &x->stacks, cairn_profile_hash_stack, hash, &p->n_stacks);
}

struct label_span {
    const struct cairn_profile_label *labels;
    uint32_t n;
};

static bool equal_label(const struct cairn_profile_label *a, const struct cairn_profile_label *b)
{
    return a->key == b->key && a->text == b->text && a->number == b->number && a->unit == b->unit;
}

static bool equal_labels(const struct cairn_profile *p, uint32_t number, const void *wanted)
{
    const struct cairn_profile_label_set *set = &p->label_sets[number];
    const struct label_span *other = wanted;
    if (set->n != other->n)
        return false;
    for (uint32_t i = 0; i < set->n; i++)
        if (!equal_label(&p->labels[set->first + i], &other->labels[i]))
            return false;
    return true;
}

static int compare_labels(const void *left, const void *right)
{
    const struct cairn_profile_label *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->text != b->text)
        return a->text < b->text ? -1 : 1;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->unit < b->unit ? -1 : a->unit > b->unit;
}

uint32_t cairn_profile_add_labels(struct cairn_profile *p, const struct cairn_profile_label *labels,
                                  uint32_t n)
{
    if (n == 0)
        return 0;
    struct cairn_profile_index *x = cairn_profile_need_index(p);
    if (!x || !ROOM_FOR(p, label_sets, n_label_sets, cap_label_sets) ||
        n > INT32_MAX - p->n_labels ||
        cairn_grow((void **)&p->labels, &p->cap_labels, p->n_labels + n, sizeof *labels) < 0)
        return UINT32_MAX;
    struct cairn_profile_label *added = p->labels + p->n_labels;
    memcpy(added, labels, n * sizeof *labels);
    qsort(added, n, sizeof *added, compare_labels);
    p->label_sets[p->n_label_sets] = (struct cairn_profile_label_set){(uint32_t)p->n_labels, n};
    uint64_t hash = cairn_profile_hash_labels(p, (uint32_t)p->n_label_sets);
    struct label_span wanted = {added, n};
    uint32_t number = cairn_profile_set_find(&x->label_sets, p, hash, equal_labels, &wanted);
    if (number != UINT32_MAX)
        return number;
    number = enter(p, &x->label_sets, cairn_profile_hash_labels, hash, &p->n_label_sets);
    if (number != UINT32_MAX)
        p->n_labels += n;
    return number;
}

uint32_t cairn_profile_add_sample(struct cairn_profile *p, uint32_t stack, uint32_t labels,
                                  const int64_t *values)
{
    size_t old_cap = p->cap_samples;
    if (p->n_types == 0 || !ROOM_FOR(p, samples, n_samples, cap_samples))
        return UINT32_MAX;
    if (p->cap_samples != old_cap || !p->values) {
        size_t width = p->n_types * sizeof *p->values;
        int64_t *grown = cairn_realloc(p->values, p->cap_samples, width);
        if (!grown) {
            p->cap_samples = old_cap; /* the longer array of samples does no harm */
            return UINT32_MAX;
        }
        p->values = grown;
    }
    p->samples[p->n_samples] = (struct cairn_profile_sample){stack, labels};
    memcpy(p->values + p->n_samples * p->n_types, values, p->n_types * sizeof *values);
    return (uint32_t)p->n_samples++;
}

static bool equal_sample(const struct cairn_profile *p, uint32_t number, const void *wanted)
{
    const struct cairn_profile_sample *a = &p->samples[number], *b = wanted;
    return a->stack == b->stack && a->labels == b->labels;
}

static uint64_t hash_sample(const struct cairn_profile *p, uint32_t number)
{
    const struct cairn_profile_sample *s = &p->samples[number];
    return cairn_hash_u64((uint64_t)s->stack << 32 | s->labels);
}

int cairn_profile_sum_equal(struct cairn_profile *p)
{
    struct cairn_profile_set seen = {0};
    size_t kept = 0, width = p->n_types;
    for (size_t i = 0; i < p->n_samples; i++) {
        struct cairn_profile_sample sample = p->samples[i];
        uint64_t hash = hash_sample(p, (uint32_t)i);
        uint32_t old = cairn_profile_set_find(&seen, p, hash, equal_sample, &sample);
        if (old != UINT32_MAX) {
            for (size_t k = 0; k < width; k++)
                p->values[old * width + k] =
                    cairn_value_add(p->values[old * width + k], p->values[i * width + k]);
            continue;
        }
        if (!cairn_profile_set_reserve(&seen, p, hash_sample)) {
            /* Samples [kept, i) are summed already: close the gap and keep the rest as it is. */
            memmove(p->samples + kept, p->samples + i, (p->n_samples - i) * sizeof *p->samples);
            memmove(p->values + kept * width, p->values + i * width,
                    (p->n_samples - i) * width * sizeof *p->values);
            p->n_samples -= i - kept;
            cairn_free(seen.slots);
            return CAIRN_E_NOMEM;
        }
        p->samples[kept] = sample;
        memmove(p->values + kept * width, p->values + i * width, width * sizeof *p->values);
        cairn_profile_set_put(&seen, hash, (uint32_t)kept++);
    }
    p->n_samples = kept;
    cairn_free(seen.slots);
    return CAIRN_OK;
}
