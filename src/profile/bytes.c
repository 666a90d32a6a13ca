/* SPDX-License-Identifier: MIT */
/* What a profile weighs in memory, in a few additions: it is asked for each new stack. */
#include "profile/index.h"

/* Slots are made anew, twice as many, at a load of 3/4. */
static uint64_t slots_bytes(const struct cairn_profile_slots *slots)
{
    bool is_filled = slots->n_indexed + 1 >= slots->n_slots / 4 * 3;
    return (is_filled ? 3 : 1) * slots->n_slots * sizeof *slots->slots;
}

static uint64_t index_bytes(const struct cairn_profile_index *index)
{
    return sizeof *index + slots_bytes(&index->modules) + slots_bytes(&index->functions) +
           slots_bytes(&index->frames) + slots_bytes(&index->label_sets) +
           slots_bytes(&index->samples) + index->n_linked * sizeof *index->children.links +
           cairn_table_bytes(&index->children.crowd);
}

/* What an array has beyond its last row was never touched, and is no memory yet. */
uint64_t cairn_profile_bytes(const struct cairn_profile *p)
{
    return sizeof *p + cairn_strings_bytes(&p->strings) + p->n_modules * sizeof *p->modules +
           p->n_functions * sizeof *p->functions + p->n_lines * sizeof *p->lines +
           p->n_frames * sizeof *p->frames + p->n_stacks * sizeof *p->stacks +
           p->n_labels * sizeof *p->labels + p->n_label_sets * sizeof *p->label_sets +
           p->n_markers * sizeof *p->markers +
           p->n_samples * (sizeof *p->samples + p->n_types * sizeof *p->values) +
           (p->index ? index_bytes(p->index) : 0);
}
