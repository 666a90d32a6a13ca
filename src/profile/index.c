/* SPDX-License-Identifier: MIT */
#include "profile/index.h"

#include "base/alloc.h"

enum { SLOTS_FIRST = 256 };

uint64_t cairn_profile_hash_module(const struct cairn_profile *p, uint32_t number)
{
    const struct cairn_profile_module *m = &p->modules[number];
    uint64_t texts = (uint64_t)m->path << 32 | m->build_id;
    return cairn_hash_u64(texts ^ cairn_hash_u64(m->start ^ cairn_hash_u64(m->end ^ m->off << 1)));
}

uint64_t cairn_profile_hash_function(const struct cairn_profile *p, uint32_t number)
{
    return cairn_hash_bytes(&p->functions[number], sizeof p->functions[number]);
}

uint64_t cairn_profile_hash_frame(const struct cairn_profile *p, uint32_t number)
{
    const struct cairn_profile_frame *f = &p->frames[number];
    uint64_t rest = (uint64_t)f->module << 16 | (uint64_t)f->kind << 8 | f->folded;
    uint64_t lines =
        f->n_lines ? cairn_hash_bytes(&p->lines[f->lines], f->n_lines * sizeof p->lines[f->lines])
                   : 0;
    return cairn_hash_u64(f->address ^ cairn_hash_u64(rest ^ lines));
}

uint64_t cairn_profile_hash_stack(const struct cairn_profile *p, uint32_t number)
{
    const struct cairn_profile_stack *s = &p->stacks[number];
    return cairn_hash_u64((uint64_t)s->parent << 32 | s->frame);
}

uint64_t cairn_profile_hash_labels(const struct cairn_profile *p, uint32_t number)
{
    const struct cairn_profile_label_set *set = &p->label_sets[number];
    uint64_t hash = set->n;
    for (uint32_t i = 0; i < set->n; i++) {
        const struct cairn_profile_label *label = &p->labels[set->first + i];
        hash = cairn_hash_u64(hash ^ ((uint64_t)label->key << 32 | label->text));
        hash = cairn_hash_u64(hash ^ (uint64_t)label->number ^ (uint64_t)label->unit << 40);
    }
    return hash;
}

uint32_t cairn_profile_set_find(const struct cairn_profile_set *set, const struct cairn_profile *p,
                                uint64_t hash, cairn_profile_equal_fn equal, const void *wanted)
{
    if (!set->cap)
        return UINT32_MAX;
    size_t at = (size_t)hash & (set->cap - 1);
    for (; set->slots[at]; at = (at + 1) & (set->cap - 1))
        if (equal(p, set->slots[at] - 1, wanted))
            return set->slots[at] - 1;
    return UINT32_MAX;
}

void cairn_profile_set_put(struct cairn_profile_set *set, uint64_t hash, uint32_t number)
{
    size_t at = (size_t)hash & (set->cap - 1);
    while (set->slots[at])
        at = (at + 1) & (set->cap - 1);
    set->slots[at] = number + 1;
    set->n++;
}

bool cairn_profile_set_reserve(struct cairn_profile_set *set, const struct cairn_profile *p,
                               cairn_profile_hash_fn hash_of)
{
    if (set->n + 1 <= set->cap / 4 * 3)
        return true;
    struct cairn_profile_set grown = {.cap = set->cap ? set->cap * 2 : SLOTS_FIRST};
    grown.slots = cairn_alloc(grown.cap, sizeof *grown.slots);
    if (!grown.slots)
        return false;
    for (size_t i = 0; i < set->cap; i++)
        if (set->slots[i])
            cairn_profile_set_put(&grown, hash_of(p, set->slots[i] - 1), set->slots[i] - 1);
    cairn_free(set->slots);
    *set = grown;
    return true;
}

/* Takes in numbers [first, n) of a kind. */
static bool fill(struct cairn_profile_set *set, const struct cairn_profile *p,
                 cairn_profile_hash_fn hash_of, size_t first, size_t n)
{
    for (size_t number = first; number < n; number++) {
        if (!cairn_profile_set_reserve(set, p, hash_of))
            return false;
        cairn_profile_set_put(set, hash_of(p, (uint32_t)number), (uint32_t)number);
    }
    return true;
}

struct cairn_profile_index *cairn_profile_need_index(struct cairn_profile *p)
{
    if (p->index)
        return p->index;
    p->index = cairn_alloc(1, sizeof *p->index);
    if (!p->index)
        return NULL;
    struct cairn_profile_index *x = p->index;
    if (fill(&x->modules, p, cairn_profile_hash_module, 1, p->n_modules) &&
        fill(&x->functions, p, cairn_profile_hash_function, 1, p->n_functions) &&
        fill(&x->frames, p, cairn_profile_hash_frame, 1, p->n_frames) &&
        fill(&x->stacks, p, cairn_profile_hash_stack, 1, p->n_stacks) &&
        fill(&x->label_sets, p, cairn_profile_hash_labels, 1, p->n_label_sets))
        return x;
    cairn_profile_drop_index(p);
    return NULL;
}

void cairn_profile_drop_index(struct cairn_profile *p)
{
    if (!p->index)
        return;
    cairn_free(p->index->modules.slots);
    cairn_free(p->index->functions.slots);
    cairn_free(p->index->frames.slots);
    cairn_free(p->index->stacks.slots);
    cairn_free(p->index->label_sets.slots);
    cairn_free(p->index);
    p->index = NULL;
}
