/* SPDX-License-Identifier: MIT */
/*
 * Levels: a walk through many stacks at once, down to what they called or up to who called them. A
 * level is what lies next to a group of places on stacks, each row once:
 *
 *     groups    | level 1 ...       | level 2 ...    | level 3       one row each
 *     entries   | of its groups ... | of its groups  | ...           a place on a stack each
 *
 * Only the levels on the way from a root to where the walk is are held, so that a tree of millions
 * of nodes is walked in little memory. Upwards a place has at most one next place: there the
 * entries of a group become those of its callers.
 */
#ifndef CAIRN_PROFILE_LEVELS_H
#define CAIRN_PROFILE_LEVELS_H

#include "profile/starts.h"

struct cairn_profile_entry;

struct cairn_profile_group {
    const struct cairn_top_row *row;
    int64_t total, self; /* of a tree's node: include/cairn/tree.h */
    size_t begin, end;   /* entries */
};

struct cairn_profile_level {
    size_t next, end; /* groups that are left */
    size_t groups_begin, entries_begin;
    uint32_t owner; /* these two are the walker's: the node that it is below, */
    bool is_kept;   /* and whether that is kept */
};

struct cairn_profile_levels {
    const struct cairn_profile *p;
    const struct cairn_profile_rows *rows;
    const struct cairn_profile_sums *sums;
    bool up;
    struct cairn_profile_descent descent; /* of a walk down */
    struct cairn_profile_starts starts;   /* of one from functions */
    struct cairn_profile_entry *entries;
    size_t n_entries, cap_entries;
    struct cairn_profile_group *groups;
    size_t n_groups, cap_groups;
    struct cairn_profile_level *items; /* those that are open */
    size_t n, cap;
};

void cairn_profile_levels_done(struct cairn_profile_levels *l); /* all-zero is fine */

/* Each opens a level; false where memory is gone. */
bool cairn_profile_levels_open_outermost(struct cairn_profile_levels *l); /* of all stacks */
/* One group, where a row has its starts; none where it has no start. */
bool cairn_profile_levels_open_row(struct cairn_profile_levels *l, uint32_t row);
/* What is next to a group, which must be of the level that was opened last. */
bool cairn_profile_levels_open(struct cairn_profile_levels *l,
                               const struct cairn_profile_group *group);
void cairn_profile_levels_close(struct cairn_profile_levels *l); /* the one opened last */

/* The largest total first, then self, then by name; as qsort asks. */
int cairn_profile_compare_groups(const void *a, const void *b);

#endif /* CAIRN_PROFILE_LEVELS_H */
