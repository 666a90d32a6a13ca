/* SPDX-License-Identifier: MIT */
/*
 * Select: the filters of a command line or of a caller, and what they did.
 *
 *     text ─► list, pattern, name, span, window     parsed once
 *     profile ─► a verdict for each sample and filter ─► samples dropped ─► labels, stacks changed
 *
 * Pure: it opens no file.
 */
#ifndef CAIRN_SELECT_SELECT_H
#define CAIRN_SELECT_SELECT_H

#include <cairn/select.h>

#include "profile/profile.h"
#include "select/list.h"
#include "select/pattern.h"
#include "select/span.h"
#include "select/windows.h"

enum { CAIRN_SELECT_NAMES_MAX = 256 };

enum cairn_select_off_cpu {
    CAIRN_SELECT_OFF_CPU_WITH,
    CAIRN_SELECT_OFF_CPU_ONLY,
    CAIRN_SELECT_OFF_CPU_MIXED,
    CAIRN_SELECT_OFF_CPU_NONE
};

/* All filters of one kind; what its texts are depends on the kind. */
struct cairn_select_filter {
    enum cairn_select_kind kind;
    bool is_used, excludes;
    struct cairn_select_list list;
    struct cairn_select_patterns patterns;
    char **names;
    size_t n_names, cap_names;
    struct cairn_select_spans spans;
    struct cairn_select_windows windows;
    uint64_t run_max; /* of cut samples; 0: any number */
    enum cairn_select_off_cpu off_cpu;
    uint64_t n_before, n_samples, n_without; /* as in struct cairn_select_step */
    int64_t value;
};

enum { CAIRN_SELECT_N_FILTERS = CAIRN_SELECT_N_KINDS + CAIRN_SELECT_TIME + 1 };

struct cairn_select {
    struct cairn_select_filter filters[CAIRN_SELECT_N_FILTERS]; /* each before its excluding one */
    char *type, *unit; /* of the first profile's values; NULL: none yet */
};

/* "exclude-pid" */
const char *cairn_select_name(const struct cairn_select_filter *filter);

/* Of a sample. */
enum cairn_select_verdict {
    CAIRN_SELECT_WITHOUT, /* it does not say what the filter asks for */
    CAIRN_SELECT_NO_MATCH,
    CAIRN_SELECT_MATCH
};

/* Each fills `verdicts`, one for each sample, then one for each marker, and returns CAIRN_OK or a
 * failure. */
int cairn_select_judge_labels(const struct cairn_select_filter *filter, struct cairn_profile *p,
                              uint8_t *verdicts, struct cairn_err *err);
int cairn_select_judge_events(const struct cairn_select_filter *filter, struct cairn_profile *p,
                              uint8_t *verdicts, struct cairn_err *err);
int cairn_select_judge_time(const struct cairn_select_filter *filter, struct cairn_profile *p,
                            uint8_t *verdicts, struct cairn_err *err);
int cairn_select_judge_windows(const struct cairn_select_filter *filter, struct cairn_profile *p,
                               uint8_t *verdicts, struct cairn_err *err);
/* CAIRN_SELECT_MATCH of those to drop. */
int cairn_select_judge_cuts(const struct cairn_select_filter *filter, struct cairn_profile *p,
                            uint8_t *verdicts, struct cairn_err *err);

int cairn_select_judge_off_cpu(const struct cairn_select_filter *filter, struct cairn_profile *p,
                               uint8_t *verdicts, struct cairn_err *err);

/* Does the filter change samples, and drops none? */
static inline bool cairn_select_changes(const struct cairn_select_filter *filter)
{
    return filter->kind >= CAIRN_SELECT_MERGE_THREADS ||
           (filter->kind == CAIRN_SELECT_OFF_CPU && filter->off_cpu == CAIRN_SELECT_OFF_CPU_MIXED);
}

/* CAIRN_E_ARG: there is no such mode. */
int cairn_select_set_off_cpu(struct cairn_select_filter *filter, const char *text,
                             struct cairn_err *err);

/* What is left is shown first. */
void cairn_select_show_off_cpu(const struct cairn_select_filter *filter, struct cairn_profile *p);

/* Times on and off the CPU become one value, which is shown first. */
int cairn_select_mix_off_cpu(struct cairn_select_filter *filter, struct cairn_profile *p,
                             struct cairn_err *err);

/* The one event that is asked for is shown first. */
void cairn_select_show_event(const struct cairn_select_filter *filter, struct cairn_profile *p);

/* The profile lasted as long as what was asked for, of the two filters of times. `p` has all its
 * samples. */
int cairn_select_set_duration(const struct cairn_select_filter *includes,
                              const struct cairn_select_filter *excludes, struct cairn_profile *p,
                              struct cairn_err *err);

/* False where threads are to be changed, and no sample has what they are told apart by. */
bool cairn_select_can_change(const struct cairn_select_filter *filter, struct cairn_profile *p);

/* Each changes labels or stacks of the samples, and adds to `filter->n_samples` how many. */
int cairn_select_change_threads(struct cairn_select_filter *filter, struct cairn_profile *p,
                                struct cairn_err *err);
int cairn_select_change_frames(struct cairn_select_filter *filter, struct cairn_profile *p,
                               struct cairn_err *err);

/* The label of that key in a set, or NULL: as cairn_profile_find_label(), by the key's number. */
const struct cairn_profile_label *cairn_select_label(const struct cairn_profile *p, uint32_t set,
                                                     uint32_t key);

/* The number of a text; UINT32_MAX: memory is gone. */
uint32_t cairn_select_text(struct cairn_profile *p, const char *text);

/* CAIRN_E_ARG: "cpu: no sample says on which CPU it was", with the way to one that does. */
int cairn_select_fail_without(const struct cairn_select_filter *filter, struct cairn_err *err);

#endif /* CAIRN_SELECT_SELECT_H */
