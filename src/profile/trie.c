/* SPDX-License-Identifier: MIT */
#include "profile/trie.h"

#include <cairn/error.h>

#include "base/alloc.h"

enum { CHILDREN_MAX = 16 }; /* of a chain */

static uint64_t key_of(uint32_t parent, uint32_t row)
{
    return (uint64_t)parent << 32 | row;
}

static bool make_room(struct cairn_profile_trie *trie)
{
    return cairn_grow((void **)&trie->nodes, &trie->cap, trie->n + 1, sizeof *trie->nodes) ==
               CAIRN_OK &&
           cairn_grow((void **)&trie->links, &trie->cap_links, trie->n + 1, sizeof *trie->links) ==
               CAIRN_OK;
}

bool cairn_profile_trie_init(struct cairn_profile_trie *trie)
{
    *trie = (struct cairn_profile_trie){0};
    if (!make_room(trie))
        return false;
    trie->links[trie->n] = (struct cairn_profile_link){0};
    trie->nodes[trie->n++] = (struct cairn_profile_trie_node){0};
    return true;
}

void cairn_profile_trie_close(struct cairn_profile_trie *trie)
{
    cairn_free(trie->links);
    trie->links = NULL;
    trie->cap_links = 0;
    cairn_table_done(&trie->crowd);
}

void cairn_profile_trie_done(struct cairn_profile_trie *trie)
{
    cairn_profile_trie_close(trie);
    cairn_free(trie->nodes);
    *trie = (struct cairn_profile_trie){0};
}

/* 0: there is none. `ret_full`: the parent's chain takes no more. */
static uint32_t find_child(const struct cairn_profile_trie *trie, uint32_t parent, uint32_t row,
                           bool *ret_full)
{
    unsigned n = 0;
    uint32_t child = trie->links[parent].first_child;
    for (; child; child = trie->links[child].next_sibling, n++)
        if (trie->nodes[child].row == row)
            return child;
    *ret_full = n >= CHILDREN_MAX;
    if (*ret_full)
        cairn_table_find(&trie->crowd, key_of(parent, row), &child);
    return child;
}

uint32_t cairn_profile_trie_child(struct cairn_profile_trie *trie, uint32_t parent, uint32_t row)
{
    bool full = false;
    uint32_t node = find_child(trie, parent, row, &full);
    if (node)
        return node;
    if (trie->n >= CAIRN_PROFILE_NUMBERS_MAX || !make_room(trie))
        return UINT32_MAX;
    node = (uint32_t)trie->n;
    trie->links[node] = (struct cairn_profile_link){0};
    if (full) {
        if (cairn_table_set(&trie->crowd, key_of(parent, row), node) < 0)
            return UINT32_MAX;
    } else {
        trie->links[node].next_sibling = trie->links[parent].first_child;
        trie->links[parent].first_child = node;
    }
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
