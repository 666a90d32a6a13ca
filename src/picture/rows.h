/* SPDX-License-Identifier: MIT */
/*
 * Rows: the samples of a profile as a page filters them, by label and by time. They stand in the
 * order of nodes, so that what ended in a frame or above it is one span of rows; equal ones are
 * summed.
 *
 *     node 7   set 2 (thread=main)    at 1200 us   1 sample, 10 ms
 *     node 7   set 3 (thread=pool)    at 5300 us   ...
 *     node 9
 */
#ifndef CAIRN_PICTURE_ROWS_H
#define CAIRN_PICTURE_ROWS_H

#include "picture/layout.h"

enum { CAIRN_ROW_NO_TIME = -1 };

/* Label sets without their times, each once. Set 0 is empty. */
struct cairn_row_sets {
    uint32_t *of_profile; /* by label set of the profile: ours */
    uint32_t *examples;   /* by our set: a label set of the profile that is it */
    size_t n, cap;
    bool has_times;
};

struct cairn_row {
    int64_t time_us; /* since first_ns; CAIRN_ROW_NO_TIME */
    uint32_t node, set, sample;
};

struct cairn_rows {
    struct cairn_row *rows;
    int64_t *values; /* n rows of n_types */
    size_t n, n_types;
    int64_t first_ns; /* the time of the first sample, or what it counts from */
};

/* CAIRN_E_NOMEM, each. */
int cairn_row_sets_build(const struct cairn_profile *profile, struct cairn_row_sets *ret_sets,
                         struct cairn_err *err);
void cairn_row_sets_done(struct cairn_row_sets *sets); /* all-zero is fine */

/* Of the samples [first, end). `first_ns` is a time before theirs from which they shall count, or
 * 0. */
int cairn_rows_build(const struct cairn_profile *profile, const struct cairn_layout *layout,
                     const struct cairn_row_sets *sets, size_t first, size_t end, int64_t first_ns,
                     struct cairn_rows *ret_rows, struct cairn_err *err);
void cairn_rows_done(struct cairn_rows *rows); /* all-zero is fine */

#endif /* CAIRN_PICTURE_ROWS_H */
