/* SPDX-License-Identifier: MIT */
/*
 * Fold: of a server that begins a process for each request, or a build, every process would have
 * rows of its own in the profile, without end. Of threads that have ended those with the most keep
 * their numbers; what the others did is told by process, thread and cgroup name. Who ran code that
 * was made at run time keeps it too, for that code has its names by pid.
 *
 *     row: stack, process "postgres", pid 4711  ─┐
 *     row: stack, process "postgres", pid 4712  ─┴─►  row: stack, process "postgres"
 */
#ifndef CAIRN_SAMPLE_FOLD_H
#define CAIRN_SAMPLE_FOLD_H

#include "sample/collect.h"

/* Of threads that have ended, and keep their numbers. */
enum { CAIRN_FOLD_KEPT = 1024, CAIRN_FOLD_KEPT_ROWS = 8192 };

/* To be called now and then: most calls do nothing. Where it did, `*ret_numbers` is, by the numbers
 * of the profile's samples before, what they are now; to be freed with cairn_free(); else NULL.
 * Where memory is gone nothing is lost, and it does less. */
void cairn_collect_fold(struct cairn_collect *collect, uint32_t **ret_numbers);

/* What a number of before is now. */
static inline uint32_t cairn_fold_number(const uint32_t *numbers, uint32_t number)
{
    return number == CAIRN_COLLECT_UNKEPT ? number : numbers[number];
}

#endif /* CAIRN_SAMPLE_FOLD_H */
