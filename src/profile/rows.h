/* SPDX-License-Identifier: MIT */
/*
 * Rows: what tables and trees are made of. A row is a function: all addresses of it are one row, an
 * inlined call is a row too.
 *
 *     frame 0x4711: get() inlined into find() inlined into main()   ─►   get, find, main
 */
#ifndef CAIRN_PROFILE_ROWS_H
#define CAIRN_PROFILE_ROWS_H

#include "profile/profile.h"

struct cairn_profile_rows {
    struct cairn_strings texts;
    struct cairn_top_row *items; /* self and total by cairn_profile_rows_count() */
    bool *used;                  /* by row: is it on a stack that has samples? */
    size_t n, cap;
    uint32_t *first;     /* n_frames + 1: where a frame's rows begin in `of_frames` */
    uint32_t *of_frames; /* innermost first; at least one for each frame but number 0 */
};

/* What the samples of each stack come to, in one type of values. */
struct cairn_profile_sums {
    int64_t *by_stack;
    bool *used; /* by stack: has it samples of its own? */
    int64_t sum;
};

/* Of the last frame of a stack, which is not the empty one. */
static inline const uint32_t *cairn_profile_rows_of(const struct cairn_profile_rows *rows,
                                                    const struct cairn_profile *p, uint32_t stack)
{
    return rows->of_frames + rows->first[p->stacks[stack].frame];
}

static inline uint32_t cairn_profile_n_rows_of(const struct cairn_profile_rows *rows,
                                               const struct cairn_profile *p, uint32_t stack)
{
    uint32_t frame = p->stacks[stack].frame;
    return rows->first[frame + 1] - rows->first[frame];
}

/* False where memory is gone. */
bool cairn_profile_rows_make(const struct cairn_profile *p, struct cairn_profile_rows *ret_rows);
void cairn_profile_rows_done(struct cairn_profile_rows *rows); /* all-zero is fine */

bool cairn_profile_sums_make(const struct cairn_profile *p, size_t value_type,
                             struct cairn_profile_sums *ret_sums);
void cairn_profile_sums_done(struct cairn_profile_sums *sums); /* all-zero is fine */

/* Fills self, total and `used`. A row that is several times on one stack counts once in total.
 * False where memory is gone. */
bool cairn_profile_rows_count(struct cairn_profile_rows *rows, const struct cairn_profile *p,
                              const struct cairn_profile_sums *sums);

/* By name, then module, then file: 0 only for the same row. */
int cairn_profile_compare_names(const struct cairn_top_row *a, const struct cairn_top_row *b);

#endif /* CAIRN_PROFILE_ROWS_H */
