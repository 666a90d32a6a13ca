/* SPDX-License-Identifier: MIT */
#include "reach/graph.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "reach/scan.h"

enum { LINKS_A_BLOCK = 64, WANTED_ROOTS_MAX = 4096 };
static const size_t LINKS_LEAST = 4 << 20, LINKS_MOST = UINT32_MAX - 1;
static const uint64_t ADDRESS_BITS = (UINT64_C(1) << 48) - 1;

int cairn_reach_graph_new(struct cairn_reach *reach, uint32_t wanted,
                          struct cairn_reach_graph **ret_graph, struct cairn_err *err)
{
    struct cairn_reach_graph *graph = cairn_alloc(1, sizeof *graph);
    if (!graph)
        return cairn_fail_memory(err);
    graph->reach = reach;
    graph->wanted = wanted;
    graph->first = cairn_alloc(reach->blocks.n + 1, sizeof *graph->first);
    graph->seen = cairn_alloc(reach->blocks.n + 1, sizeof *graph->seen);
    if (!graph->first || !graph->seen) {
        cairn_reach_graph_free(graph);
        return cairn_fail_memory(err);
    }
    *ret_graph = graph;
    return CAIRN_OK;
}

void cairn_reach_graph_free(struct cairn_reach_graph *graph)
{
    if (!graph)
        return;
    cairn_free(graph->first);
    cairn_free(graph->links);
    cairn_free(graph->doubts);
    cairn_free(graph->roots);
    cairn_free(graph->seen);
    cairn_free(graph);
}

/* The block that a word points to. Bits above an address are a tag, or box it in a double. */
static bool resolve(const struct cairn_reach *r, uint64_t word, uint32_t *ret_index,
                    uint64_t *ret_off, bool *ret_doubtful)
{
    word &= ~r->tag_bits;
    bool boxed = word >> 48 != 0;
    word &= ADDRESS_BITS;
    if (!r->blocks.n || word - r->low > r->high - r->low)
        return false;
    enum cairn_reach_hit hit = cairn_reach_resolve(r, word, ret_index, ret_off);
    *ret_doubtful = boxed || hit == CAIRN_REACH_END;
    return hit != CAIRN_REACH_MISS;
}

bool cairn_reach_graph_points_to(const struct cairn_reach_graph *graph, uint64_t word,
                                 uint32_t index, uint64_t *ret_off, bool *ret_doubtful)
{
    uint32_t to;
    return resolve(graph->reach, word, &to, ret_off, ret_doubtful) && to == index;
}

/* One root of each rank is enough to say who holds a block, but for the one that is asked about. */
static bool needs_root(struct cairn_reach_graph *g, uint32_t block, uint8_t bit)
{
    bool is_wanted = block == g->wanted && g->n_wanted < WANTED_ROOTS_MAX;
    g->n_wanted += is_wanted;
    if (g->seen[block] & bit)
        return is_wanted;
    g->seen[block] |= bit;
    return true;
}

int cairn_reach_graph_word(struct cairn_reach_graph *graph, uint64_t va, uint64_t word,
                           uint8_t rank)
{
    uint32_t block;
    uint64_t off;
    bool doubtful;
    if (!word || !resolve(graph->reach, word, &block, &off, &doubtful))
        return CAIRN_OK;
    uint8_t bit = (uint8_t)(1u << (doubtful ? CAIRN_REACH_RANKS : rank));
    if (!needs_root(graph, block, bit))
        return CAIRN_OK;
    if (cairn_grow((void **)&graph->roots, &graph->cap_roots, graph->n_roots + 1,
                   sizeof *graph->roots) < 0)
        return CAIRN_E_NOMEM;
    graph->roots[graph->n_roots++] = (struct cairn_reach_root){va, block, rank, doubtful};
    return CAIRN_OK;
}

int cairn_reach_graph_root(struct cairn_reach_graph *graph, uint64_t va, struct cairn_span bytes,
                           uint8_t rank)
{
    int code = CAIRN_OK;
    for (size_t at = 0; code == CAIRN_OK && at + sizeof(uint64_t) <= bytes.size;
         at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, bytes.data + at, sizeof word);
        code = cairn_reach_graph_word(graph, va + at, word, rank);
    }
    return code;
}

static int add_link(struct cairn_reach_graph *g, uint32_t to, bool doubtful)
{
    size_t most = g->reach->blocks.n * LINKS_A_BLOCK + LINKS_LEAST;
    if (g->n_links >= (most < LINKS_MOST ? most : LINKS_MOST)) {
        g->n_left_out++;
        return CAIRN_OK;
    }
    if (cairn_grow((void **)&g->links, &g->cap_links, g->n_links + 1, sizeof *g->links) < 0 ||
        cairn_grow((void **)&g->doubts, &g->cap_doubts, g->n_links / 64 + 1, sizeof *g->doubts) < 0)
        return cairn_fail_memory(g->err);
    if (g->n_links % 64 == 0)
        g->doubts[g->n_links / 64] = 0;
    g->doubts[g->n_links / 64] |= (uint64_t)doubtful << g->n_links % 64;
    g->links[g->n_links++] = to;
    return CAIRN_OK;
}

/* Without bytes a block begins. */
static int add_links(void *ctx, uint32_t self, struct cairn_span bytes)
{
    struct cairn_reach_graph *g = ctx;
    int code = CAIRN_OK;
    if (!bytes.size)
        g->first[self] = (uint32_t)g->n_links;
    for (size_t at = 0; code == CAIRN_OK && at + sizeof(uint64_t) <= bytes.size;
         at += sizeof(uint64_t)) {
        uint64_t word, off;
        uint32_t to;
        bool doubtful;
        memcpy(&word, bytes.data + at, sizeof word);
        if (word && resolve(g->reach, word, &to, &off, &doubtful) && to != self)
            code = add_link(g, to, doubtful);
    }
    return code;
}

static int compare_roots(const void *x, const void *y)
{
    const struct cairn_reach_root *a = x, *b = y;
    return a->block != b->block         ? (a->block < b->block ? -1 : 1)
           : a->doubtful != b->doubtful ? (a->doubtful ? 1 : -1)
           : a->rank != b->rank         ? (a->rank < b->rank ? -1 : 1)
                                        : (a->va > b->va) - (a->va < b->va);
}

int cairn_reach_graph_read(struct cairn_reach_graph *graph, const struct cairn_reach_memory *memory,
                           struct cairn_err *err)
{
    struct cairn_reach_scan scan = {graph->reach, memory, NULL, add_links, graph, 0, 0};
    graph->err = err;
    int code = cairn_reach_scan_run(&scan, err);
    if (code < 0)
        return code;
    graph->first[graph->reach->blocks.n] = (uint32_t)graph->n_links;
    if (graph->n_roots)
        qsort(graph->roots, graph->n_roots, sizeof *graph->roots, compare_roots);
    return CAIRN_OK;
}

size_t cairn_reach_graph_first_root(const struct cairn_reach_graph *graph, uint32_t block)
{
    size_t low = 0, high = graph->n_roots;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (graph->roots[middle].block < block)
            low = middle + 1;
        else
            high = middle;
    }
    return low < graph->n_roots && graph->roots[low].block == block ? low : graph->n_roots;
}
