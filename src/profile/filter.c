/* SPDX-License-Identifier: MIT */
/* Keeping some of the samples. The rest of the model stays: numbers never change their meaning. */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "profile/profile.h"

static bool label_matches(const struct cairn_profile *p, uint32_t label_set,
                          const struct cairn_filter *filter)
{
    const struct cairn_profile_label *label =
        cairn_profile_find_label(p, label_set, filter->label_key);
    if (!label || !filter->label_value)
        return label != NULL;
    if (label->text)
        return strcmp(cairn_strings_get(&p->strings, label->text), filter->label_value) == 0;
    char number[24];
    snprintf(number, sizeof number, "%lld", (long long)label->number);
    return strcmp(number, filter->label_value) == 0;
}

/* One byte a frame: has it a line whose function's name contains the text? */
static uint8_t *mark_frames(const struct cairn_profile *p, const char *text)
{
    uint8_t *hits = cairn_alloc(p->n_frames, 1);
    for (size_t i = 1; hits && i < p->n_frames; i++) {
        const struct cairn_profile_frame *frame = &p->frames[i];
        for (uint32_t k = 0; k < frame->n_lines && !hits[i]; k++) {
            uint32_t function = p->lines[frame->lines + k].function;
            const char *name = cairn_strings_get(&p->strings, p->functions[function].name);
            hits[i] = strstr(name, text) != NULL;
        }
    }
    return hits;
}

/* One byte a stack: does it or one of its callers hit? Parents come first, so one pass will do. */
static uint8_t *mark_stacks(const struct cairn_profile *p, const char *text)
{
    uint8_t *frames = mark_frames(p, text);
    uint8_t *hits = frames ? cairn_alloc(p->n_stacks, 1) : NULL;
    for (size_t i = 1; hits && i < p->n_stacks; i++)
        hits[i] = hits[p->stacks[i].parent] | frames[p->stacks[i].frame];
    cairn_free(frames);
    return hits;
}

int cairn_profile_filter(struct cairn_profile *p, const struct cairn_filter *filter,
                         struct cairn_err *err)
{
    if (filter->label_value && !filter->label_key)
        return cairn_fail(err, CAIRN_E_ARG, "a filter has a label's value but not its key");
    uint8_t *stacks = filter->function ? mark_stacks(p, filter->function) : NULL;
    if (filter->function && !stacks)
        return cairn_fail_memory(err);
    size_t kept = 0, width = p->n_types;
    for (size_t i = 0; i < p->n_samples; i++) {
        struct cairn_profile_sample sample = p->samples[i];
        if (filter->label_key && !label_matches(p, sample.labels, filter))
            continue;
        if (stacks && !stacks[sample.stack])
            continue;
        p->samples[kept] = sample;
        memmove(p->values + kept * width, p->values + i * width, width * sizeof *p->values);
        kept++;
    }
    p->n_samples = kept;
    cairn_free(stacks);
    return CAIRN_OK;
}
