/* SPDX-License-Identifier: MIT */
/* Samples are told apart by fewer labels than before, and equal ones become one: what is recorded
 * for days stays as small as what it says. */
#include "base/alloc.h"
#include "profile/index.h"
#include "profile/packed.h"

/* All label sets of a profile. */
struct sets {
    struct cairn_profile_label *labels;
    size_t n_labels, cap_labels;
    struct cairn_profile_label_set *label_sets;
    size_t n_label_sets, cap_label_sets;
};

static struct sets take_sets(struct cairn_profile *p)
{
    struct sets sets = {p->labels,     p->n_labels,     p->cap_labels,
                        p->label_sets, p->n_label_sets, p->cap_label_sets};
    p->labels = NULL;
    p->label_sets = NULL;
    p->n_labels = p->cap_labels = p->n_label_sets = p->cap_label_sets = 0;
    cairn_profile_forget_label_sets(p);
    return sets;
}

static void put_sets(struct cairn_profile *p, const struct sets *sets)
{
    cairn_free(p->labels);
    cairn_free(p->label_sets);
    cairn_profile_forget_label_sets(p);
    p->labels = sets->labels;
    p->n_labels = sets->n_labels;
    p->cap_labels = sets->cap_labels;
    p->label_sets = sets->label_sets;
    p->n_label_sets = sets->n_label_sets;
    p->cap_label_sets = sets->cap_label_sets;
}

struct dropping {
    struct cairn_profile *profile;
    struct cairn_packed *packed;
    struct sets old;
    cairn_profile_keeps_fn keeps;
    void *ctx;
    uint32_t *new_of; /* by the old number; 0: not asked for yet, or the empty set */
};

/* What is kept of an old set; UINT32_MAX where memory is gone. */
static uint32_t lessen(struct dropping *to, uint32_t set)
{
    struct cairn_profile_label kept[CAIRN_PROFILE_LABELS_MAX];
    const struct cairn_profile_label_set *of = &to->old.label_sets[set];
    const struct cairn_profile_label *labels = of->n ? to->old.labels + of->first : NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < of->n; i++)
        if (to->keeps(to->ctx, labels, of->n, &labels[i]))
            kept[n++] = labels[i];
    return cairn_profile_add_label_set(to->profile, kept, n, of->cut, of->time_ns);
}

static bool make_set(struct dropping *to, uint32_t set)
{
    if (to->new_of[set] == 0 && set)
        to->new_of[set] = lessen(to, set);
    return to->new_of[set] != UINT32_MAX;
}

static int make_sets_of(void *ctx, const struct cairn_packed_path *path)
{
    bool ok = true;
    for (size_t i = 0; i < path->n_rows && ok; i++)
        ok = make_set(ctx, path->labels[i]);
    return ok ? CAIRN_OK : CAIRN_E_NOMEM;
}

/* Of those alone that samples have. */
static bool make_sets(struct dropping *to)
{
    struct cairn_profile *p = to->profile;
    p->label_sets = cairn_alloc(1, sizeof *p->label_sets); /* the empty one */
    p->n_label_sets = p->cap_label_sets = p->label_sets ? 1 : 0;
    bool ok = p->label_sets;
    for (size_t i = 0; i < p->n_samples && ok; i++)
        ok = make_set(to, p->samples[i].labels);
    for (size_t i = 0; i < p->n_markers && ok; i++)
        ok = make_set(to, p->markers[i].labels);
    return ok && (!to->packed || cairn_packed_each(to->packed, make_sets_of, to) == CAIRN_OK);
}

int cairn_profile_drop_labels(struct cairn_profile *p, struct cairn_packed *packed,
                              cairn_profile_keeps_fn keeps, void *ctx, uint32_t *ret_numbers)
{
    struct dropping to = {.profile = p, .packed = packed, .keeps = keeps, .ctx = ctx};
    for (size_t i = 0; ret_numbers && i < p->n_samples; i++)
        ret_numbers[i] = (uint32_t)i;
    to.new_of = cairn_alloc(p->n_label_sets, sizeof *to.new_of);
    if (!to.new_of)
        return CAIRN_E_NOMEM;
    to.old = take_sets(p);
    bool ok = make_sets(&to) && (!packed || cairn_packed_relabel(packed, to.new_of) == CAIRN_OK);
    if (ok) {
        cairn_free(to.old.labels);
        cairn_free(to.old.label_sets);
    } else {
        put_sets(p, &to.old);
    }
    for (size_t i = 0; i < p->n_samples && ok; i++)
        p->samples[i].labels = to.new_of[p->samples[i].labels];
    for (size_t i = 0; i < p->n_markers && ok; i++)
        p->markers[i].labels = to.new_of[p->markers[i].labels];
    cairn_free(to.new_of);
    return ok ? cairn_profile_sum_numbered(p, ret_numbers) : CAIRN_E_NOMEM;
}
