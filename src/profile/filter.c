/* SPDX-License-Identifier: MIT */
/* Keeping some samples and dropping others. What only the dropped ones used stays in the profile;
 * writers leave it out. */
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "profile/index.h"

/* `text` is a string; 0: the label is a number. */
static bool is_value(const struct cairn_profile *p, const struct cairn_filter *filter,
                     uint32_t text, int64_t number)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRId64, number);
    const char *value = text ? cairn_strings_get(&p->strings, text) : digits;
    return !filter->label_value || strcmp(value, filter->label_value) == 0;
}

/* Cut and time are found as if they were labels: so files have them. */
static bool has_label(const struct cairn_profile *p, uint32_t label_set,
                      const struct cairn_filter *filter)
{
    const struct cairn_profile_label_set *set = &p->label_sets[label_set];
    bool found = (set->cut && strcmp(filter->label_key, CAIRN_PROFILE_CUT_LABEL) == 0 &&
                  is_value(p, filter, set->cut, 0)) ||
                 (set->time_ns && strcmp(filter->label_key, CAIRN_PROFILE_TIME_LABEL) == 0 &&
                  is_value(p, filter, 0, set->time_ns));
    for (uint32_t i = 0; i < set->n && !found; i++) {
        const struct cairn_profile_label *label = &p->labels[set->first + i];
        found = strcmp(cairn_strings_get(&p->strings, label->key), filter->label_key) == 0 &&
                is_value(p, filter, label->text, label->number);
    }
    return found;
}

static bool frame_contains(const struct cairn_profile *p, uint32_t frame, const char *part)
{
    const struct cairn_profile_frame *f = &p->frames[frame];
    for (uint32_t i = 0; i < f->n_lines; i++) {
        const struct cairn_profile_function *function =
            &p->functions[p->lines[f->lines + i].function];
        if (strstr(cairn_strings_get(&p->strings, function->name), part))
            return true;
    }
    char text[512];
    return !f->n_lines && strstr(cairn_profile_frame_text(p, frame, text, sizeof text), part);
}

/* By stack: does it or a caller hold such a frame? NULL where memory is gone. Each frame is asked
 * once, and a stack has what its parent has. */
static bool *find_stacks(const struct cairn_profile *p, const char *part)
{
    bool *by_frame = cairn_alloc(p->n_frames, sizeof *by_frame);
    bool *by_stack = cairn_alloc(p->n_stacks, sizeof *by_stack);
    if (by_frame && by_stack) {
        for (uint32_t i = 1; i < p->n_frames; i++)
            by_frame[i] = frame_contains(p, i, part);
        for (uint32_t i = 1; i < p->n_stacks; i++)
            by_stack[i] = by_stack[p->stacks[i].parent] || by_frame[p->stacks[i].frame];
    } else {
        cairn_free(by_stack);
        by_stack = NULL;
    }
    cairn_free(by_frame);
    return by_stack;
}

/* By label set, as above. */
static bool *find_label_sets(const struct cairn_profile *p, const struct cairn_filter *filter)
{
    bool *found = cairn_alloc(p->n_label_sets, sizeof *found);
    for (uint32_t i = 1; found && i < p->n_label_sets; i++)
        found[i] = has_label(p, i, filter);
    return found;
}

void cairn_profile_drop_samples(struct cairn_profile *p, const bool *dropped)
{
    const bool *markers = dropped + p->n_samples;
    size_t n_kept = 0, n_markers = 0;
    for (size_t i = 0; i < p->n_markers; i++)
        if (!markers[i])
            p->markers[n_markers++] = p->markers[i];
    p->n_markers = n_markers;
    for (size_t i = 0; i < p->n_samples; i++) {
        if (dropped[i])
            continue;
        p->samples[n_kept] = p->samples[i];
        memmove(p->values + n_kept * p->n_types, p->values + i * p->n_types,
                p->n_types * sizeof *p->values);
        n_kept++;
    }
    p->n_samples = n_kept;
    cairn_profile_forget_samples(p);
}

/* Of samples and markers those whose stack and label set are marked; NULL: all are. */
static bool keep(struct cairn_profile *p, const bool *stacks, const bool *label_sets)
{
    bool *dropped = cairn_alloc(p->n_samples + p->n_markers + 1, sizeof *dropped);
    for (size_t i = 0; dropped && i < p->n_samples + p->n_markers; i++)
        dropped[i] = (stacks && !stacks[*cairn_profile_stack_of(p, i)]) ||
                     (label_sets && !label_sets[*cairn_profile_set_of(p, i)]);
    bool ok = dropped != NULL;
    if (ok)
        cairn_profile_drop_samples(p, dropped);
    cairn_free(dropped);
    return ok;
}

int cairn_profile_filter(struct cairn_profile *p, const struct cairn_filter *filter,
                         struct cairn_err *err)
{
    struct cairn_filter f = {0};
    memcpy(&f, filter, filter->size < sizeof f ? filter->size : sizeof f);
    if (f.label_value && !f.label_key)
        return cairn_fail(err, CAIRN_E_ARG, "a filter by label value \"%s\" wants a label key",
                          f.label_value);
    bool *stacks = f.function ? find_stacks(p, f.function) : NULL;
    bool *label_sets = f.label_key ? find_label_sets(p, &f) : NULL;
    bool ok = (stacks || !f.function) && (label_sets || !f.label_key);
    ok = ok && keep(p, stacks, label_sets);
    cairn_free(stacks);
    cairn_free(label_sets);
    return ok ? CAIRN_OK : cairn_fail_memory(err);
}
