/* SPDX-License-Identifier: MIT */
/* Samples that are equal but for their values become one. */
#include "base/alloc.h"
#include "profile/index.h"

static void add_values(int64_t *into, const int64_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        into[i] = cairn_profile_add_clamped(into[i], from[i]);
}

static uint64_t hash_sample(const struct cairn_profile_sample *s)
{
    return cairn_hash_u64((uint64_t)s->stack << 32 | s->labels);
}

static uint64_t hash_of_sample(const struct cairn_profile *p, uint32_t number)
{
    return hash_sample(&p->samples[number - 1]);
}

static bool is_sample(const struct cairn_profile *p, uint32_t number, const void *thing)
{
    const struct cairn_profile_sample *a = &p->samples[number - 1], *b = thing;
    return a->stack == b->stack && a->labels == b->labels;
}

uint32_t cairn_profile_sum_sample(struct cairn_profile *p, uint32_t stack, uint32_t labels,
                                  const int64_t *values)
{
    static const struct cairn_profile_rule rule = {hash_of_sample, is_sample};
    const struct cairn_profile_sample sample = {.stack = stack, .labels = labels};
    struct cairn_profile_index *index = cairn_profile_need_index(p);
    uint32_t *slot = index ? cairn_profile_slot(p, &index->samples, &rule, p->n_samples + 1,
                                                hash_sample(&sample), &sample)
                           : NULL;
    if (!slot)
        return UINT32_MAX;
    if (*slot) {
        add_values(p->values + (*slot - 1) * p->n_types, values, p->n_types);
        return *slot - 1;
    }
    uint32_t number = cairn_profile_add_sample(p, stack, labels, values);
    if (number == UINT32_MAX)
        index->samples.n_indexed = p->n_samples + 1;
    else
        *slot = number + 1;
    return number;
}

/* In place: the kept samples move to the front in their order. */
int cairn_profile_sum_numbered(struct cairn_profile *p, uint32_t *ret_numbers)
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
            if (ret_numbers)
                ret_numbers[i] = at;
            add_values(p->values + at * n_types, p->values + i * n_types, n_types);
            continue;
        }
        rc = cairn_table_set(&seen, key, (uint32_t)n_kept);
        if (rc < 0)
            break;
        if (ret_numbers)
            ret_numbers[i] = (uint32_t)n_kept;
        p->samples[n_kept] = sample;
        memmove(p->values + n_kept * n_types, p->values + i * n_types, n_types * sizeof *p->values);
        n_kept++;
    }
    /* Where memory ran out the rest stays as it is: less is summed, nothing is lost. */
    size_t n_rest = p->n_samples - i;
    for (size_t k = 0; ret_numbers && k < n_rest; k++)
        ret_numbers[i + k] = (uint32_t)(n_kept + k);
    if (n_rest) {
        memmove(p->samples + n_kept, p->samples + i, n_rest * sizeof *p->samples);
        memmove(p->values + n_kept * n_types, p->values + i * n_types,
                n_rest * n_types * sizeof *p->values);
    }
    p->n_samples = n_kept + n_rest;
    cairn_profile_forget_samples(p);
    cairn_table_done(&seen);
    return rc;
}

int cairn_profile_sum_equal(struct cairn_profile *p)
{
    return cairn_profile_sum_numbered(p, NULL);
}
