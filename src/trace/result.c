/* SPDX-License-Identifier: MIT */
/* Result: what a trace that has ended gives: numbers, sums, a profile. */
#include <string.h>

#include "base/error.h"
#include "sample/labels.h"
#include "trace/trace_state.h"

void cairn_trace_stats(const struct cairn_trace *t, struct cairn_trace_stats *ret_stats)
{
    const size_t size = ret_stats->size < sizeof t->stats ? ret_stats->size : sizeof t->stats;
    struct cairn_trace_stats stats = t->stats;
    if (!t->is_measured)
        cairn_trace_measure(t, &stats);
    stats.size = ret_stats->size;
    memcpy(ret_stats, &stats, size);
}

size_t cairn_trace_frames(struct cairn_trace *t, uint32_t stack, uint32_t *ret_frames, size_t n,
                          const struct cairn_profile **ret_profile)
{
    const struct cairn_profile *raw = t->sampler->collect.profile;
    const int *fds;
    size_t count = 0;
    *ret_profile = NULL;
    if (!stack || stack >= raw->n_stacks || cairn_trace_names_add(&t->frames, raw, stack) < 0)
        return 0;
    const size_t n_fds = cairn_sampler_files(t->sampler, &fds);
    (void)cairn_trace_names_name(&t->frames, fds, n_fds, NULL);
    *ret_profile = t->frames.named;
    for (; stack; stack = raw->stacks[stack].parent, count++)
        if (count < n &&
            !cairn_table_find(&t->frames.by_frame, raw->stacks[stack].frame, &ret_frames[count]))
            return 0;
    return count;
}

size_t cairn_trace_sum_rows(const struct cairn_trace *t)
{
    return t->sums.n;
}

int cairn_trace_sum(const struct cairn_trace *t, size_t index, struct cairn_trace_sum *ret_sum)
{
    if (index >= t->sums.n)
        return CAIRN_E_ARG;
    const struct cairn_sum_row *row = &t->sums.rows[index];
    const struct cairn_trace_sum sum = {
        .size = ret_sum->size,
        .kind = cairn_spec_kind(&t->spec, row->row),
        .name = cairn_spec_name(&t->spec, row->row),
        .is_compat = row->row >= CAIRN_TRACE_NUMBERS && row->row < CAIRN_TRACE_CALLS,
        .stack = row->of.stack,
        .cut = cairn_strings_get(&t->sampler->collect.profile->strings, row->of.cut),
        .pid = row->of.pid,
        .tid = row->of.tid,
        .n = row->sum.n,
        .n_errors = row->sum.n_errors,
        .n_gone = row->sum.n_lost_returns,
        .ns = row->sum.ns,
        .min_ns = row->sum.min_ns,
        .max_ns = row->sum.max_ns,
        .bytes = row->sum.bytes};
    memcpy(ret_sum, &sum, ret_sum->size < sizeof sum ? ret_sum->size : sizeof sum);
    return CAIRN_OK;
}

static int add_samples(struct cairn_trace *t, struct cairn_err *err)
{
    struct cairn_collect *collect = &t->sampler->collect;
    for (size_t i = 0; i < t->sums.n; i++) {
        const struct cairn_sum_row *row = &t->sums.rows[i];
        const char *name = cairn_spec_name(&t->spec, row->row);
        const bool is_call = row->row < CAIRN_TRACE_CALLS;
        const struct cairn_collect_more more = {
            .n = row->sum.n, .syscall = is_call ? name : NULL, .event = is_call ? NULL : name};
        const int64_t values[] = {(int64_t)row->sum.n, (int64_t)row->sum.ns,
                                  (int64_t)row->sum.bytes};
        uint32_t labels = cairn_collect_labels(collect, &row->of, &more);
        if (labels == UINT32_MAX ||
            cairn_profile_sum_sample(collect->profile, row->of.stack, labels, values) == UINT32_MAX)
            return cairn_fail_memory(err);
    }
    return CAIRN_OK;
}

int cairn_trace_take_profile(struct cairn_trace *t, int named, struct cairn_profile **ret_profile,
                             struct cairn_err *err)
{
    struct cairn_resolver *resolver;
    const int *fds;
    struct cairn_profile *profile = t->sampler->collect.profile;
    int code = add_samples(t, err);
    if (code < 0)
        return code;
    if (named) {
        const size_t n_fds = cairn_sampler_files(t->sampler, &fds);
        code = cairn_trace_names_open_resolver(&t->frames, fds, n_fds, &resolver, err);
        if (code < 0)
            return code;
        code = cairn_resolve_profile(resolver, profile, err);
        cairn_resolver_free(resolver);
    }
    if (code < 0)
        return code;
    cairn_profile_drop_index(profile);
    t->sampler->collect.profile = NULL;
    t->sums.n = 0;
    *ret_profile = profile;
    return CAIRN_OK;
}
