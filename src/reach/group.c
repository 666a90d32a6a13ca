/* SPDX-License-Identifier: MIT */
/*
 * Group: which of the blocks that nothing reaches hang on which others.
 *
 * The blocks are read once, in the order of addresses, and what they point to is kept:
 *
 *     nodes   | block, first link | ...       those that nothing reaches
 *     links   | node | node | ...             4 bytes each, LINKS_A_NODE for each node on average;
 *                                             without more than these a block may seem to be a head
 *
 * Then nodes are taken in that order, and all that each one reaches with it: one that no earlier
 * one has reached may be a head. Only a later one of these can reach it, so they are taken again
 * from the last to the first: one that none of the others has reached by then is a head.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "reach/scan.h"

enum { NONE = UINT32_MAX, LINKS_A_NODE = 64 };
static const size_t LINKS_LEAST = 4 << 20;

struct node {
    uint32_t block;
    size_t first; /* its links end where the next node's begin */
};

struct grouping {
    struct cairn_reach *reach;
    const struct cairn_reach_memory *memory;
    struct node *nodes;
    size_t n_nodes, cap_nodes, n_begun;
    uint32_t *links;
    size_t n_links, cap_links, max_links;
    uint32_t *heads;    /* by node: the one that it was reached from */
    uint32_t *may_head; /* nodes that no earlier one reaches */
    size_t n_may_head, cap_may_head;
    uint32_t *list; /* nodes that are still to be followed */
    size_t n_list, cap_list;
    struct cairn_err *err;
};

static int add_node(struct grouping *g, uint32_t block)
{
    if (cairn_grow((void **)&g->nodes, &g->cap_nodes, g->n_nodes + 1, sizeof *g->nodes) < 0)
        return cairn_fail_memory(g->err);
    g->nodes[g->n_nodes++] = (struct node){.block = block};
    return CAIRN_OK;
}

/* Of a block that nothing reaches. */
static uint32_t node_of(const struct grouping *g, uint32_t block)
{
    size_t low = 0, high = g->n_nodes;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (g->nodes[middle].block < block)
            low = middle + 1;
        else
            high = middle;
    }
    return (uint32_t)low;
}

static int add_link(struct grouping *g, uint64_t word, uint32_t self)
{
    uint32_t index;
    uint64_t off;
    enum cairn_reach_hit hit = cairn_reach_resolve(g->reach, word, &index, &off);
    if ((hit != CAIRN_REACH_START && hit != CAIRN_REACH_INSIDE) || index == self ||
        cairn_reach_mark_of(g->reach, index) != CAIRN_REACH_NONE || g->n_links >= g->max_links)
        return CAIRN_OK;
    if (cairn_grow((void **)&g->links, &g->cap_links, g->n_links + 1, sizeof *g->links) < 0)
        return cairn_fail_memory(g->err);
    g->links[g->n_links++] = node_of(g, index);
    return CAIRN_OK;
}

/* Without bytes a block begins: its links follow those of the one before. */
static int add_links(void *ctx, uint32_t self, struct cairn_span bytes)
{
    struct grouping *g = ctx;
    const struct cairn_reach *r = g->reach;
    if (!bytes.size) {
        g->nodes[g->n_begun++].first = g->n_links;
        return CAIRN_OK;
    }
    for (size_t at = 0; at + sizeof(uint64_t) <= bytes.size; at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, bytes.data + at, sizeof word);
        word &= ~r->tag_bits;
        if (word - r->low > r->high - r->low)
            continue;
        int code = add_link(g, word, self);
        if (code < 0)
            return code;
    }
    return CAIRN_OK;
}

static int push(struct grouping *g, uint32_t node, uint32_t head)
{
    g->heads[node] = head;
    if (cairn_grow((void **)&g->list, &g->cap_list, g->n_list + 1, sizeof *g->list) < 0)
        return cairn_fail_memory(g->err);
    g->list[g->n_list++] = node;
    return CAIRN_OK;
}

static int follow(struct grouping *g, uint32_t node, uint32_t head)
{
    size_t end = node + 1 < g->n_nodes ? g->nodes[node + 1].first : g->n_links;
    int code = CAIRN_OK;
    for (size_t i = g->nodes[node].first; code == CAIRN_OK && i < end; i++)
        if (g->heads[g->links[i]] == NONE)
            code = push(g, g->links[i], head);
    return code;
}

static int flood_from(struct grouping *g, uint32_t head)
{
    int code = push(g, head, head);
    while (code == CAIRN_OK && g->n_list)
        code = follow(g, g->list[--g->n_list], head);
    return code;
}

static bool is_node(void *ctx, uint32_t index)
{
    const struct grouping *g = ctx;
    return cairn_reach_mark_of(g->reach, index) == CAIRN_REACH_NONE;
}

static int read_nodes(struct grouping *g)
{
    int code = CAIRN_OK;
    for (uint32_t i = 0; code == CAIRN_OK && i < g->reach->blocks.n; i++)
        if (is_node(g, i))
            code = add_node(g, i);
    g->max_links = g->n_nodes * LINKS_A_NODE + LINKS_LEAST;
    struct cairn_reach_scan scan = {g->reach, g->memory, is_node, add_links, g, 0, 0};
    return code < 0 ? code : cairn_reach_scan_run(&scan, g->err);
}

static void forget_heads(struct grouping *g)
{
    for (size_t i = 0; i < g->n_nodes; i++)
        g->heads[i] = NONE;
}

static int add_may_head(struct grouping *g, uint32_t node)
{
    if (cairn_grow((void **)&g->may_head, &g->cap_may_head, g->n_may_head + 1,
                   sizeof *g->may_head) < 0)
        return cairn_fail_memory(g->err);
    g->may_head[g->n_may_head++] = node;
    return flood_from(g, node);
}

static int find_heads(struct grouping *g)
{
    int code = CAIRN_OK;
    g->heads = cairn_alloc(g->n_nodes + 1, sizeof *g->heads);
    if (!g->heads)
        return cairn_fail_memory(g->err);
    forget_heads(g);
    for (uint32_t i = 0; code == CAIRN_OK && i < g->n_nodes; i++)
        if (g->heads[i] == NONE)
            code = add_may_head(g, i);
    forget_heads(g);
    for (size_t i = g->n_may_head; code == CAIRN_OK && i > 0; i--)
        if (g->heads[g->may_head[i - 1]] == NONE)
            code = flood_from(g, g->may_head[i - 1]);
    return code;
}

int cairn_reach_group(struct cairn_reach *reach, const struct cairn_reach_memory *memory,
                      uint32_t *ret_heads, struct cairn_err *err)
{
    struct grouping g = {.reach = reach, .memory = memory, .err = err};
    int code = read_nodes(&g);
    if (code == CAIRN_OK)
        code = find_heads(&g);
    for (uint32_t i = 0; code == CAIRN_OK && i < reach->blocks.n; i++)
        ret_heads[i] = NONE;
    for (uint32_t i = 0; code == CAIRN_OK && i < g.n_nodes; i++)
        ret_heads[g.nodes[i].block] = g.nodes[g.heads[i]].block;
    cairn_free(g.nodes);
    cairn_free(g.links);
    cairn_free(g.heads);
    cairn_free(g.may_head);
    cairn_free(g.list);
    return code;
}
