/* SPDX-License-Identifier: MIT */
/*
 * Paths of a graph, with the place of each pointer. The process ran while it was read: each pointer
 * is read again, and one that is gone makes the whole look worthless.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "watch/holds.h"

enum { PIECE = 4096, STEPS_MAX = 1 << 22, KEY_BYTES = 16 };

struct finding {
    struct cairn_heap_holds *holds;
    struct cairn_reach_paths found;
    uint32_t *list; /* blocks of one path, the first one first */
    size_t n_list, cap_list;
    struct cairn_err *err;
};

/* The plainest pointer to block `to` so far, in words that were read at `off` of what points. True:
 * there is no plainer one. */
static bool see_words(const struct cairn_heap_holds *h, const uint64_t *words, size_t n,
                      uint64_t off, uint32_t to, struct cairn_holds_step *step, bool *found)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t into;
        bool doubtful;
        if (!words[i] || !cairn_reach_graph_points_to(h->graph, words[i], to, &into, &doubtful) ||
            (*found && (doubtful || (!step->doubtful && into >= step->into))))
            continue;
        *found = true;
        step->from = off + i * sizeof *words;
        step->into = into;
        step->doubtful = doubtful;
        if (!doubtful && into == 0)
            return true;
    }
    return false;
}

/* What points from [va, end) to block `to`: the plainest pointer. False: nothing does any more. Of
 * a block that says it has terabytes only pages that are there are read, as in the first place. */
static bool find_pointer(struct cairn_heap_holds *h, uint64_t va, uint64_t end, uint32_t to,
                         struct cairn_holds_step *step)
{
    const struct cairn_reach_memory memory = cairn_lost_space_memory(&h->search.space);
    uint64_t words[PIECE / sizeof(uint64_t)], at = va & ~UINT64_C(7);
    bool found = false;
    for (size_t size; at < end; at += size) {
        if (end - at > PIECE)
            at = memory.skip(memory.ctx, at, end) & ~UINT64_C(7);
        size = end - at < sizeof words ? (size_t)(end - at) : sizeof words;
        if (!memory.read(memory.ctx, at, (uint8_t *)words, size))
            return false;
        if (see_words(h, words, size / sizeof *words, at - va, to, step, &found))
            return true;
    }
    return found;
}

/* The class of an object with virtual functions is named by its first word. */
static uint32_t type_of(struct cairn_heap_holds *h, const struct cairn_reach_block *block)
{
    uint64_t word = 0;
    if (block->size < sizeof word ||
        !cairn_lost_space_read(&h->search.space, block->va, (uint8_t *)&word, sizeof word))
        return 0;
    return cairn_strings_add_str(&h->strings, cairn_variables_class(h->variables, word));
}

/* `from`: where the pointer to it may be, [from, end); its place and form go into the step. */
static int add_step(struct finding *f, uint32_t block, uint64_t from, uint64_t end)
{
    struct cairn_heap_holds *h = f->holds;
    const struct cairn_reach_block b = cairn_reach_blocks_get(&h->search.reach->blocks, block);
    struct cairn_holds_step step = {.va = b.va,
                                    .bytes = b.size,
                                    .stack = h->of_block[block],
                                    .epoch = h->epochs[block],
                                    .type = type_of(h, &b)};
    if (from < end && !find_pointer(h, from, end, block, &step))
        h->is_confirmed = false;
    if (step.type == UINT32_MAX ||
        cairn_grow((void **)&h->steps, &h->cap_steps, h->n_steps + 1, sizeof *h->steps) < 0)
        return cairn_fail_memory(f->err);
    h->steps[h->n_steps++] = step;
    return CAIRN_OK;
}

static int push(struct finding *f, uint32_t block)
{
    if (cairn_grow((void **)&f->list, &f->cap_list, f->n_list + 1, sizeof *f->list) < 0)
        return cairn_fail_memory(f->err);
    f->list[f->n_list++] = block;
    return CAIRN_OK;
}

/* From the root on: the list has the blocks in the reverse order. */
static int add_path(struct finding *f, const struct cairn_reach_root *root)
{
    struct cairn_heap_holds *h = f->holds;
    struct cairn_holds_path path = {.first = h->n_steps, .n = f->n_list};
    bool in_memory = root->rank != CAIRN_HOLDS_WORD && root->rank != CAIRN_HOLDS_KERNEL;
    int code = cairn_holds_name_root(h, root, &path, f->err);
    uint64_t from = root->va, end = in_memory ? from + sizeof(uint64_t) : from;
    for (size_t i = f->n_list; code == CAIRN_OK && i > 0; i--) {
        code = add_step(f, f->list[i - 1], from, end);
        if (i == f->n_list && code == CAIRN_OK) {
            h->steps[h->n_steps - 1].from = 0;
            h->steps[h->n_steps - 1].doubtful |= root->doubtful;
        }
        const struct cairn_reach_block block =
            cairn_reach_blocks_get(&h->search.reach->blocks, f->list[i - 1]);
        from = block.va;
        end = block.va + block.size;
    }
    if (code == CAIRN_OK && path.first_key && path.n > 1) {
        path.number = path.first_key + (int)(h->steps[path.first + 1].from / KEY_BYTES);
        path.name = 0;
    }
    if (code == CAIRN_OK &&
        cairn_grow((void **)&h->paths, &h->cap_paths, h->n_paths + 1, sizeof *h->paths) < 0)
        code = cairn_fail_memory(f->err);
    if (code == CAIRN_OK)
        h->paths[h->n_paths++] = path;
    return code;
}

static int add_direct(struct finding *f, size_t n_max)
{
    const struct cairn_reach_graph *g = f->holds->graph;
    uint32_t target = f->holds->target;
    int code = CAIRN_OK;
    f->n_list = 0;
    code = push(f, target);
    for (size_t i = cairn_reach_graph_first_root(g, target);
         code == CAIRN_OK && i < g->n_roots && g->roots[i].block == target &&
         f->holds->n_paths < n_max;
         i++)
        if (!g->roots[i].doubtful || f->found.doubtful)
            code = add_path(f, &g->roots[i]);
    return code;
}

/* The root of a block that one reached: with doubt only where nothing else was found. */
static const struct cairn_reach_root *root_of(const struct finding *f, uint32_t block)
{
    const struct cairn_reach_graph *g = f->holds->graph;
    size_t i = cairn_reach_graph_first_root(g, block);
    return i < g->n_roots ? &g->roots[i] : NULL;
}

static int add_holder(struct finding *f, uint32_t holder)
{
    const uint32_t *parents = f->found.parents;
    int code;
    f->n_list = 0;
    code = push(f, f->holds->target);
    for (; code == CAIRN_OK && parents[holder] != holder; holder = parents[holder])
        code = push(f, holder);
    if (code == CAIRN_OK)
        code = push(f, holder);
    const struct cairn_reach_root *root = root_of(f, holder);
    if (code < 0 || !root)
        return code;
    if (f->holds->n_steps + f->n_list > STEPS_MAX)
        return cairn_fail(f->err, CAIRN_E_LIMIT, "the paths have more than %d blocks", STEPS_MAX);
    return add_path(f, root);
}

static void forget(struct cairn_heap_holds *h)
{
    h->n_paths = h->n_steps = 0;
}

int cairn_holds_find_paths(struct cairn_heap_holds *holds, struct cairn_err *err)
{
    struct finding f = {.holds = holds, .err = err};
    size_t n_max = holds->opts.n_paths ? holds->opts.n_paths : 1;
    forget(holds);
    int code = cairn_reach_paths_find(holds->graph, holds->target, n_max, &f.found, err);
    if (code == CAIRN_OK)
        code = add_direct(&f, n_max);
    for (size_t i = 0; code == CAIRN_OK && i < f.found.n_holders && holds->n_paths < n_max; i++)
        code = add_holder(&f, f.found.holders[i]);
    holds->is_doubtful = f.found.doubtful;
    cairn_reach_paths_done(&f.found);
    cairn_free(f.list);
    return code;
}
