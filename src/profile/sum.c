/* SPDX-License-Identifier: MIT */
/* Samples that are equal but for their values become one. */
#include "base/alloc.h"
#include "profile/profile.h"

static void add_values(int64_t *into, const int64_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        into[i] = cairn_profile_add_clamped(into[i], from[i]);
}

/* In place: the kept samples move to the front in their order. */
int cairn_profile_sum_equal(struct cairn_profile *p)
{
    struct cairn_table seen = {0};
    size_t n_kept = 0, n_types = p->n_types;
    int rc = CAIRN_OK;
    size_t i = 0;
    for (; rc == CAIRN_OK && i < p->n_samples; i++) {
        struct cairn_profile_sample sample = p->samples[i];
        uint64_t key = (uint64_t)sample.stack << 32 | sample.labels;
        uint32_t at;
        if (cairn_table_find(&seen, key, &at)) {
            add_values(p->values + at * n_types, p->values + i * n_types, n_types);
            continue;
        }
        rc = cairn_table_set(&seen, key, (uint32_t)n_kept);
        if (rc < 0)
            break;
        p->samples[n_kept] = sample;
        memmove(p->values + n_kept * n_types, p->values + i * n_types, n_types * sizeof *p->values);
        n_kept++;
    }
    /* Where memory ran out the rest stays as it is: less is summed, nothing is lost. */
    size_t n_rest = p->n_samples - i;
    if (n_rest) {
        memmove(p->samples + n_kept, p->samples + i, n_rest * sizeof *p->samples);
        memmove(p->values + n_kept * n_types, p->values + i * n_types,
                n_rest * n_types * sizeof *p->values);
    }
    p->n_samples = n_kept + n_rest;
    cairn_table_done(&seen);
    return rc;
}
