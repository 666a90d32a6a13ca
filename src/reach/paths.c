/* SPDX-License-Identifier: MIT */
/* Paths: breadth first from the roots, the better ranks first, up to the block that is asked
 * about. */
#include "base/alloc.h"
#include "base/error.h"
#include "reach/graph.h"

enum { NONE = UINT32_MAX };

struct walk {
    const struct cairn_reach_graph *graph;
    struct cairn_reach_paths *paths;
    uint32_t target;
    size_t n_max;
    uint32_t *queue; /* blocks that are reached, in that order */
    uint32_t n;
    bool doubtful; /* such pointers count, too */
    struct cairn_err *err;
};

void cairn_reach_paths_done(struct cairn_reach_paths *paths)
{
    cairn_free(paths->parents);
    cairn_free(paths->holders);
    *paths = (struct cairn_reach_paths){0};
}

static void reach(struct walk *w, uint32_t block, uint32_t parent)
{
    if (w->paths->parents[block] != NONE || block == w->target)
        return;
    w->paths->parents[block] = parent;
    w->queue[w->n++] = block;
}

static void reach_roots(struct walk *w)
{
    for (int rank = 0; rank < CAIRN_REACH_RANKS; rank++)
        for (size_t i = 0; i < w->graph->n_roots; i++) {
            const struct cairn_reach_root *root = &w->graph->roots[i];
            if (root->rank == rank && (!root->doubtful || w->doubtful))
                reach(w, root->block, root->block);
        }
}

static int add_holder(struct walk *w, uint32_t block)
{
    struct cairn_reach_paths *p = w->paths;
    if (p->n_holders && p->holders[p->n_holders - 1] == block)
        return CAIRN_OK;
    if (cairn_grow((void **)&p->holders, &p->cap_holders, p->n_holders + 1, sizeof *p->holders) < 0)
        return cairn_fail_memory(w->err);
    p->holders[p->n_holders++] = block;
    return CAIRN_OK;
}

static int walk(struct walk *w)
{
    const struct cairn_reach_graph *g = w->graph;
    int code = CAIRN_OK;
    reach_roots(w);
    for (uint32_t i = 0; i < w->n && code == CAIRN_OK && w->paths->n_holders < w->n_max; i++) {
        uint32_t from, end, block = w->queue[i];
        cairn_reach_graph_links(g, block, &from, &end);
        for (; from < end && code == CAIRN_OK; from++) {
            if (cairn_reach_graph_is_doubtful(g, from) && !w->doubtful)
                continue;
            if (g->links[from] == w->target)
                code = add_holder(w, block);
            else
                reach(w, g->links[from], block);
        }
    }
    return code;
}

static bool has_root(const struct walk *w)
{
    size_t i = cairn_reach_graph_first_root(w->graph, w->target);
    return i < w->graph->n_roots && (w->doubtful || !w->graph->roots[i].doubtful);
}

static int find(struct walk *w)
{
    size_t n = w->graph->reach->blocks.n;
    for (int round = 0; round < 2; round++) {
        w->doubtful = round == 1;
        w->n = 0;
        for (size_t i = 0; i < n; i++)
            w->paths->parents[i] = NONE;
        int code = walk(w);
        if (code < 0)
            return code;
        if (w->target == NONE || w->paths->n_holders || has_root(w))
            break;
    }
    w->paths->doubtful = w->doubtful;
    return CAIRN_OK;
}

int cairn_reach_paths_find(const struct cairn_reach_graph *graph, uint32_t target, size_t n_max,
                           struct cairn_reach_paths *ret_paths, struct cairn_err *err)
{
    size_t n = graph->reach->blocks.n;
    struct cairn_reach_paths paths = {.parents = cairn_alloc(n + 1, sizeof *paths.parents)};
    struct walk w = {.graph = graph, .paths = &paths, .target = target, .n_max = n_max, .err = err};
    w.queue = cairn_alloc(n + 1, sizeof *w.queue);
    int code = paths.parents && w.queue ? find(&w) : cairn_fail_memory(err);
    cairn_free(w.queue);
    if (code < 0) {
        cairn_reach_paths_done(&paths);
        return code;
    }
    *ret_paths = paths;
    return CAIRN_OK;
}
