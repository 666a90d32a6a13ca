/* SPDX-License-Identifier: MIT */
/* Times off the CPU beside samples of what ran: one of the two, both, or their sum. */
#include "base/error.h"
#include "select/select.h"

static const char off_cpu[] = "off_cpu", wall[] = "wall", ns[] = "nanoseconds";

static const char *const modes[] = {
    [CAIRN_SELECT_OFF_CPU_WITH] = "with",
    [CAIRN_SELECT_OFF_CPU_ONLY] = "only",
    [CAIRN_SELECT_OFF_CPU_MIXED] = "mixed",
    [CAIRN_SELECT_OFF_CPU_NONE] = "none",
};
enum { N_MODES = sizeof modes / sizeof *modes };

int cairn_select_set_off_cpu(struct cairn_select_filter *filter, const char *text,
                             struct cairn_err *err)
{
    for (int mode = 0; mode < N_MODES; mode++)
        if (strcmp(text, modes[mode]) == 0) {
            filter->off_cpu = (enum cairn_select_off_cpu)mode;
            return CAIRN_OK;
        }
    return cairn_fail(err, CAIRN_E_ARG, "\"%.100s\", expected only, with, mixed or none", text);
}

static size_t find_type(const struct cairn_profile *p, const char *name)
{
    size_t at = 0;
    while (at < p->n_types && strcmp(p->public_types[at].type, name) != 0)
        at++;
    return at;
}

/* Time on the CPU: the value that is shown first, else the first clock. n_types: there is none. */
static size_t find_clock(const struct cairn_profile *p)
{
    const size_t first = p->n_types ? cairn_profile_default_value(p) : 0;
    for (size_t i = 0; i <= p->n_types && p->n_types; i++) {
        const size_t at = i ? i - 1 : first;
        if (strcmp(p->public_types[at].unit, ns) == 0 &&
            strcmp(p->public_types[at].type, off_cpu) != 0)
            return at;
    }
    return p->n_types;
}

static int fail_without(const struct cairn_select_filter *filter, struct cairn_err *err)
{
    cairn_fail(err, CAIRN_E_ARG, "--%s: there is no time off the CPU", cairn_select_name(filter));
    cairn_hint(err, "cairn record --off-cpu measures it, and so does perf record "
                    "-e sched:sched_switch --switch-events -g");
    return CAIRN_E_ARG;
}

int cairn_select_judge_off_cpu(const struct cairn_select_filter *filter, struct cairn_profile *p,
                               uint8_t *verdicts, struct cairn_err *err)
{
    const size_t type = find_type(p, off_cpu);
    const bool is_only = filter->off_cpu == CAIRN_SELECT_OFF_CPU_ONLY;
    if (type == p->n_types && is_only)
        return fail_without(filter, err);
    for (size_t i = 0; i < p->n_samples + p->n_markers; i++) {
        const bool waits =
            i < p->n_samples && type < p->n_types && p->values[i * p->n_types + type];
        verdicts[i] =
            i >= p->n_samples || waits == is_only ? CAIRN_SELECT_MATCH : CAIRN_SELECT_NO_MATCH;
    }
    return CAIRN_OK;
}

void cairn_select_show_off_cpu(const struct cairn_select_filter *filter, struct cairn_profile *p)
{
    const size_t type = find_type(p, off_cpu);
    const bool is_shown = type < p->n_types && cairn_profile_default_value(p) == type;
    if (type == p->n_types)
        return;
    if (filter->off_cpu == CAIRN_SELECT_OFF_CPU_ONLY)
        p->default_type = p->types[type].type;
    else if (filter->off_cpu == CAIRN_SELECT_OFF_CPU_NONE && is_shown)
        p->default_type = p->types[type ? 0 : p->n_types - 1].type;
}

/* A sample is on the CPU or off it. */
int cairn_select_mix_off_cpu(struct cairn_select_filter *filter, struct cairn_profile *p,
                             struct cairn_err *err)
{
    const size_t off = find_type(p, off_cpu), clock = find_clock(p);
    if (off == p->n_types)
        return fail_without(filter, err);
    if (clock == p->n_types) {
        cairn_fail(err, CAIRN_E_ARG, "--%s=mixed: no value is time on the CPU, in nanoseconds",
                   cairn_select_name(filter));
        cairn_hint(err, "perf record -e cpu-clock -e sched:sched_switch --switch-events -g "
                        "records both");
        return CAIRN_E_ARG;
    }
    const uint32_t name = cairn_profile_text(p, wall, sizeof wall - 1);
    if (name == UINT32_MAX)
        return cairn_fail_memory(err);
    for (size_t i = 0; i < p->n_samples; i++) {
        int64_t *values = p->values + i * p->n_types;
        filter->n_samples += values[off] ? cairn_profile_weight(p, i) : 0;
        values[off] = cairn_profile_add_clamped(values[off], values[clock]);
    }
    p->types[off].type = p->default_type = name;
    p->public_types[off].type = cairn_strings_get(&p->strings, name);
    return CAIRN_OK;
}
