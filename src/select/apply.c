/* SPDX-License-Identifier: MIT */
/* All filters on one profile: each is asked about all samples, and what one dropped the next does
 * not count. */
#include "base/alloc.h"
#include "base/error.h"
#include "select/select.h"

struct applying {
    struct cairn_select *select;
    struct cairn_profile *p;
    size_t value; /* number of a type */
    uint8_t *verdicts;
    bool *dropped;
};

static int judge(const struct applying *a, const struct cairn_select_filter *filter,
                 struct cairn_err *err)
{
    switch (filter->kind) {
    case CAIRN_SELECT_EVENT:
        return cairn_select_judge_events(filter, a->p, a->verdicts, err);
    case CAIRN_SELECT_TIME:
        return cairn_select_judge_time(filter, a->p, a->verdicts, err);
    case CAIRN_SELECT_TIME_FILE:
        return cairn_select_judge_windows(filter, a->p, a->verdicts, err);
    case CAIRN_SELECT_CUT:
        return cairn_select_judge_cuts(filter, a->p, a->verdicts, err);
    case CAIRN_SELECT_OFF_CPU:
        return cairn_select_judge_off_cpu(filter, a->p, a->verdicts, err);
    default:
        return cairn_select_judge_labels(filter, a->p, a->verdicts, err);
    }
}

/* Samples, and markers behind them. */
static size_t n_all(const struct cairn_profile *p)
{
    return p->n_samples + p->n_markers;
}

/* Markers are asked only where there are no samples. */
static bool all_without(const struct applying *a)
{
    for (size_t i = 0; i < (a->p->n_samples ? a->p->n_samples : a->p->n_markers); i++)
        if (a->verdicts[i] != CAIRN_SELECT_WITHOUT)
            return false;
    return true;
}

static void count_dropped(const struct applying *a, struct cairn_select_filter *filter, size_t i)
{
    filter->n_samples += cairn_profile_weight(a->p, i);
    if (a->verdicts[i] == CAIRN_SELECT_WITHOUT)
        filter->n_without += cairn_profile_weight(a->p, i);
    if (a->p->n_types)
        filter->value =
            cairn_profile_add_clamped(filter->value, a->p->values[i * a->p->n_types + a->value]);
}

static int drop(const struct applying *a, struct cairn_select_filter *filter, struct cairn_err *err)
{
    bool excludes = filter->excludes || filter->kind == CAIRN_SELECT_CUT;
    int code = judge(a, filter, err);
    if (code == CAIRN_OK && all_without(a))
        code = cairn_select_fail_without(filter, err);
    for (size_t i = 0; i < a->p->n_samples && code == CAIRN_OK; i++) {
        if (a->dropped[i])
            continue;
        filter->n_before += cairn_profile_weight(a->p, i);
        if (excludes != (a->verdicts[i] == CAIRN_SELECT_MATCH))
            continue;
        a->dropped[i] = true;
        count_dropped(a, filter, i);
    }
    for (size_t i = a->p->n_samples; i < n_all(a->p) && code == CAIRN_OK; i++)
        a->dropped[i] |= excludes == (a->verdicts[i] == CAIRN_SELECT_MATCH);
    return code;
}

static int change(const struct applying *a, struct cairn_select_filter *filter,
                  struct cairn_err *err)
{
    for (size_t i = 0; i < a->p->n_samples; i++)
        filter->n_before += cairn_profile_weight(a->p, i);
    if (filter->kind == CAIRN_SELECT_OFF_CPU)
        return cairn_select_mix_off_cpu(filter, a->p, err);
    return filter->kind <= CAIRN_SELECT_PER_CPU ? cairn_select_change_threads(filter, a->p, err)
                                                : cairn_select_change_frames(filter, a->p, err);
}

/* Samples are dropped once, when all filters were asked: what no sample says leaves the profile as
 * it was. */
static int apply(struct applying *a, struct cairn_err *err)
{
    struct cairn_select_filter *filters = a->select->filters;
    int code = CAIRN_OK;
    for (size_t i = 0; i < CAIRN_SELECT_N_FILTERS; i++)
        if (filters[i].is_used && !cairn_select_can_change(&filters[i], a->p))
            return cairn_select_fail_without(&filters[i], err);
    for (size_t i = 0; i < CAIRN_SELECT_N_FILTERS && code == CAIRN_OK; i++)
        if (filters[i].is_used && !cairn_select_changes(&filters[i]))
            code = drop(a, &filters[i], err);
    for (size_t i = 0; i < CAIRN_SELECT_N_FILTERS && code == CAIRN_OK; i++)
        if (filters[i].kind == CAIRN_SELECT_TIME && !filters[i].excludes &&
            (filters[i].is_used || filters[i + 1].is_used))
            code = cairn_select_set_duration(&filters[i], &filters[i + 1], a->p, err);
    if (code == CAIRN_OK)
        cairn_profile_drop_samples(a->p, a->dropped);
    for (size_t i = 0; i < CAIRN_SELECT_N_FILTERS && code == CAIRN_OK; i++)
        if (filters[i].is_used && cairn_select_changes(&filters[i]))
            code = change(a, &filters[i], err);
    return code;
}

static void show_event(struct cairn_select *select, struct cairn_profile *p)
{
    for (size_t i = 0; i < CAIRN_SELECT_N_FILTERS; i++)
        if (select->filters[i].kind == CAIRN_SELECT_EVENT && !select->filters[i].excludes)
            cairn_select_show_event(&select->filters[i], p);
    for (size_t i = 0; i < CAIRN_SELECT_N_FILTERS; i++)
        if (select->filters[i].kind == CAIRN_SELECT_OFF_CPU && select->filters[i].is_used)
            cairn_select_show_off_cpu(&select->filters[i], p);
}

/* The number of the type; of another profile the first one of a name that it lacks. */
static size_t find_value(const struct cairn_profile *p, const char *value)
{
    for (size_t i = 0; value && i < p->n_types; i++)
        if (strcmp(cairn_strings_get(&p->strings, p->types[i].type), value) == 0)
            return i;
    return p->n_types ? cairn_profile_default_value(p) : 0;
}

static bool name_value(struct cairn_select *select, const struct cairn_profile *p, size_t value)
{
    if (select->type || !p->n_types)
        return true;
    select->type = cairn_strdup(cairn_strings_get(&p->strings, p->types[value].type));
    select->unit = cairn_strdup(cairn_strings_get(&p->strings, p->types[value].unit));
    return select->type && select->unit;
}

int cairn_select_apply(struct cairn_select *select, struct cairn_profile *p, const char *value,
                       struct cairn_err *err)
{
    struct applying a = {.select = select, .p = p};
    bool is_used = false;
    for (size_t i = 0; i < CAIRN_SELECT_N_FILTERS; i++)
        is_used |= select->filters[i].is_used;
    if (!is_used || !n_all(p))
        return CAIRN_OK;
    const uint32_t default_type = p->default_type;
    show_event(select, p);
    a.value = find_value(p, value);
    a.verdicts = cairn_alloc(n_all(p), sizeof *a.verdicts);
    a.dropped = cairn_alloc(n_all(p), sizeof *a.dropped);
    int code = a.verdicts && a.dropped && name_value(select, p, a.value) ? apply(&a, err)
                                                                         : cairn_fail_memory(err);
    if (code < 0)
        p->default_type = default_type;
    cairn_free(a.verdicts);
    cairn_free(a.dropped);
    return code;
}
