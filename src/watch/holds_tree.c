/* SPDX-License-Identifier: MIT */
/*
 * What keeps what: blocks below their dominators, joined by stack. Places come in an order in which
 * a dominator is before what it dominates, and so do nodes: one pass makes them, another sums them.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "base/table.h"
#include "profile/profile.h"
#include "watch/holds.h"

enum { TOP = UINT32_MAX, DEPTH_MAX = 256, NODES_MAX = 1 << 24 };

struct making {
    struct cairn_heap_holds *holds;
    struct cairn_reach_dominators dominators;
    uint32_t *node;  /* by place */
    uint16_t *depth; /* by node */
    size_t cap_depth;
    struct cairn_table of;  /* node above and stack -> node */
    struct cairn_table top; /* string of a root -> node */
    struct cairn_err *err;
};

static int add_node(struct making *m, const struct cairn_holds_node *node, uint32_t *ret_number)
{
    struct cairn_heap_holds *h = m->holds;
    if (h->n_nodes >= NODES_MAX)
        return cairn_fail(m->err, CAIRN_E_LIMIT, "more than %d nodes of dominators", NODES_MAX);
    if (cairn_grow((void **)&h->nodes, &h->cap_nodes, h->n_nodes + 1, sizeof *h->nodes) < 0 ||
        cairn_grow((void **)&m->depth, &m->cap_depth, h->n_nodes + 1, sizeof *m->depth) < 0)
        return cairn_fail_memory(m->err);
    m->depth[h->n_nodes] = node->above == TOP ? 0 : (uint16_t)(m->depth[node->above] + 1);
    *ret_number = (uint32_t)h->n_nodes;
    h->nodes[h->n_nodes++] = *node;
    return CAIRN_OK;
}

static int top_of(struct making *m, uint32_t text, uint32_t *ret_node)
{
    if (text == UINT32_MAX)
        return cairn_fail_memory(m->err);
    if (cairn_table_find(&m->top, text, ret_node))
        return CAIRN_OK;
    int code = add_node(m, &(struct cairn_holds_node){.above = TOP, .root = text}, ret_node);
    if (code == CAIRN_OK && cairn_table_set(&m->top, text, *ret_node) < 0)
        code = cairn_fail_memory(m->err);
    return code;
}

/* A block that no other one dominates: below its root, or below "several holders". */
static int root_of(struct making *m, uint32_t block, uint32_t *ret_node)
{
    static const char several[] = "several holders";
    struct cairn_heap_holds *h = m->holds;
    if (!cairn_reach_graph_has_root(h->graph, block))
        return top_of(m, cairn_strings_add_str(&h->strings, several), ret_node);
    const struct cairn_reach_root *root =
        &h->graph->roots[cairn_reach_graph_first_root(h->graph, block)];
    return top_of(m, cairn_holds_root_text(h, root), ret_node);
}

/* A list is one node, however long it is; so is what is too deep. */
static int node_below(struct making *m, uint32_t above, uint32_t stack, uint32_t *ret_node)
{
    const struct cairn_holds_node *nodes = m->holds->nodes;
    uint64_t key = (uint64_t)above << 32 | stack;
    *ret_node = above;
    if (nodes[above].above != TOP && (nodes[above].stack == stack || m->depth[above] >= DEPTH_MAX))
        return CAIRN_OK;
    if (cairn_table_find(&m->of, key, ret_node))
        return CAIRN_OK;
    int code = add_node(m, &(struct cairn_holds_node){.above = above, .stack = stack}, ret_node);
    if (code == CAIRN_OK && cairn_table_set(&m->of, key, *ret_node) < 0)
        code = cairn_fail_memory(m->err);
    return code;
}

static int add_place(struct making *m, uint32_t place)
{
    struct cairn_heap_holds *h = m->holds;
    uint32_t block = m->dominators.blocks[place], above = m->dominators.above[place], node = 0;
    int code = CAIRN_OK;
    if (above == 0)
        code = root_of(m, block, &node);
    else
        node = m->node[above];
    if (code == CAIRN_OK)
        code = node_below(m, node, h->of_block[block], &node);
    if (code < 0)
        return code;
    m->node[place] = node;
    h->nodes[node].blocks++;
    h->nodes[node].bytes += cairn_reach_blocks_get(&h->search.reach->blocks, block).size;
    return CAIRN_OK;
}

static void sum_up(struct cairn_heap_holds *h)
{
    for (size_t i = h->n_nodes; i > 0; i--) {
        struct cairn_holds_node *node = &h->nodes[i - 1];
        node->retained_bytes += node->bytes;
        node->retained_blocks += node->blocks;
        if (node->above != TOP) {
            h->nodes[node->above].retained_bytes += node->retained_bytes;
            h->nodes[node->above].retained_blocks += node->retained_blocks;
        }
    }
}

int cairn_holds_find_nodes(struct cairn_heap_holds *holds, struct cairn_err *err)
{
    struct making m = {.holds = holds, .err = err};
    holds->n_nodes = 0;
    int code = cairn_reach_dominators_find(holds->graph, &m.dominators, err);
    if (code == CAIRN_OK && !(m.node = cairn_alloc(m.dominators.n, sizeof *m.node)))
        code = cairn_fail_memory(err);
    for (uint32_t place = 1; code == CAIRN_OK && place < m.dominators.n; place++)
        code = add_place(&m, place);
    if (code == CAIRN_OK)
        sum_up(holds);
    cairn_reach_dominators_done(&m.dominators);
    cairn_table_done(&m.of);
    cairn_table_done(&m.top);
    cairn_free(m.node);
    cairn_free(m.depth);
    return code;
}

/* One step of the way to a node, by its name. UINT32_MAX: memory is gone, or a limit is reached. */
static uint32_t add_frame(struct cairn_profile *p, uint32_t above, const char *text)
{
    struct cairn_profile_function function = {.name = cairn_profile_text(p, text, strlen(text))};
    if (function.name == UINT32_MAX)
        return UINT32_MAX;
    function.system_name = function.name;
    struct cairn_profile_line line = {.function = cairn_profile_add_function(p, &function)};
    struct cairn_profile_frame frame = {.how = CAIRN_HOW_TEXT};
    if (line.function == UINT32_MAX)
        return UINT32_MAX;
    uint32_t number = cairn_profile_add_frame(p, &frame, &line, 1);
    return number == UINT32_MAX ? number : cairn_profile_add_stack(p, above, number);
}

static int fill(const struct cairn_heap_holds *h, cairn_heap_holds_name_fn name, void *ctx,
                uint32_t *stacks, struct cairn_profile *p)
{
    for (size_t i = 0; i < h->n_nodes; i++) {
        struct cairn_heap_holds_node node = {.size = sizeof node};
        const struct cairn_holds_node *of = &h->nodes[i];
        (void)cairn_heap_holds_node(h, i, &node);
        stacks[i] = add_frame(p, of->above == TOP ? 0 : stacks[of->above], name(ctx, &node));
        if (stacks[i] == UINT32_MAX)
            return CAIRN_E_NOMEM;
        const int64_t values[] = {(int64_t)of->bytes, (int64_t)of->blocks};
        if (of->blocks && cairn_profile_sum_sample(p, stacks[i], 0, values) == UINT32_MAX)
            return CAIRN_E_NOMEM;
    }
    return CAIRN_OK;
}

int cairn_heap_holds_retained(const struct cairn_heap_holds *holds, cairn_heap_holds_name_fn name,
                              void *ctx, struct cairn_profile **ret_profile, struct cairn_err *err)
{
    struct cairn_profile *p = NULL;
    uint32_t *stacks = cairn_alloc(holds->n_nodes + 1, sizeof *stacks);
    int code = stacks ? cairn_profile_new(&p, err) : cairn_fail_memory(err);
    if (code == CAIRN_OK && (cairn_profile_add_type(p, "retained_space", "bytes") == UINT32_MAX ||
                             cairn_profile_add_type(p, "retained_objects", "count") == UINT32_MAX ||
                             fill(holds, name, ctx, stacks, p) < 0))
        code = cairn_fail_memory(err);
    cairn_free(stacks);
    if (code < 0) {
        cairn_profile_free(p);
        return code;
    }
    *ret_profile = p;
    return CAIRN_OK;
}
