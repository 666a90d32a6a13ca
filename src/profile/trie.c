/* SPDX-License-Identifier: MIT */
#include "profile/trie.h"

#include "base/alloc.h"

bool cairn_profile_trie_init(struct cairn_profile_trie *trie)
{
    *trie = (struct cairn_profile_trie){0};
    if (cairn_grow((void **)&trie->nodes, &trie->cap, 1, sizeof *trie->nodes) < 0)
        return false;
    trie->nodes[trie->n++] = (struct cairn_profile_trie_node){0};
    return true;
}

void cairn_profile_trie_done(struct cairn_profile_trie *trie)
{
    cairn_free(trie->nodes);
    cairn_table_done(&trie->children);
    *trie = (struct cairn_profile_trie){0};
}

uint32_t cairn_profile_trie_child(struct cairn_profile_trie *trie, uint32_t parent, uint32_t row)
{
    uint64_t key = (uint64_t)parent << 32 | row;
    uint32_t node;
    if (cairn_table_find(&trie->children, key, &node))
        return node;
    if (trie->n >= CAIRN_PROFILE_NUMBERS_MAX ||
        cairn_grow((void **)&trie->nodes, &trie->cap, trie->n + 1, sizeof *trie->nodes) < 0 ||
        cairn_table_set(&trie->children, key, (uint32_t)trie->n) < 0)
        return UINT32_MAX;
    trie->nodes[trie->n] = (struct cairn_profile_trie_node){parent, row};
    return (uint32_t)trie->n++;
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
