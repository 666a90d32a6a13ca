/* SPDX-License-Identifier: MIT */
/* Asking the model: value types, comments, labels, counts, the text of a frame without a name. */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "profile/profile.h"

static const char *text_of(const struct cairn_profile *p, uint32_t number)
{
    return cairn_strings_get(&p->strings, number);
}

size_t cairn_profile_value_types(const struct cairn_profile *profile,
                                 const struct cairn_value_type **ret_types)
{
    /* The lent array is a cache of the profile's own; nobody sees it change. */
    struct cairn_profile *p = (struct cairn_profile *)profile;
    if (!p->public_types && p->n_types) {
        p->public_types = cairn_alloc(p->n_types, sizeof *p->public_types);
        if (!p->public_types)
            return 0;
        for (size_t i = 0; i < p->n_types; i++)
            p->public_types[i] = (struct cairn_value_type){text_of(p, p->types[i].type),
                                                           text_of(p, p->types[i].unit)};
    }
    *ret_types = p->public_types;
    return p->n_types;
}

size_t cairn_profile_default_value(const struct cairn_profile *p)
{
    for (size_t i = 0; p->default_type && i < p->n_types; i++)
        if (p->types[i].type == p->default_type)
            return i;
    return 0;
}

int cairn_profile_add_comment(struct cairn_profile *p, const char *text)
{
    uint32_t number = cairn_strings_add_str(&p->strings, text);
    if (number == UINT32_MAX || cairn_grow((void **)&p->comments, &p->cap_comments,
                                           p->n_comments + 1, sizeof *p->comments) < 0)
        return CAIRN_E_NOMEM;
    p->comments[p->n_comments++] = number;
    cairn_free((void *)p->public_comments);
    p->public_comments = NULL;
    return CAIRN_OK;
}

size_t cairn_profile_comments(const struct cairn_profile *profile, const char *const **ret_comments)
{
    struct cairn_profile *p = (struct cairn_profile *)profile;
    if (!p->public_comments && p->n_comments) {
        p->public_comments = cairn_alloc(p->n_comments, sizeof *p->public_comments);
        if (!p->public_comments)
            return 0;
        for (size_t i = 0; i < p->n_comments; i++)
            p->public_comments[i] = text_of(p, p->comments[i]);
    }
    *ret_comments = p->public_comments;
    return p->n_comments;
}

const struct cairn_profile_label *cairn_profile_find_label(const struct cairn_profile *p,
                                                           uint32_t label_set, const char *key)
{
    if (label_set >= p->n_label_sets)
        return NULL;
    const struct cairn_profile_label_set *set = &p->label_sets[label_set];
    for (uint32_t i = 0; i < set->n; i++)
        if (strcmp(text_of(p, p->labels[set->first + i].key), key) == 0)
            return &p->labels[set->first + i];
    return NULL;
}

void cairn_profile_stats(const struct cairn_profile *p, struct cairn_profile_stats *stats)
{
    *stats = (struct cairn_profile_stats){
        .size = stats->size,
        .n_samples = p->n_samples,
        .n_stacks = p->n_stacks - 1,
        .n_frames = p->n_frames - 1,
        .n_modules = p->n_modules - 1,
        .n_functions = p->n_functions - 1,
        .duration_ns = p->duration_ns > 0 ? (uint64_t)p->duration_ns : 0,
    };
    for (size_t i = 1; i < p->n_frames; i++)
        stats->n_unnamed += p->frames[i].n_lines == 0;
    for (size_t i = 0; i < p->n_samples; i++)
        stats->n_cut += cairn_profile_find_label(p, p->samples[i].labels, "cairn.cut") != NULL;
}

static int compare_cuts(const void *left, const void *right)
{
    const struct cairn_cut_row *a = left, *b = right;
    if (a->n_samples != b->n_samples)
        return a->n_samples > b->n_samples ? -1 : 1;
    return strcmp(a->reason, b->reason);
}

/* Samples that stand for more than one count as many: the value of the first type, where that is a
 * count. */
static uint64_t weight_of(const struct cairn_profile *p, size_t sample)
{
    bool counts = p->n_types && strcmp(text_of(p, p->types[0].unit), "count") == 0;
    int64_t value = counts ? p->values[sample * p->n_types] : 1;
    return value > 0 ? (uint64_t)value : 1;
}

size_t cairn_profile_cuts(const struct cairn_profile *p, struct cairn_cut_row *rows, size_t n)
{
    enum { REASONS_MAX = 256 };
    struct cairn_cut_row all[REASONS_MAX];
    size_t n_all = 0;
    for (size_t i = 0; i < p->n_samples; i++) {
        const struct cairn_profile_label *cut =
            cairn_profile_find_label(p, p->samples[i].labels, "cairn.cut");
        if (!cut)
            continue;
        const char *reason = text_of(p, cut->text);
        size_t at = 0;
        while (at < n_all && all[at].reason != reason) /* interned: one text, one pointer */
            at++;
        if (at == n_all && n_all == REASONS_MAX)
            continue;
        if (at == n_all)
            all[n_all++] = (struct cairn_cut_row){.reason = reason};
        all[at].n_samples += weight_of(p, i);
    }
    qsort(all, n_all, sizeof *all, compare_cuts);
    for (size_t i = 0; i < n && i < n_all; i++)
        rows[i] = all[i];
    return n_all;
}

const char *cairn_profile_frame_text(const struct cairn_profile *p, uint32_t frame, char *buf,
                                     size_t size)
{
    const struct cairn_profile_frame *f = &p->frames[frame];
    const struct cairn_profile_module *m = &p->modules[f->module < p->n_modules ? f->module : 0];
    const char *path = text_of(p, m->path), *slash = strrchr(path, '/');
    const char *name = slash && slash[1] ? slash + 1 : path;
    if (f->kind == CAIRN_FRAME_KERNEL && !*name)
        snprintf(buf, size, "[kernel]+0x%llx", (unsigned long long)f->address);
    else if (!*name)
        snprintf(buf, size, "0x%llx", (unsigned long long)f->address);
    else
        snprintf(buf, size, "%s+0x%llx", name,
                 (unsigned long long)(f->address - m->start + m->off));
    return buf;
}
