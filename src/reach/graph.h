/* SPDX-License-Identifier: MIT */
/*
 * Graph: which block points to which, and which are pointed to from roots. It is made of a table of
 * blocks that is sealed (reach.h), and keeps no bytes.
 *
 *     first   | where the links of block 0 begin, 1, ... n |    4 bytes a block
 *     links   | block | block | ...                             4 bytes a pointer
 *     doubts  | a bit for each link                             it alone would hold nothing
 *     roots   | va, block, rank | ...                           the best few of each block
 *
 *     new ─► root, word ─► read ─┬─► paths: from the nearest root to one block
 *                                └─► dominators: what keeps what
 *
 * A pointer to a block's first byte or into it is a link; one to its end, or with bits set above
 * bit 47, is a doubtful one. Nothing recurses.
 */
#ifndef CAIRN_REACH_GRAPH_H
#define CAIRN_REACH_GRAPH_H

#include "reach/reach.h"

enum { CAIRN_REACH_RANKS = 7 };

/* Where a root's pointer is. Ranks are the caller's: the lower, the sooner a path begins there. */
struct cairn_reach_root {
    uint64_t va;
    uint32_t block;
    uint8_t rank; /* below CAIRN_REACH_RANKS */
    bool doubtful;
};

struct cairn_reach_graph {
    struct cairn_reach *reach; /* borrowed */
    uint32_t *first;
    uint32_t *links;
    uint64_t *doubts;
    size_t n_links, cap_links, cap_doubts;
    size_t n_left_out;              /* pointers beyond the most links that there may be */
    struct cairn_reach_root *roots; /* behind cairn_reach_graph_read(): by block, then by rank */
    size_t n_roots, cap_roots;
    uint8_t *seen;   /* by block: a bit for each rank that it has a root of, and one for doubtful
                        roots */
    uint32_t wanted; /* all roots of this block are kept, to a limit; UINT32_MAX: none */
    size_t n_wanted;
    struct cairn_err *err;
};

/* `reach` is sealed, and stays as long as the graph. `wanted`: see above. */
int cairn_reach_graph_new(struct cairn_reach *reach, uint32_t wanted,
                          struct cairn_reach_graph **ret_graph, struct cairn_err *err);
void cairn_reach_graph_free(struct cairn_reach_graph *graph); /* accepts NULL */

/* Words of memory that is no block's, or a register (`va`: a number that the caller knows it by).
 * CAIRN_E_NOMEM. */
int cairn_reach_graph_root(struct cairn_reach_graph *graph, uint64_t va, struct cairn_span bytes,
                           uint8_t rank);
int cairn_reach_graph_word(struct cairn_reach_graph *graph, uint64_t va, uint64_t word,
                           uint8_t rank);

/* Reads all blocks, behind the roots. CAIRN_E_STOPPED: memory.read() did. */
int cairn_reach_graph_read(struct cairn_reach_graph *graph, const struct cairn_reach_memory *memory,
                           struct cairn_err *err);

/* What block `index` points to: links [*ret_from, *ret_end). */
static inline void cairn_reach_graph_links(const struct cairn_reach_graph *graph, uint32_t index,
                                           uint32_t *ret_from, uint32_t *ret_end)
{
    *ret_from = graph->first[index];
    *ret_end = graph->first[index + 1];
}

static inline bool cairn_reach_graph_is_doubtful(const struct cairn_reach_graph *graph,
                                                 uint32_t link)
{
    return graph->doubts[link / 64] >> link % 64 & 1;
}

/* Does a root point to it without doubt? */
static inline bool cairn_reach_graph_has_root(const struct cairn_reach_graph *graph, uint32_t block)
{
    return (graph->seen[block] & ((1u << CAIRN_REACH_RANKS) - 1)) != 0;
}

/* The first of the block's roots among `roots`; n_roots: it has none. */
size_t cairn_reach_graph_first_root(const struct cairn_reach_graph *graph, uint32_t block);

/* Does the word point to block `index`? Doubtful: only as such. `*ret_off`: how far into it. */
bool cairn_reach_graph_points_to(const struct cairn_reach_graph *graph, uint64_t word,
                                 uint32_t index, uint64_t *ret_off, bool *ret_doubtful);

/*
 * The blocks that point to a block, those nearest to a root first, each by the shortest path. No
 * path leads through the block itself.
 */
struct cairn_reach_paths {
    uint32_t *parents; /* by block: the one that reached it; its own number: a root did; UINT32_MAX:
                          none, or nothing was looked for beyond */
    uint32_t *holders; /* blocks that point to the target */
    size_t n_holders, cap_holders;
    bool doubtful; /* only by doubtful pointers: there is no other path */
};

/* At most `n_max` holders; roots that point to the block are not among them. Doubtful pointers
 * count only if there is no path without. With the target UINT32_MAX, `parents` is what the roots
 * reach. CAIRN_E_NOMEM. */
int cairn_reach_paths_find(const struct cairn_reach_graph *graph, uint32_t target, size_t n_max,
                           struct cairn_reach_paths *ret_paths, struct cairn_err *err);
void cairn_reach_paths_done(struct cairn_reach_paths *paths); /* all-zero is fine */

/*
 * Dominators of what is reached without doubt: the last block on all paths from the roots to a
 * block. What a block dominates would be free if it were. Reached blocks have places 1 to n - 1,
 * and a dominator's place is lower than that of what it dominates; place 0 stands for all roots.
 * 28 bytes a block, and 4 a link, while it is computed (Lengauer and Tarjan, 1979).
 */
struct cairn_reach_dominators {
    uint32_t *blocks; /* by place */
    uint32_t *above;  /* by place: that of its dominator */
    uint32_t n;       /* places */
};
int cairn_reach_dominators_find(const struct cairn_reach_graph *graph,
                                struct cairn_reach_dominators *ret_dominators,
                                struct cairn_err *err);
void cairn_reach_dominators_done(struct cairn_reach_dominators *dominators); /* all-zero is fine */

#endif /* CAIRN_REACH_GRAPH_H */
