/* SPDX-License-Identifier: MIT */
/* Filters by time: stretches that an option names, and windows of a file. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "select/select.h"

/* Earlier than this in nanoseconds since 1970 (September 2001) nothing was recorded, and no machine
 * counts as many from its start. */
static const int64_t wall_min_ns = INT64_C(1000000000000000000);

/* What the samples say. */
struct clock {
    struct cairn_select_times times;
    size_t n; /* samples with a time */
    bool has_shift;
    int64_t shift_ns; /* of the recorder's clock from 1970 */
};

/* Of a sample or a marker. */
static bool time_of(const struct cairn_profile *p, size_t i, int64_t *ret_ns)
{
    *ret_ns = p->label_sets[*cairn_profile_set_of(p, i)].time_ns;
    return *ret_ns != 0;
}

static struct clock read_clock(const struct cairn_profile *p)
{
    struct clock clock = {0};
    struct cairn_select_times *times = &clock.times;
    const char *shift = cairn_profile_note(p, CAIRN_NOTE_CLOCK, 0);
    int64_t ns;
    for (size_t i = 0; i < p->n_samples + p->n_markers; i++) {
        if (!time_of(p, i, &ns))
            continue;
        times->first_ns = clock.n && times->first_ns < ns ? times->first_ns : ns;
        times->last_ns = clock.n && times->last_ns > ns ? times->last_ns : ns;
        clock.n++;
    }
    clock.has_shift = shift != NULL;
    clock.shift_ns = shift ? strtoll(shift, NULL, 10) : 0;
    times->is_wall = times->first_ns >= wall_min_ns;
    bool is_earlier = times->is_wall && p->time_ns > 0 && p->time_ns < times->first_ns;
    times->start_ns = is_earlier ? p->time_ns : times->first_ns;
    return clock;
}

struct stretch {
    int64_t low, high;
};

/* All of them in the profile's times. */
static int place_spans(const struct cairn_select_filter *filter, const struct clock *clock,
                       struct stretch *ret_stretches, struct cairn_err *err)
{
    int code = CAIRN_OK;
    for (size_t i = 0; i < filter->spans.n && code == CAIRN_OK; i++)
        code = cairn_select_span_place(&filter->spans.items[i], &clock->times,
                                       &ret_stretches[i].low, &ret_stretches[i].high, err);
    if (code < 0) {
        char name[32];
        strcpy(name, "--");
        strncat(name, cairn_select_name(filter), sizeof name - 3);
        return cairn_fail_in(err, code, name);
    }
    return CAIRN_OK;
}

static bool is_inside(const struct stretch *stretches, size_t n, int64_t ns)
{
    for (size_t i = 0; i < n; i++)
        if (ns >= stretches[i].low && ns < stretches[i].high)
            return true;
    return false;
}

int cairn_select_judge_time(const struct cairn_select_filter *filter, struct cairn_profile *p,
                            uint8_t *verdicts, struct cairn_err *err)
{
    struct stretch stretches[CAIRN_SELECT_SPANS_MAX];
    struct clock clock = read_clock(p);
    int64_t ns;
    int code = clock.n ? place_spans(filter, &clock, stretches, err) : CAIRN_OK;
    for (size_t i = 0; i < p->n_samples + p->n_markers && code == CAIRN_OK; i++)
        verdicts[i] = !time_of(p, i, &ns)                         ? CAIRN_SELECT_WITHOUT
                      : is_inside(stretches, filter->spans.n, ns) ? CAIRN_SELECT_MATCH
                                                                  : CAIRN_SELECT_NO_MATCH;
    return code;
}

static int compare_numbers(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* The stretches of one filter, inside of the recording. */
struct cover {
    struct stretch stretches[CAIRN_SELECT_SPANS_MAX];
    size_t n;
};

static int make_cover(const struct cairn_select_filter *filter, const struct clock *clock,
                      const struct stretch *all, struct cover *ret_cover, struct cairn_err *err)
{
    struct cover cover = {.n = filter->is_used ? filter->spans.n : 0};
    int code = cover.n ? place_spans(filter, clock, cover.stretches, err) : CAIRN_OK;
    for (size_t i = 0; i < cover.n; i++) {
        struct stretch *at = &cover.stretches[i];
        at->low = at->low > all->low ? at->low : all->low;
        at->high = at->high < all->high ? at->high : all->high;
    }
    *ret_cover = cover;
    return code;
}

static size_t add_ends(const struct cover *cover, int64_t *ends, size_t n)
{
    for (size_t i = 0; i < cover->n; i++) {
        ends[n++] = cover->stretches[i].low;
        ends[n++] = cover->stretches[i].high;
    }
    return n;
}

/* Between two ends that follow each other all is asked for, or nothing is. */
static int64_t sum_of(const struct stretch *all, const struct cover *in, const struct cover *out)
{
    int64_t ends[4 * CAIRN_SELECT_SPANS_MAX + 2], sum = 0;
    size_t n = add_ends(out, ends, add_ends(in, ends, 0));
    ends[n++] = all->low;
    ends[n++] = all->high;
    qsort(ends, n, sizeof *ends, compare_numbers);
    for (size_t i = 1; i < n; i++) {
        bool is_asked = !in->n || is_inside(in->stretches, in->n, ends[i - 1]);
        bool is_in_all = ends[i - 1] >= all->low && ends[i] <= all->high;
        if (is_in_all && is_asked && !is_inside(out->stretches, out->n, ends[i - 1]))
            sum += ends[i] - ends[i - 1];
    }
    return sum;
}

int cairn_select_set_duration(const struct cairn_select_filter *includes,
                              const struct cairn_select_filter *excludes, struct cairn_profile *p,
                              struct cairn_err *err)
{
    struct cover in, out;
    struct clock clock = read_clock(p);
    if (!clock.n || p->duration_ns <= 0)
        return CAIRN_OK;
    const struct stretch all = {clock.times.start_ns,
                                cairn_profile_add_clamped(clock.times.start_ns, p->duration_ns)};
    int code = make_cover(includes, &clock, &all, &in, err);
    if (code == CAIRN_OK)
        code = make_cover(excludes, &clock, &all, &out, err);
    if (code == CAIRN_OK)
        p->duration_ns = sum_of(&all, &in, &out);
    return code;
}

/* How much to take from a sample's time to get the file's. */
static int align_clocks(const struct cairn_select_windows *windows, const struct clock *clock,
                        int64_t *ret_shift_ns, struct cairn_err *err)
{
    *ret_shift_ns = !windows->is_realtime && clock->has_shift ? clock->shift_ns : 0;
    if (windows->is_realtime == clock->times.is_wall || *ret_shift_ns)
        return CAIRN_OK;
    cairn_fail(err, CAIRN_E_ARG, "--time-file: its times are of the clock %s, the samples' are not",
               windows->is_realtime ? "realtime" : "monotonic");
    cairn_hint(err, "CLOCK %s in the file says that its times are the other ones",
               windows->is_realtime ? "monotonic" : "realtime");
    return CAIRN_E_ARG;
}

struct windows_judge {
    const struct cairn_select_windows *windows;
    const struct cairn_profile *p;
    uint32_t keys[CAIRN_SELECT_N_SCOPES]; /* of labels; that of the global ones is not asked */
};

static enum cairn_select_verdict judge(const struct windows_judge *judge, size_t i, uint64_t ns)
{
    bool is_inside = true;
    for (int scope = 0; scope < CAIRN_SELECT_N_SCOPES; scope++) {
        uint32_t id = 0;
        if (!judge->windows->has[scope])
            continue;
        const struct cairn_profile_label *label =
            cairn_select_label(judge->p, *cairn_profile_set_of(judge->p, i), judge->keys[scope]);
        if (scope != CAIRN_SELECT_GLOBAL) {
            if (!label || label->text || label->number < 0 || label->number > UINT32_MAX)
                return CAIRN_SELECT_WITHOUT;
            id = (uint32_t)label->number;
        }
        is_inside &=
            cairn_select_windows_hold(judge->windows, (enum cairn_select_scope)scope, id, ns);
    }
    return is_inside ? CAIRN_SELECT_MATCH : CAIRN_SELECT_NO_MATCH;
}

int cairn_select_judge_windows(const struct cairn_select_filter *filter, struct cairn_profile *p,
                               uint8_t *verdicts, struct cairn_err *err)
{
    struct windows_judge by = {.windows = &filter->windows, .p = p};
    struct clock clock = read_clock(p);
    int64_t ns, shift_ns = 0;
    by.keys[CAIRN_SELECT_OF_PROCESS] = cairn_select_text(p, "pid");
    by.keys[CAIRN_SELECT_OF_THREAD] = cairn_select_text(p, "tid");
    if (by.keys[CAIRN_SELECT_OF_PROCESS] == UINT32_MAX ||
        by.keys[CAIRN_SELECT_OF_THREAD] == UINT32_MAX)
        return cairn_fail_memory(err);
    int code = clock.n ? align_clocks(by.windows, &clock, &shift_ns, err) : CAIRN_OK;
    for (size_t i = 0; i < p->n_samples + p->n_markers && code == CAIRN_OK; i++) {
        bool has_time = time_of(p, i, &ns) && !__builtin_sub_overflow(ns, shift_ns, &ns);
        verdicts[i] = has_time && ns >= 0 ? (uint8_t)judge(&by, i, (uint64_t)ns)
                                          : (uint8_t)CAIRN_SELECT_WITHOUT;
    }
    return code;
}
