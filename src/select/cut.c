/* SPDX-License-Identifier: MIT */
/* Cut stacks: all of them, or only where few of a thread's follow each other, as they tear holes
 * into a picture over time and say little of where the time went. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "select/select.h"

struct cut_sample {
    int64_t pid, tid, time_ns;
    uint32_t sample;
    bool is_cut;
};

static bool is_cut(const struct cairn_profile *p, size_t sample)
{
    return cairn_profile_cut_short(p, p->samples[sample].labels) != 0;
}

static int64_t number_of(const struct cairn_profile *p, size_t sample, const char *key)
{
    const struct cairn_profile_label *label =
        cairn_profile_find_label(p, p->samples[sample].labels, key);
    return label ? label->number : -1;
}

static int compare(const void *a, const void *b)
{
    const struct cut_sample *x = a, *y = b;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return x->sample < y->sample ? -1 : x->sample > y->sample;
}

static bool is_same_thread(const struct cut_sample *a, const struct cut_sample *b)
{
    return a->pid == b->pid && a->tid == b->tid;
}

/* Runs of cut samples of one thread, sorted by time, that are short enough. */
static void mark_runs(const struct cairn_profile *p, const struct cut_sample *samples,
                      uint64_t run_max, uint8_t *verdicts)
{
    for (size_t i = 0, end; i < p->n_samples; i = end) {
        uint64_t n = 0;
        for (end = i; end < p->n_samples && samples[end].is_cut &&
                      is_same_thread(&samples[i], &samples[end]);
             end++)
            n += cairn_profile_weight(p, samples[end].sample);
        for (size_t k = i; k < end && n <= run_max; k++)
            verdicts[samples[k].sample] = CAIRN_SELECT_MATCH;
        end += end == i;
    }
}

static int judge_runs(const struct cairn_select_filter *filter, const struct cairn_profile *p,
                      uint8_t *verdicts, struct cairn_err *err)
{
    struct cut_sample *samples = cairn_alloc(p->n_samples + 1, sizeof *samples);
    bool has_times = true;
    if (!samples)
        return cairn_fail_memory(err);
    for (size_t i = 0; i < p->n_samples; i++) {
        samples[i] = (struct cut_sample){.pid = number_of(p, i, "pid"),
                                         .tid = number_of(p, i, "tid"),
                                         .time_ns = cairn_profile_time_of(p, i),
                                         .sample = (uint32_t)i,
                                         .is_cut = is_cut(p, i)};
        has_times &= samples[i].time_ns != 0;
    }
    if (has_times) {
        qsort(samples, p->n_samples, sizeof *samples, compare);
        mark_runs(p, samples, filter->run_max, verdicts);
    }
    cairn_free(samples);
    return has_times ? CAIRN_OK : cairn_select_fail_without(filter, err);
}

int cairn_select_judge_cuts(const struct cairn_select_filter *filter, struct cairn_profile *p,
                            uint8_t *verdicts, struct cairn_err *err)
{
    struct cairn_profile_stats stats = {.size = sizeof stats};
    cairn_profile_stats(p, &stats);
    if (!stats.n_judged && stats.n_samples)
        cairn_log(CAIRN_LOG_WARNING, "--drop-cut: the profile says of no stack whether it is cut");
    for (size_t i = 0; i < p->n_samples + p->n_markers; i++)
        verdicts[i] = CAIRN_SELECT_NO_MATCH;
    if (filter->run_max)
        return judge_runs(filter, p, verdicts, err);
    for (size_t i = 0; i < p->n_samples; i++)
        if (is_cut(p, i))
            verdicts[i] = CAIRN_SELECT_MATCH;
    return CAIRN_OK;
}
