/* SPDX-License-Identifier: MIT */
/*
 * Diff: two profiles of the same thing, function by function and stack by
 * stack.
 *
 * A function is the same in both where name, file and module are; of what is
 * left, where only one on each side has that name in a file of that name, and
 * last, where only one on each side has that name: two builds lie in different
 * folders, and a library has a version in its name. What either side counts of
 * a function is what cairn_profile_top() says of that side.
 *
 * Threads: one diff may be used by many at a time, for it does not change.
 */
#ifndef CAIRN_DIFF_H
#define CAIRN_DIFF_H

#include <stddef.h>
#include <stdint.h>

#include <cairn/api.h>
#include <cairn/error.h>
#include <cairn/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Set .size to sizeof(struct cairn_diff_opts); zero means the default. */
struct cairn_diff_opts {
    size_t size;
    size_t old_value_type, new_value_type; /* numbers of values that mean the same */
    int absolute; /* changes are in the values' unit; else in percent of the sum
                     of each side, so that two runs of different length can be
                     compared */
    int by_total; /* functions stand by what changed with all that they called,
                     and not by self */
};

struct cairn_diff_row {
    const char *function; /* never NULL, as in a cairn_top_row; of the new side
                             where it is there */
    const char *file, *module;
    int in_old, in_new; /* is it on a stack of that side? */
    int64_t old_self, new_self, old_total, new_total;
    double self_change, total_change;
};

/* A stack with what ended in it. */
struct cairn_diff_stack {
    int64_t old_self, new_self;
    double change;
    uint32_t n_frames;
    uint32_t stack; /* for cairn_diff_frames() */
};

struct cairn_diff;

/* CAIRN_E_ARG: no such value type; CAIRN_E_NOMEM. The profiles are not needed
 * any more then. */
CAIRN_API int cairn_diff_new(const struct cairn_profile *old_profile,
                             const struct cairn_profile *new_profile,
                             const struct cairn_diff_opts *opts, struct cairn_diff **ret_diff,
                             struct cairn_err *err);
CAIRN_API void cairn_diff_free(struct cairn_diff *diff); /* accepts NULL */

/* What grew most first, what shrank most last, what is as it was between them;
 * borrowed until cairn_diff_free(). */
CAIRN_API size_t cairn_diff_functions(const struct cairn_diff *diff,
                                      const struct cairn_diff_row **ret_rows);
CAIRN_API size_t cairn_diff_stacks(const struct cairn_diff *diff,
                                   const struct cairn_diff_stack **ret_stacks);

/* The functions of a stack, the leaf first, by their number in
 * cairn_diff_functions(): fills at most `n`, returns how many there are. */
CAIRN_API size_t cairn_diff_frames(const struct cairn_diff *diff, uint32_t stack,
                                   uint32_t *functions, size_t n);

/* Of all samples of either side. */
CAIRN_API void cairn_diff_sums(const struct cairn_diff *diff, int64_t *ret_old, int64_t *ret_new);

#ifdef __cplusplus
}
#endif
#endif /* CAIRN_DIFF_H */
