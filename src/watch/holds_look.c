/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"
#include "base/error.h"
#include "watch/holds.h"
#include "watch/lost_feed.h"

struct listing {
    struct cairn_heap_holds *holds;
    struct cairn_err *err;
    int code;
};

/* The table of blocks refuses what cannot be one. */
static void add_block(void *ctx, const struct cairn_heap_block *block)
{
    struct listing *l = ctx;
    struct cairn_heap_holds *h = l->holds;
    struct cairn_reach *reach = h->search.reach;
    if (l->code < 0)
        return;
    h->search.n_blocks++;
    h->search.bytes += block->size;
    l->code = cairn_reach_add(reach, block->va, block->size, l->err);
    if (l->code < 0 || cairn_reach_count(reach) == h->n_of)
        return;
    if (cairn_grow((void **)&h->of_block, &h->cap_of, h->n_of + 1, sizeof *h->of_block) < 0 ||
        cairn_grow((void **)&h->epochs, &h->cap_epochs, h->n_of + 1, sizeof *h->epochs) < 0) {
        l->code = cairn_fail_memory(l->err);
        return;
    }
    h->of_block[h->n_of] = block->stack < h->heap->states[0].sums.n ? block->stack : 0;
    h->epochs[h->n_of++] = (uint16_t)block->epoch;
}

static int list_blocks(struct cairn_heap_holds *h, struct cairn_err *err)
{
    struct listing l = {.holds = h, .err = err};
    int code = cairn_heap_view_sorted_blocks(&h->heap->states[0].view, add_block, &l);
    code = code < 0 ? cairn_fail_memory(err) : l.code;
    return code < 0 ? code : cairn_reach_seal(h->search.reach, err);
}

static bool find_block(const struct cairn_heap_holds *h, uint64_t va, uint32_t *ret_index)
{
    struct cairn_reach_block block;
    return cairn_reach_blocks_before(&h->search.reach->blocks, va, ret_index, &block) &&
           (va == block.va || va - block.va < block.size);
}

/* The first that lives: known before memory is read, so that all its roots can be kept. */
static int find_target(struct cairn_heap_holds *h, struct cairn_err *err)
{
    h->target = UINT32_MAX;
    for (size_t i = 0; i < h->opts.n_vas; i++)
        if (find_block(h, h->opts.vas[i], &h->target))
            return CAIRN_OK;
    h->target = UINT32_MAX;
    if (!h->opts.n_vas)
        return CAIRN_OK;
    cairn_fail(err, CAIRN_E_MISSING, "process %d has no live block at 0x%llx", h->search.pid,
               (unsigned long long)h->opts.vas[0]);
    cairn_hint(err, "it was freed, or is no heap block: cairn heap leaks %d lists what lives",
               h->search.pid);
    return CAIRN_E_MISSING;
}

/* If nothing holds that one, another one is asked about. */
static int choose_held(struct cairn_heap_holds *h, struct cairn_err *err)
{
    struct cairn_reach_paths reached;
    uint32_t index;
    if (h->opts.n_vas < 2)
        return CAIRN_OK;
    int code = cairn_reach_paths_find(h->graph, UINT32_MAX, 1, &reached, err);
    for (size_t i = 0; code == CAIRN_OK && i < h->opts.n_vas; i++)
        if (find_block(h, h->opts.vas[i], &index) && reached.parents[index] != UINT32_MAX) {
            h->target = index;
            break;
        }
    if (code == CAIRN_OK)
        cairn_reach_paths_done(&reached);
    return code;
}

static bool has_thread(const struct cairn_heap_holds *h, const struct cairn_lost_map *map)
{
    const struct cairn_lost_threads *t = &h->search.threads;
    for (size_t i = 0; i < t->n_list; i++)
        if (t->list[i].sp >= map->start && t->list[i].sp < map->end)
            return true;
    return false;
}

static bool is_in_arena(const struct cairn_heap_holds *h, uint64_t va)
{
    const struct cairn_lost_ranges *arenas = &h->search.space.arenas;
    for (size_t i = 0; i < arenas->n; i++)
        if (va >= arenas->items[i].start && va < arenas->items[i].end)
            return true;
    return false;
}

/* Zeroed data of a module follow what its file holds of them. */
static bool is_data(struct cairn_heap_holds *h, const struct cairn_lost_map *map)
{
    const struct cairn_lost_map *before = cairn_lost_space_map(&h->search.space, map->start - 1);
    const uint32_t written = CAIRN_MAP_FILE | CAIRN_MAP_WRITE;
    if (map->flags & CAIRN_MAP_FILE)
        return !(map->flags & CAIRN_MAP_SHARED);
    return before && map->kind == CAIRN_LOST_OTHER && (before->flags & written) == written &&
           !(before->flags & CAIRN_MAP_SHARED);
}

static enum cairn_holds_rank rank_of(struct cairn_heap_holds *h, uint64_t va)
{
    const struct cairn_lost_map *map = cairn_lost_space_map(&h->search.space, va);
    if (!map)
        return CAIRN_HOLDS_MAPPING;
    if (map->kind == CAIRN_LOST_STACK || has_thread(h, map))
        return CAIRN_HOLDS_STACK;
    if (map->kind == CAIRN_LOST_BREAK || is_in_arena(h, va))
        return CAIRN_HOLDS_FREE;
    return is_data(h, map) ? CAIRN_HOLDS_DATA : CAIRN_HOLDS_MAPPING;
}

/* Roots of one piece of memory, and the rank that they have by their mapping. */
struct rooting {
    struct cairn_heap_holds *holds;
    uint64_t va, end; /* where `rank` holds */
    enum cairn_holds_rank rank;
};

static int add_root(void *ctx, uint64_t va, struct cairn_span bytes)
{
    struct rooting *r = ctx;
    if (va < r->va || va >= r->end) {
        const struct cairn_lost_map *map = cairn_lost_space_map(&r->holds->search.space, va);
        r->va = va;
        r->end = map ? map->end : va + bytes.size;
        r->rank = rank_of(r->holds, va);
    }
    return cairn_reach_graph_root(r->holds->graph, va, bytes, (uint8_t)r->rank);
}

static int add_words(struct cairn_heap_holds *h)
{
    const struct cairn_lost_threads *t = &h->search.threads;
    const struct cairn_lost_kernel *k = &h->search.kernel;
    int code = CAIRN_OK;
    for (size_t i = 0; code == CAIRN_OK && i < t->n_words; i++)
        code = cairn_reach_graph_word(h->graph, i, t->words[i].word, CAIRN_HOLDS_WORD);
    for (size_t i = 0; code == CAIRN_OK && i < k->n; i++)
        code = cairn_reach_graph_word(h->graph, i, k->words[i].word, CAIRN_HOLDS_KERNEL);
    return code;
}

static int read_graph(struct cairn_heap_holds *h, struct cairn_err *err)
{
    struct cairn_lost_search *s = &h->search;
    const struct cairn_reach_memory memory = cairn_lost_space_memory(&s->space);
    struct rooting r = {.holds = h};
    struct cairn_lost_feed feed = {
        .search = s, .blocks = &s->reach->blocks, .root = add_root, .ctx = &r};
    int code = cairn_lost_pass_begin(s, &s->reach->blocks, CAIRN_LOST_STOP_RUNNING, err);
    if (code == CAIRN_OK)
        cairn_holds_find_threads(s);
    if (code == CAIRN_OK && add_words(h) < 0)
        code = cairn_fail_memory(err);
    if (code == CAIRN_OK)
        code = cairn_lost_space_each(&s->space, s->has_gaps, cairn_lost_feed_piece, &feed, err);
    if (code == CAIRN_OK)
        code = cairn_reach_graph_read(h->graph, &memory, err);
    if (code == CAIRN_E_STOPPED)
        return cairn_fail(err, CAIRN_E_MISSING, "process %d ended while it was read", s->pid);
    return code < 0 ? code : cairn_lost_space_check(&s->space, err);
}

static void forget(struct cairn_heap_holds *h)
{
    cairn_reach_graph_free(h->graph);
    cairn_reach_free(h->search.reach);
    cairn_lost_pass_drop_state(&h->search, h->heap);
    h->graph = NULL;
    h->search.reach = NULL;
    h->heap = NULL;
    h->search.n_blocks = h->search.bytes = 0;
    h->n_of = 0;
}

int cairn_holds_look(struct cairn_heap_holds *holds, struct cairn_err *err)
{
    struct cairn_lost_search *s = &holds->search;
    forget(holds);
    int code = cairn_reach_new(&s->reach, err);
    if (code == CAIRN_OK)
        code = cairn_lost_pass_read_state(s, &holds->heap, err);
    if (code == CAIRN_OK)
        code = list_blocks(holds, err);
    if (code == CAIRN_OK)
        code = find_target(holds, err);
    if (code == CAIRN_OK)
        code = cairn_reach_graph_new(s->reach, holds->target, &holds->graph, err);
    if (code == CAIRN_OK)
        code = read_graph(holds, err);
    return code < 0 ? code : choose_held(holds, err);
}
