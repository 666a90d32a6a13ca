/* SPDX-License-Identifier: MIT */
/*
 * Select: which samples of a profile count, and how their threads and stacks are seen. The filters
 * are parsed once and applied to any number of profiles.
 *
 * Filters of one kind are alternatives: a sample stays that one of them matches. Filters of
 * different kinds must all match. An excluding filter drops what it matches.
 *
 * Threads: one object may be used by one thread at a time.
 */
#ifndef CAIRN_SELECT_H
#define CAIRN_SELECT_H

#include <cairn/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cairn_select;

/* In the order in which they are applied. RE is a POSIX extended regular expression that matches
 * anywhere in a name (in its first 4096 bytes); LIST is numbers and spans of them: "1,4-7". */
enum cairn_select_kind {
    CAIRN_SELECT_PID,       /* LIST */
    CAIRN_SELECT_TID,       /* LIST */
    CAIRN_SELECT_PROCESS,   /* RE: the name of the process */
    CAIRN_SELECT_THREAD,    /* RE: the name of the thread */
    CAIRN_SELECT_CPU,       /* LIST */
    CAIRN_SELECT_EVENT,     /* name of a type of values, or text of the label "event" */
    CAIRN_SELECT_TIME,      /* "A-B": seconds from the start of the profile, or clock times */
    CAIRN_SELECT_TIME_FILE, /* the text of a filter file of simpleperf; cannot exclude */
    CAIRN_SELECT_CUT, /* "": drops cut stacks; "3": runs of at most 3 of a thread's; likewise */
    /* "only", "with", "mixed" or "none": samples that are times off the CPU alone, both (as without
     * the filter), both with their sum as the value "wall", or the others. "mixed" drops none. */
    CAIRN_SELECT_OFF_CPU,
    /* The rest changes samples and drops none. */
    CAIRN_SELECT_MERGE_THREADS, /* RE: the threads of a process that it matches become one */
    CAIRN_SELECT_PER_CPU,       /* "": threads become the CPUs that they ran on */
    CAIRN_SELECT_HIDE,          /* RE: frames of such functions leave the stacks */
    CAIRN_SELECT_BY_FUNCTION,   /* "": frames without addresses and lines */
    CAIRN_SELECT_N_KINDS
};

CAIRN_API int cairn_select_new(struct cairn_select **ret_select, struct cairn_err *err);
CAIRN_API void cairn_select_free(struct cairn_select *select); /* accepts NULL */

/* One more filter; `excludes` goes with the kinds up to CAIRN_SELECT_TIME. CAIRN_E_ARG names the
 * column, or the line of a file, that is wrong; CAIRN_E_LIMIT: too long. */
CAIRN_API int cairn_select_add(struct cairn_select *select, enum cairn_select_kind kind,
                               int excludes, const char *text, struct cairn_err *err);

/* What a profile must hold beyond the usual: bits. All but the last are those of
 * cairn_import_opts.keeps. */
enum cairn_select_need {
    CAIRN_SELECT_NEEDS_TIMES = 1,
    CAIRN_SELECT_NEEDS_CPUS = 2,
    CAIRN_SELECT_NEEDS_PROCESSES = 4,
    CAIRN_SELECT_NEEDS_NAMES = 8 /* of functions */
};
CAIRN_API unsigned cairn_select_needs(const struct cairn_select *select);

/* Drops and changes samples. Events that are kept one by one are dropped and changed by the same
 * rules, but for CAIRN_SELECT_CUT; no step counts them. `value` is the type by which dropped values
 * are summed; NULL: the one to show first, which is the event where exactly one was asked for.
 * CAIRN_E_ARG: no sample of the profile says what a filter asks for. */
CAIRN_API int cairn_select_apply(struct cairn_select *select, struct cairn_profile *profile,
                                 const char *value, struct cairn_err *err);

/* What one kind of filters did in all profiles so far. Set .size. */
struct cairn_select_step {
    size_t size;
    const char *name;   /* "exclude-pid" */
    int changes;        /* nonzero: n_samples were changed, else dropped */
    uint64_t n_before;  /* samples that it was asked about */
    uint64_t n_samples; /* dropped or changed of those */
    uint64_t n_without; /* dropped because they do not say what was asked for */
    int64_t value;      /* sum of the dropped values ... */
    const char *type;   /* ... of this type; "": the profile has no values. Borrowed from
                              `select` */
    const char *unit;
};
/* The steps in their order: CAIRN_E_ARG behind the last one. */
CAIRN_API int cairn_select_step(const struct cairn_select *select, size_t number,
                                struct cairn_select_step *ret_step);

/* What the steps count begins anew. */
CAIRN_API void cairn_select_reset(struct cairn_select *select);

#ifdef __cplusplus
}
#endif
#endif /* CAIRN_SELECT_H */
