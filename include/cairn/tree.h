/* SPDX-License-Identifier: MIT */
/*
 * Tree: the stacks of a profile as trees of functions, for reading.
 *
 *     CALLS, from where threads begin    CALLEES of b       CALLERS of b
 *
 *     a ─┬─ b ─── c                      b ─── c            b ─┬─ a
 *        └─ c                                                  └─ d
 *     d ─── b
 *
 * Addresses of one function are one node below their caller, and an inlined call is a node of its
 * own, as in the table of cairn_profile_top(): the rows are the same.
 *
 * Threads: one tree may be used by many at a time, for it does not change.
 */
#ifndef CAIRN_TREE_H
#define CAIRN_TREE_H

#include <stddef.h>
#include <stdint.h>

#include <cairn/api.h>
#include <cairn/error.h>
#include <cairn/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

enum cairn_tree_kind {
    CAIRN_TREE_CALLS,   /* whole stacks */
    CAIRN_TREE_CALLEES, /* a tree for each function: what it called, whoever called it */
    CAIRN_TREE_CALLERS  /* a tree for each function, upside down: who called it */
};

/* Set .size to sizeof(struct cairn_tree_opts); zero means the default. */
struct cairn_tree_opts {
    size_t size;
    size_t value_type;
    enum cairn_tree_kind kind;
    const char *function; /* of callees and callers: trees of the functions of this name alone or,
                             where there is none, of those whose name contains it. NULL: of all */
    uint32_t depth;       /* nodes from a root to a leaf at most; 0: no bound */
    int by_self;          /* roots of callees and callers in the order of cairn_profile_top() */
    double least_percent; /* a node with less than that of all samples, or of callees and callers of
                             its root, is left out with all that is below it */
    uint64_t n_roots;     /* those after the first of them are not walked through; 0: all are */
};

/*
 * A node with all below it is `nodes[i]` to `nodes[nodes[i].end - 1]`; those below a node stand by
 * total, the largest first.
 *
 * The total of a root of callees or callers is that of its function in the table: a stack on which
 * the function is several times counts once, from the outermost one down for callees, from the
 * innermost one up for callers.
 */
struct cairn_tree_node {
    const struct cairn_top_row *row; /* the function, with what it has in the whole profile */
    int64_t total;                   /* of stacks that lead here */
    int64_t self;   /* of those that end here; of callers: that end in the function at the root */
    uint32_t depth; /* 0: a root */
    uint32_t end;   /* number of the first node behind all that is below */
};

struct cairn_tree;

/* CAIRN_E_ARG: no such value type; CAIRN_E_NOMEM; CAIRN_E_LIMIT for more than 2^31 nodes that
 * are not left out. A tree without nodes is none of these. */
CAIRN_API int cairn_tree_new(const struct cairn_profile *profile,
                             const struct cairn_tree_opts *opts, struct cairn_tree **ret_tree,
                             struct cairn_err *err);
CAIRN_API void cairn_tree_free(struct cairn_tree *tree); /* accepts NULL */

/* In the order of a walk; borrowed until cairn_tree_free(). */
CAIRN_API size_t cairn_tree_nodes(const struct cairn_tree *tree,
                                  const struct cairn_tree_node **ret_nodes);
CAIRN_API int64_t cairn_tree_sum(const struct cairn_tree *tree); /* of all samples */

/* What there is and what was left out. Set .size. */
struct cairn_tree_counts {
    size_t size;
    uint64_t n_nodes;      /* with those left out for least_percent, */
    uint64_t n_small;      /* which are so many */
    uint64_t n_roots_left; /* trees left out for n_roots, whose nodes are in no count */
};
CAIRN_API void cairn_tree_count(const struct cairn_tree *tree, struct cairn_tree_counts *counts);

#ifdef __cplusplus
}
#endif
#endif /* CAIRN_TREE_H */
