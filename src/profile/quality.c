/* SPDX-License-Identifier: MIT */
/* How much of a profile can be trusted: what is counted here ends every report. */
#include <stdlib.h>

#include "base/alloc.h"
#include "profile/frame_kind.h"
#include "profile/profile.h"

/* The value type that counts samples; n_types: there is none. */
static size_t weight_type(const struct cairn_profile *p)
{
    size_t type = 0;
    while (type < p->n_types && strcmp(p->public_types[type].type, "samples") != 0)
        type++;
    return type;
}

static uint64_t weight_by(const struct cairn_profile *p, size_t type, size_t sample)
{
    if (type == p->n_types)
        return 1;
    int64_t value = p->values[sample * p->n_types + type];
    return value > 0 ? (uint64_t)value : 0;
}

uint64_t cairn_profile_weight(const struct cairn_profile *p, size_t sample)
{
    return weight_by(p, weight_type(p), sample);
}

/* The number of its text; 0: it has none. */
static uint32_t cut_of(const struct cairn_profile *p, size_t sample)
{
    return p->label_sets[p->samples[sample].labels].cut;
}

const char *cairn_profile_cut_of(const struct cairn_profile *p, size_t sample)
{
    return cairn_strings_get(&p->strings, cut_of(p, sample));
}

static bool is_gap(const struct cairn_profile *p, uint32_t cut)
{
    return cut && strcmp(cairn_strings_get(&p->strings, cut), CAIRN_PROFILE_GAP) == 0;
}

uint32_t cairn_profile_cut_short(const struct cairn_profile *p, uint32_t label_set)
{
    uint32_t cut = p->label_sets[label_set].cut;
    return is_gap(p, cut) ? 0 : cut;
}

/* A walker told how it found this frame, as no reader of text can. */
static bool is_walked(const struct cairn_profile *p, uint32_t frame)
{
    uint8_t how = p->frames[frame].how;
    return how != CAIRN_HOW_KERNEL && how != CAIRN_HOW_TEXT && how != CAIRN_HOW_TEXT_GUESS;
}

/* By stack: is it known of every frame how it was found? */
static bool *find_told(const struct cairn_profile *p)
{
    bool *told = cairn_alloc(p->n_stacks, sizeof *told);
    for (uint32_t i = 1; told && i < p->n_stacks; i++) {
        uint32_t parent = p->stacks[i].parent;
        const struct cairn_profile_frame *frame = &p->frames[p->stacks[i].frame];
        told[i] = (!parent || told[parent]) && cairn_frame_kind_of(frame) != CAIRN_FRAME_UNKNOWN;
    }
    return told;
}

/* Stacks of kernel frames alone tell nothing by themselves, for text knows those too: a profile
 * that no walker left a trace in is not judged at all. */
static void count_samples(const struct cairn_profile *p, struct cairn_profile_stats *s)
{
    bool walked = false;
    for (uint32_t i = 1; i < p->n_frames && !walked; i++)
        walked = is_walked(p, i);
    bool *told = walked ? find_told(p) : NULL;
    const size_t type = weight_type(p);
    for (size_t i = 0; i < p->n_samples; i++) {
        uint64_t weight = weight_by(p, type, i);
        uint32_t cut = cut_of(p, i);
        bool has_gap = is_gap(p, cut);
        s->n_samples += weight;
        s->n_cut += cut && !has_gap ? weight : 0;
        s->n_gap += has_gap ? weight : 0;
        s->n_judged += cut || (told && told[p->samples[i].stack]) ? weight : 0;
    }
    cairn_free(told);
}

static uint64_t count_marks(const bool *marks, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 1; i < n; i++)
        sum += !marks || marks[i];
    return sum;
}

static bool has_name(const struct cairn_profile *p, uint32_t frame)
{
    return cairn_profile_is_named(p, frame) && !cairn_profile_is_function_start(p, frame, NULL);
}

/* Where memory is gone, what no sample uses counts too. */
void cairn_profile_stats(const struct cairn_profile *p, struct cairn_profile_stats *stats)
{
    struct cairn_profile_reach reach = {0};
    (void)cairn_profile_reach(p, &reach);
    struct cairn_profile_stats s = {
        .size = stats->size,
        .n_stacks = count_marks(reach.stacks, p->n_stacks),
        .n_frames = count_marks(reach.frames, p->n_frames),
        .n_modules = count_marks(reach.modules, p->n_modules),
        .n_functions = count_marks(reach.functions, p->n_functions),
        .duration_ns = p->duration_ns > 0 ? (uint64_t)p->duration_ns : 0,
        .n_events = p->n_markers,
    };
    for (uint32_t i = 1; i < p->n_frames; i++)
        s.n_unnamed += (!reach.frames || reach.frames[i]) && !has_name(p, i);
    count_samples(p, &s);
    cairn_profile_reach_done(&reach);
    memcpy(stats, &s, stats->size < sizeof s ? stats->size : sizeof s);
}

static int compare_cuts(const void *a, const void *b)
{
    const struct cairn_cut_row *x = a, *y = b;
    if (x->n_samples != y->n_samples)
        return x->n_samples > y->n_samples ? -1 : 1;
    return strcmp(x->reason, y->reason);
}

static int count_cuts(const struct cairn_profile *p, struct cairn_table *numbers,
                      struct cairn_cut_row **rows, size_t *n, size_t *cap)
{
    for (size_t i = 0; i < p->n_samples; i++) {
        uint32_t text = cut_of(p, i), at;
        if (!text || is_gap(p, text))
            continue;
        if (!cairn_table_find(numbers, text, &at)) {
            at = (uint32_t)*n;
            if (cairn_grow((void **)rows, cap, *n + 1, sizeof **rows) < 0 ||
                cairn_table_set(numbers, text, at) < 0)
                return CAIRN_E_NOMEM;
            (*rows)[(*n)++] =
                (struct cairn_cut_row){.reason = cairn_strings_get(&p->strings, text)};
        }
        (*rows)[at].n_samples += cairn_profile_weight(p, i);
    }
    return CAIRN_OK;
}

size_t cairn_profile_cuts(const struct cairn_profile *p, struct cairn_cut_row *rows, size_t n)
{
    struct cairn_table numbers = {0};
    struct cairn_cut_row *all = NULL;
    size_t n_all = 0, cap = 0;
    if (count_cuts(p, &numbers, &all, &n_all, &cap) < 0)
        n_all = 0;
    if (n_all) {
        qsort(all, n_all, sizeof *all, compare_cuts);
        memcpy(rows, all, (n < n_all ? n : n_all) * sizeof *rows);
    }
    cairn_table_done(&numbers);
    cairn_free(all);
    return n_all;
}
