/* SPDX-License-Identifier: MIT */
/*
 * Dominators, by Lengauer and Tarjan's simple method (ACM TOPLAS 1, 1979): places are numbers in
 * the order of a search in depth; blocks are taken in the reverse order. A block is linked once it
 * was taken: those from the current place on are, so that `ancestor` needs no mark.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "reach/graph.h"

enum { NONE = UINT32_MAX, AHEAD = 16, FETCHED = 4 };

struct reckoning {
    const struct cairn_reach_graph *graph;
    uint32_t *place; /* by block; later a list of places */
    uint32_t *block; /* by place */
    uint32_t n;
    uint32_t *ancestor;       /* in depth: the parent. Shortened where it was followed */
    uint32_t *semi;           /* while places are given: the next link to follow */
    uint32_t *label;          /* the place with the least `semi` on the way to an ancestor */
    uint32_t *above;          /* the dominator; before it is known, the next one in a bucket */
    uint32_t *bucket;         /* those whose `semi` is this place */
    uint32_t *first, *before; /* by place: what points to it, before[first[i]] to first[i + 1] */
};

void cairn_reach_dominators_done(struct cairn_reach_dominators *dominators)
{
    cairn_free(dominators->blocks);
    cairn_free(dominators->above);
    *dominators = (struct cairn_reach_dominators){0};
}

static uint32_t *table(size_t n)
{
    return cairn_alloc(n + 2, sizeof(uint32_t));
}

static bool begin(struct reckoning *r)
{
    size_t n = r->graph->reach->blocks.n;
    r->place = table(n);
    r->block = table(n);
    r->ancestor = table(n);
    r->semi = table(n);
    return r->place && r->block && r->ancestor && r->semi;
}

static void end(struct reckoning *r)
{
    uint32_t *const tables[] = {r->place, r->block,  r->ancestor, r->semi,  r->label,
                                r->above, r->bucket, r->first,    r->before};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        cairn_free(tables[i]);
}

static void visit(struct reckoning *r, uint32_t block, uint32_t parent)
{
    uint32_t end_link, place = r->n++;
    r->place[block] = place;
    r->block[place] = block;
    r->ancestor[place] = parent;
    cairn_reach_graph_links(r->graph, block, &r->semi[place], &end_link);
    for (uint32_t i = r->semi[place]; i < end_link && i < r->semi[place] + FETCHED; i++)
        __builtin_prefetch(&r->place[r->graph->links[i]]);
}

/* All that is reached from one block, in depth. */
static void search_from(struct reckoning *r, uint32_t block)
{
    const struct cairn_reach_graph *g = r->graph;
    visit(r, block, 0);
    for (uint32_t at = r->n - 1; at;) {
        uint32_t link = r->semi[at]++;
        if (link >= g->first[r->block[at] + 1]) {
            at = r->ancestor[at];
        } else if (!cairn_reach_graph_is_doubtful(g, link) && r->place[g->links[link]] == NONE) {
            visit(r, g->links[link], at);
            at = r->n - 1;
        }
    }
}

static void search(struct reckoning *r)
{
    for (size_t i = 0; i < r->graph->reach->blocks.n; i++)
        r->place[i] = NONE;
    r->n = 1;
    for (size_t i = 0; i < r->graph->n_roots; i++)
        if (!r->graph->roots[i].doubtful && r->place[r->graph->roots[i].block] == NONE)
            search_from(r, r->graph->roots[i].block);
}

/* Each link between places: `add` false counts it, true stores it. In the order of blocks, so that
 * only places of targets are far away: those are fetched beforehand. */
static void go_through_links(struct reckoning *r, bool add)
{
    const struct cairn_reach_graph *g = r->graph;
    for (uint32_t block = 0; block < g->reach->blocks.n; block++) {
        uint32_t from, end_link, at = r->place[block];
        cairn_reach_graph_links(g, block, &from, &end_link);
        for (; at != NONE && from < end_link; from++) {
            if (from + AHEAD < g->n_links)
                __builtin_prefetch(&r->place[g->links[from + AHEAD]]);
            if (cairn_reach_graph_is_doubtful(g, from))
                continue;
            uint32_t to = r->place[g->links[from]];
            if (add)
                r->before[--r->first[to]] = at;
            else
                r->first[to]++;
        }
    }
}

static int turn_links(struct reckoning *r, struct cairn_err *err)
{
    uint32_t sum = 0;
    r->first = table(r->n);
    if (!r->first)
        return cairn_fail_memory(err);
    go_through_links(r, false);
    for (uint32_t at = 0; at <= r->n; at++)
        r->first[at] = sum += r->first[at];
    r->before = cairn_alloc((size_t)sum + 1, sizeof *r->before);
    if (!r->before)
        return cairn_fail_memory(err);
    go_through_links(r, true); /* each `first` is now where its own begin */
    return CAIRN_OK;
}

/* The place of the least `semi` on the path from `at` to what is not linked yet. Shortens the path
 * for later calls. */
static uint32_t best(struct reckoning *r, uint32_t at, uint32_t current)
{
    uint32_t *list = r->place, n = 0;
    if (at < current)
        return at;
    for (; r->ancestor[at] >= current; at = r->ancestor[at])
        list[n++] = at;
    uint32_t top = at;
    while (n) {
        uint32_t next = list[--n];
        if (r->semi[r->label[top]] < r->semi[r->label[next]])
            r->label[next] = r->label[top];
        r->ancestor[next] = r->ancestor[top];
        top = next;
    }
    return r->label[top];
}

static void take(struct reckoning *r, uint32_t at)
{
    uint32_t parent = r->ancestor[at];
    if (cairn_reach_graph_has_root(r->graph, r->block[at]))
        r->semi[at] = 0;
    for (uint32_t i = r->first[at]; i < r->first[at + 1]; i++) {
        uint32_t semi = r->semi[best(r, r->before[i], at + 1)];
        r->semi[at] = semi < r->semi[at] ? semi : r->semi[at];
    }
    r->above[at] = r->bucket[r->semi[at]];
    r->bucket[r->semi[at]] = at;
    for (uint32_t i = r->bucket[parent], next; i; i = next) {
        uint32_t low = best(r, i, at);
        next = r->above[i];
        r->above[i] = r->semi[low] < r->semi[i] ? low : parent;
    }
    r->bucket[parent] = 0;
}

static int reckon(struct reckoning *r, struct cairn_err *err)
{
    r->label = table(r->n);
    r->above = table(r->n);
    r->bucket = table(r->n);
    if (!r->label || !r->above || !r->bucket)
        return cairn_fail_memory(err);
    for (uint32_t at = 0; at < r->n; at++)
        r->semi[at] = r->label[at] = at;
    for (uint32_t at = r->n - 1; at >= 1; at--)
        take(r, at);
    for (uint32_t at = 1; at < r->n; at++)
        if (r->above[at] != r->semi[at])
            r->above[at] = r->above[r->above[at]];
    return CAIRN_OK;
}

int cairn_reach_dominators_find(const struct cairn_reach_graph *graph,
                                struct cairn_reach_dominators *ret_dominators,
                                struct cairn_err *err)
{
    struct reckoning r = {.graph = graph};
    int code = begin(&r) ? CAIRN_OK : cairn_fail_memory(err);
    if (code == CAIRN_OK) {
        search(&r);
        code = turn_links(&r, err);
    }
    if (code == CAIRN_OK)
        code = reckon(&r, err);
    if (code == CAIRN_OK) {
        *ret_dominators = (struct cairn_reach_dominators){r.block, r.above, r.n};
        r.block = r.above = NULL;
    }
    end(&r);
    return code;
}
