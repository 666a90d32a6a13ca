/* SPDX-License-Identifier: MIT */
#include "select/select.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"

static const struct kind {
    const char *name, *exclude_name; /* NULL: it cannot exclude */
    unsigned needs;
} kinds[CAIRN_SELECT_N_KINDS] = {
    [CAIRN_SELECT_PID] = {"pid", "exclude-pid", CAIRN_SELECT_NEEDS_PROCESSES},
    [CAIRN_SELECT_TID] = {"tid", "exclude-tid", 0},
    [CAIRN_SELECT_PROCESS] = {"process", "exclude-process", CAIRN_SELECT_NEEDS_PROCESSES},
    [CAIRN_SELECT_THREAD] = {"thread", "exclude-thread", 0},
    [CAIRN_SELECT_CPU] = {"cpu", "exclude-cpu", CAIRN_SELECT_NEEDS_CPUS},
    [CAIRN_SELECT_EVENT] = {"event", "exclude-event", 0},
    [CAIRN_SELECT_TIME] = {"time", "exclude-time", CAIRN_SELECT_NEEDS_TIMES},
    [CAIRN_SELECT_TIME_FILE] = {"time-file", NULL, CAIRN_SELECT_NEEDS_TIMES},
    [CAIRN_SELECT_CUT] = {"drop-cut", NULL, 0}, /* times, where runs are asked for */
    [CAIRN_SELECT_OFF_CPU] = {"off-cpu", NULL, 0},
    [CAIRN_SELECT_MERGE_THREADS] = {"merge-threads", NULL, 0},
    [CAIRN_SELECT_PER_CPU] = {"per-cpu", NULL, CAIRN_SELECT_NEEDS_CPUS},
    [CAIRN_SELECT_HIDE] = {"hide", NULL, CAIRN_SELECT_NEEDS_NAMES},
    [CAIRN_SELECT_BY_FUNCTION] = {"by-function", NULL, CAIRN_SELECT_NEEDS_NAMES},
};

const char *cairn_select_name(const struct cairn_select_filter *filter)
{
    return filter->excludes ? kinds[filter->kind].exclude_name : kinds[filter->kind].name;
}

int cairn_select_new(struct cairn_select **ret_select, struct cairn_err *err)
{
    struct cairn_select *select = cairn_alloc(1, sizeof *select);
    size_t n = 0;
    if (!select)
        return cairn_fail_memory(err);
    for (int kind = 0; kind < CAIRN_SELECT_N_KINDS; kind++)
        for (int excludes = 0; excludes <= (kind <= CAIRN_SELECT_TIME); excludes++)
            select->filters[n++] = (struct cairn_select_filter){
                .kind = (enum cairn_select_kind)kind, .excludes = excludes};
    *ret_select = select;
    return CAIRN_OK;
}

void cairn_select_free(struct cairn_select *select)
{
    if (!select)
        return;
    for (size_t i = 0; i < CAIRN_SELECT_N_FILTERS; i++) {
        struct cairn_select_filter *filter = &select->filters[i];
        cairn_select_list_done(&filter->list);
        cairn_select_patterns_done(&filter->patterns);
        cairn_select_spans_done(&filter->spans);
        cairn_select_windows_done(&filter->windows);
        for (size_t k = 0; k < filter->n_names; k++)
            cairn_free(filter->names[k]);
        cairn_free(filter->names);
    }
    cairn_free(select->type);
    cairn_free(select->unit);
    cairn_free(select);
}

static int add_name(struct cairn_select_filter *filter, const char *text, struct cairn_err *err)
{
    if (!*text)
        return cairn_fail(err, CAIRN_E_ARG, "the name is empty");
    if (filter->n_names == CAIRN_SELECT_NAMES_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, "more than %d names", CAIRN_SELECT_NAMES_MAX);
    if (cairn_grow((void **)&filter->names, &filter->cap_names, filter->n_names + 1,
                   sizeof *filter->names) < 0)
        return cairn_fail_memory(err);
    char *name = cairn_strdup(text);
    if (!name)
        return cairn_fail_memory(err);
    filter->names[filter->n_names++] = name;
    return CAIRN_OK;
}

static int set_run(struct cairn_select_filter *filter, const char *text, struct cairn_err *err)
{
    char *end;
    uint64_t n = strtoull(text, &end, 10);
    bool is_number = text[0] >= '1' && text[0] <= '9' && !*end && n < UINT32_MAX;
    if (*text && !is_number)
        return cairn_fail(err, CAIRN_E_ARG, "\"%.100s\", expected a number of samples, 1 or more",
                          text);
    filter->run_max = *text ? n : 0;
    return CAIRN_OK;
}

static int set_windows(struct cairn_select_filter *filter, const char *text, struct cairn_err *err)
{
    if (filter->is_used)
        return cairn_fail(err, CAIRN_E_ARG, "there can be one file");
    return cairn_select_windows_parse(&filter->windows, text, err);
}

static int add_text(struct cairn_select_filter *filter, const char *text, struct cairn_err *err)
{
    switch (filter->kind) {
    case CAIRN_SELECT_PID:
    case CAIRN_SELECT_TID:
    case CAIRN_SELECT_CPU:
        return cairn_select_list_add(&filter->list, text, err);
    case CAIRN_SELECT_PROCESS:
    case CAIRN_SELECT_THREAD:
    case CAIRN_SELECT_MERGE_THREADS:
    case CAIRN_SELECT_HIDE:
        return cairn_select_patterns_add(&filter->patterns, text, err);
    case CAIRN_SELECT_EVENT:
        return add_name(filter, text, err);
    case CAIRN_SELECT_TIME:
        return cairn_select_spans_add(&filter->spans, text, err);
    case CAIRN_SELECT_TIME_FILE:
        return set_windows(filter, text, err);
    case CAIRN_SELECT_CUT:
        return set_run(filter, text, err);
    case CAIRN_SELECT_OFF_CPU:
        return cairn_select_set_off_cpu(filter, text, err);
    default: /* it takes no text */
        return CAIRN_OK;
    }
}

int cairn_select_add(struct cairn_select *select, enum cairn_select_kind kind, int excludes,
                     const char *text, struct cairn_err *err)
{
    if ((unsigned)kind >= CAIRN_SELECT_N_KINDS || (excludes && !kinds[kind].exclude_name))
        return cairn_fail(err, CAIRN_E_ARG,
                          "there is no such kind of filter, or it cannot exclude");
    struct cairn_select_filter *filter = select->filters;
    while (filter->kind != kind || filter->excludes != !!excludes)
        filter++;
    int code = add_text(filter, text ? text : "", err);
    filter->is_used |= code == CAIRN_OK;
    if (kind == CAIRN_SELECT_OFF_CPU)
        filter->is_used = filter->off_cpu != CAIRN_SELECT_OFF_CPU_WITH;
    return code;
}

unsigned cairn_select_needs(const struct cairn_select *select)
{
    unsigned needs = 0;
    for (size_t i = 0; i < CAIRN_SELECT_N_FILTERS; i++) {
        const struct cairn_select_filter *filter = &select->filters[i];
        if (filter->is_used)
            needs |= kinds[filter->kind].needs | (filter->run_max ? CAIRN_SELECT_NEEDS_TIMES : 0);
    }
    return needs;
}

int cairn_select_step(const struct cairn_select *select, size_t number,
                      struct cairn_select_step *ret_step)
{
    size_t i = 0;
    for (; i < CAIRN_SELECT_N_FILTERS; i++)
        if (select->filters[i].is_used && number-- == 0)
            break;
    if (i == CAIRN_SELECT_N_FILTERS)
        return CAIRN_E_ARG;
    const struct cairn_select_filter *filter = &select->filters[i];
    const struct cairn_select_step step = {
        .size = ret_step->size,
        .name = cairn_select_name(filter),
        .changes = cairn_select_changes(filter),
        .n_before = filter->n_before,
        .n_samples = filter->n_samples,
        .n_without = filter->n_without,
        .value = filter->value,
        .type = select->type ? select->type : "",
        .unit = select->unit ? select->unit : "",
    };
    memcpy(ret_step, &step, step.size < sizeof step ? step.size : sizeof step);
    return CAIRN_OK;
}

void cairn_select_reset(struct cairn_select *select)
{
    for (size_t i = 0; i < CAIRN_SELECT_N_FILTERS; i++) {
        struct cairn_select_filter *filter = &select->filters[i];
        filter->n_before = filter->n_samples = filter->n_without = 0;
        filter->value = 0;
    }
}
