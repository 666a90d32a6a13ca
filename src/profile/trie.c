/* SPDX-License-Identifier: MIT */
#include "profile/trie.h"

#include <cairn/error.h>

#include "base/alloc.h"

static bool make_room(struct cairn_profile_trie *trie)
{
    return cairn_grow((void **)&trie->nodes, &trie->cap, trie->n + 1, sizeof *trie->nodes) ==
               CAIRN_OK &&
           cairn_profile_children_reserve(&trie->children, trie->n + 1);
}

bool cairn_profile_trie_init(struct cairn_profile_trie *trie)
{
    *trie = (struct cairn_profile_trie){0};
    if (!make_room(trie))
        return false;
    trie->children.links[trie->n] = (struct cairn_profile_link){0};
    trie->nodes[trie->n++] = (struct cairn_profile_trie_node){0};
    return true;
}

void cairn_profile_trie_close(struct cairn_profile_trie *trie)
{
    cairn_profile_children_done(&trie->children);
}

void cairn_profile_trie_done(struct cairn_profile_trie *trie)
{
    cairn_profile_trie_close(trie);
    cairn_free(trie->nodes);
    *trie = (struct cairn_profile_trie){0};
}

static uint32_t row_of(const void *ctx, uint32_t node)
{
    const struct cairn_profile_trie_node *nodes = ctx;
    return nodes[node].row;
}

uint32_t cairn_profile_trie_child(struct cairn_profile_trie *trie, uint32_t parent, uint32_t row)
{
    bool full = false;
    uint32_t node = cairn_profile_child(&trie->children, parent, row, row_of, trie->nodes, &full);
    if (node)
        return node;
    if (trie->n >= CAIRN_PROFILE_NUMBERS_MAX || !make_room(trie))
        return UINT32_MAX;
    node = (uint32_t)trie->n;
    if (!cairn_profile_link_child(&trie->children, parent, row, node, full))
        return UINT32_MAX;
    trie->nodes[trie->n++] = (struct cairn_profile_trie_node){parent, row};
    return node;
}

/* Parents have smaller numbers than their children. */
static bool *find_reached(const struct cairn_profile *p, const struct cairn_profile_sums *sums)
{
    bool *reached = cairn_alloc(p->n_stacks, sizeof *reached);
    for (size_t i = p->n_stacks; reached && i-- > 1;) {
        reached[i] |= sums->used[i];
        reached[p->stacks[i].parent] |= reached[i];
    }
    return reached;
}

static bool descend(struct cairn_profile_trie *trie, const struct cairn_profile_rows *rows,
                    uint32_t frame, const uint32_t *map, uint32_t *io_node)
{
    for (uint32_t i = rows->first[frame + 1]; i-- > rows->first[frame] && *io_node != UINT32_MAX;) {
        uint32_t row = rows->of_frames[i];
        *io_node = cairn_profile_trie_child(trie, *io_node, map ? map[row] : row);
    }
    return *io_node != UINT32_MAX;
}

uint32_t *cairn_profile_trie_add(struct cairn_profile_trie *trie, const struct cairn_profile *p,
                                 const struct cairn_profile_rows *rows,
                                 const struct cairn_profile_sums *sums, const uint32_t *map)
{
    uint32_t *node_of = cairn_alloc(p->n_stacks, sizeof *node_of);
    bool *reached = find_reached(p, sums), ok = node_of && reached;
    for (uint32_t i = 1; ok && i < p->n_stacks; i++) {
        if (!reached[i])
            continue;
        node_of[i] = node_of[p->stacks[i].parent];
        ok = descend(trie, rows, p->stacks[i].frame, map, &node_of[i]);
    }
    cairn_free(reached);
    if (!ok) {
        cairn_free(node_of);
        node_of = NULL;
    }
    return node_of;
}
