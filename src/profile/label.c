/* SPDX-License-Identifier: MIT */
/* One label for all samples, e.g. which of several inputs they are of. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "profile/profile.h"

/* The set with the label added; a set that has one of that key stays. UINT32_MAX: no memory, or one
 * label too many. */
static uint32_t widen_set(struct cairn_profile *p, uint32_t set,
                          const struct cairn_profile_label *label, const char *key)
{
    struct cairn_profile_label labels[CAIRN_PROFILE_LABELS_MAX];
    const struct cairn_profile_label_set old = p->label_sets[set];
    uint32_t n = old.n;
    if (cairn_profile_find_label(p, set, key))
        return set;
    if (n >= CAIRN_PROFILE_LABELS_MAX)
        return UINT32_MAX;
    if (n)
        memcpy(labels, &p->labels[old.first], n * sizeof *labels);
    labels[n] = *label;
    return cairn_profile_add_label_set(p, labels, n + 1, old.cut, old.time_ns);
}

int cairn_profile_label_all(struct cairn_profile *p, const char *key, const char *value,
                            struct cairn_err *err)
{
    struct cairn_profile_label label = {.key = cairn_profile_text(p, key, strlen(key)),
                                        .text = cairn_profile_text(p, value, strlen(value))};
    if (!*key || !*value)
        return cairn_fail(err, CAIRN_E_ARG, "a label wants a key and a value");
    size_t n_old = p->n_label_sets;
    uint32_t *widened = cairn_alloc(n_old, sizeof *widened); /* plus 1; 0: not yet */
    bool ok = widened && label.key != UINT32_MAX && label.text != UINT32_MAX;
    for (size_t i = 0; i < p->n_samples + p->n_markers && ok; i++) {
        uint32_t set = *cairn_profile_set_of(p, i);
        if (widened[set] == 0) {
            uint32_t number = widen_set(p, set, &label, key);
            ok = number != UINT32_MAX;
            widened[set] = number + 1;
        }
    }
    for (size_t i = 0; i < p->n_samples + p->n_markers && ok; i++)
        *cairn_profile_set_of(p, i) = widened[*cairn_profile_set_of(p, i)] - 1;
    cairn_free(widened);
    return ok ? CAIRN_OK : cairn_fail_memory(err);
}
