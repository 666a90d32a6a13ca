/* SPDX-License-Identifier: MIT */
/* Filters by what labels say: number and name of process and thread, CPU. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "select/select.h"

uint32_t cairn_select_text(struct cairn_profile *p, const char *text)
{
    return cairn_profile_text(p, text, strlen(text));
}

const struct cairn_profile_label *cairn_select_label(const struct cairn_profile *p, uint32_t set,
                                                     uint32_t key)
{
    const struct cairn_profile_label_set *labels = &p->label_sets[set];
    for (uint32_t i = 0; i < labels->n; i++)
        if (p->labels[labels->first + i].key == key)
            return &p->labels[labels->first + i];
    return NULL;
}

int cairn_select_fail_without(const struct cairn_select_filter *filter, struct cairn_err *err)
{
    static const struct {
        const char *what, *hint;
    } rows[CAIRN_SELECT_N_KINDS] = {
        [CAIRN_SELECT_PID] = {"no sample says of which process it is", ""},
        [CAIRN_SELECT_TID] = {"no sample says of which thread it is", ""},
        [CAIRN_SELECT_PROCESS] = {"no sample has the name of a process",
                                  "text of perf script names threads alone: use --thread"},
        [CAIRN_SELECT_THREAD] = {"no sample has the name of a thread", ""},
        [CAIRN_SELECT_CPU] = {"no sample says on which CPU it was",
                              "perf record -a --sample-cpu keeps it"},
        [CAIRN_SELECT_TIME] = {"no sample says when it was",
                               "cairn record --timeline keeps times, and so does perf record"},
        [CAIRN_SELECT_MERGE_THREADS] = {"no sample has the name of a thread", ""},
    };
    enum cairn_select_kind kind = filter->kind;
    if (kind == CAIRN_SELECT_PER_CPU)
        kind = CAIRN_SELECT_CPU;
    if (kind == CAIRN_SELECT_TIME_FILE || kind == CAIRN_SELECT_CUT)
        kind = CAIRN_SELECT_TIME;
    cairn_fail(err, CAIRN_E_ARG, "--%s: %s", cairn_select_name(filter), rows[kind].what);
    if (*rows[kind].hint)
        cairn_hint(err, "%s", rows[kind].hint);
    return CAIRN_E_ARG;
}

static const char *key_of(enum cairn_select_kind kind)
{
    switch (kind) {
    case CAIRN_SELECT_PID:
        return "pid";
    case CAIRN_SELECT_TID:
        return "tid";
    case CAIRN_SELECT_PROCESS:
        return "process";
    case CAIRN_SELECT_THREAD:
        return "thread";
    default:
        return "cpu";
    }
}

/* Names are few and label sets may be as many as the samples: each name is asked once. */
static bool match_name(const struct cairn_select_filter *filter, const struct cairn_profile *p,
                       uint32_t text, uint8_t *by_text)
{
    if (!by_text[text])
        by_text[text] =
            cairn_select_patterns_find(&filter->patterns, cairn_strings_get(&p->strings, text))
                ? CAIRN_SELECT_MATCH
                : CAIRN_SELECT_NO_MATCH;
    return by_text[text] == CAIRN_SELECT_MATCH;
}

static bool match_number(const struct cairn_select_filter *filter, const struct cairn_profile *p,
                         const struct cairn_profile_label *label)
{
    char *end;
    if (!label->text)
        return cairn_select_list_has(&filter->list, label->number);
    const char *text = cairn_strings_get(&p->strings, label->text); /* some tools write "42" */
    long long number = strtoll(text, &end, 10);
    return *text && !*end && cairn_select_list_has(&filter->list, number);
}

static enum cairn_select_verdict judge_set(const struct cairn_select_filter *filter,
                                           const struct cairn_profile *p, uint32_t set,
                                           uint32_t key, uint8_t *by_text)
{
    const struct cairn_profile_label *label = cairn_select_label(p, set, key);
    bool is_named = filter->patterns.n > 0;
    if (!label || (is_named && !label->text))
        return CAIRN_SELECT_WITHOUT;
    bool is_match =
        is_named ? match_name(filter, p, label->text, by_text) : match_number(filter, p, label);
    return is_match ? CAIRN_SELECT_MATCH : CAIRN_SELECT_NO_MATCH;
}

int cairn_select_judge_labels(const struct cairn_select_filter *filter, struct cairn_profile *p,
                              uint8_t *verdicts, struct cairn_err *err)
{
    uint32_t key = cairn_select_text(p, key_of(filter->kind));
    uint8_t *by_text = cairn_alloc(p->strings.n + 1, sizeof *by_text);
    uint8_t *by_set = cairn_alloc(p->n_label_sets + 1, sizeof *by_set); /* plus 1; 0: not yet */
    bool ok = key != UINT32_MAX && by_text && by_set;
    for (size_t i = 0; ok && i < p->n_samples + p->n_markers; i++) {
        uint32_t set = *cairn_profile_set_of(p, i);
        if (!by_set[set])
            by_set[set] = (uint8_t)(judge_set(filter, p, set, key, by_text) + 1);
        verdicts[i] = (uint8_t)(by_set[set] - 1);
    }
    cairn_free(by_text);
    cairn_free(by_set);
    return ok ? CAIRN_OK : cairn_fail_memory(err);
}
