/* SPDX-License-Identifier: MIT */
#include "watch/holds.h"

#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"

enum { TRIES = 8, TRIES_NONE = 4, PAUSE_MS = 20 };

void cairn_heap_holds_free(struct cairn_heap_holds *holds)
{
    if (!holds)
        return;
    cairn_tracer_free(holds->search.tracer);
    cairn_lost_search_done(&holds->search);
    cairn_reach_graph_free(holds->graph);
    cairn_heap_free(holds->heap);
    cairn_profile_free(holds->profile);
    cairn_variables_free(holds->variables);
    cairn_heap_core_close(holds->core);
    cairn_strings_done(&holds->strings);
    cairn_free(holds->stacks);
    cairn_free(holds->of_block);
    cairn_free(holds->epochs);
    cairn_free(holds->paths);
    cairn_free(holds->steps);
    cairn_free(holds->nodes);
    cairn_free(holds);
}

/* A look may miss a pointer that moves. "No pointer" must be the result of several looks. */
static bool is_enough(const struct cairn_heap_holds *h)
{
    if (h->n_tries >= TRIES)
        return true;
    if (h->target != UINT32_MAX && !h->n_paths && !h->opts.consistent && !h->core)
        return h->n_tries >= TRIES_NONE;
    return h->is_confirmed;
}

/* Until all pointers of the paths are still there when they are read again. */
static int look_until_confirmed(struct cairn_heap_holds *h, struct cairn_err *err)
{
    const struct timespec pause = {.tv_nsec = PAUSE_MS * CAIRN_NS_PER_MS};
    int code = CAIRN_OK;
    while (code == CAIRN_OK && !is_enough(h)) {
        if (h->n_tries++)
            nanosleep(&pause, NULL);
        h->is_confirmed = true;
        code = cairn_holds_look(h, err);
        if (code == CAIRN_OK && h->target != UINT32_MAX)
            code = cairn_holds_find_paths(h, err);
    }
    return code;
}

/* The profile has all stacks of live blocks: the state numbers them. */
static int make_profile(struct cairn_heap_holds *h, struct cairn_err *err)
{
    struct cairn_heap_state *state = &h->heap->states[0];
    h->stacks = cairn_alloc((size_t)state->sums.n + 1, sizeof *h->stacks);
    int code = h->stacks ? cairn_heap_profile_new(&h->profile, err) : cairn_fail_memory(err);
    return code < 0 ? code : cairn_heap_add_to(state, &state->sums, h->profile, h->stacks, err);
}

static int look(struct cairn_heap_holds *h, struct cairn_err *err)
{
    struct cairn_lost_search *s = &h->search;
    uint64_t begin = cairn_now_ns();
    int code = h->opts.consistent && !h->core ? cairn_lost_stop_process(s, err) : CAIRN_OK;
    if (code == CAIRN_OK)
        code = look_until_confirmed(h, err);
    cairn_tracer_free(s->tracer);
    s->tracer = NULL;
    if (h->opts.consistent && !h->core)
        h->stopped_ns = cairn_now_ns() - begin;
    if (code == CAIRN_OK && h->graph->n_left_out)
        cairn_log(CAIRN_LOG_WARNING,
                  "process %d: %zu pointers are more than are kept, so holders may be missing",
                  s->pid, h->graph->n_left_out);
    return code;
}

static int work(struct cairn_heap_holds *h, struct cairn_err *err)
{
    int code = cairn_lost_search_open(&h->search, h->core, err);
    if (code == CAIRN_OK)
        code = h->core ? cairn_variables_of_core(h->core->space, h->core->maps, &h->variables, err)
                       : cairn_variables_new(h->search.pid, &h->variables, err);
    if (code == CAIRN_OK)
        code = look(h, err);
    if (code == CAIRN_OK)
        code = make_profile(h, err);
    if (code == CAIRN_OK)
        code = cairn_holds_find_frames(h, err);
    return code == CAIRN_OK && h->opts.dominators ? cairn_holds_find_nodes(h, err) : code;
}

int cairn_heap_holds_new(int pid, const struct cairn_heap_holds_opts *opts,
                         struct cairn_heap_holds **ret_holds, struct cairn_err *err)
{
    struct cairn_heap_holds *h = cairn_alloc(1, sizeof *h);
    uint64_t begin = cairn_now_ns();
    if (!h)
        return cairn_fail_memory(err);
    memcpy(&h->opts, opts, opts->size < sizeof h->opts ? opts->size : sizeof h->opts);
    h->search.pid = pid;
    h->target = UINT32_MAX;
    int code = h->opts.core ? cairn_heap_core_open(h->opts.core, &h->core, err) : CAIRN_OK;
    if (code == CAIRN_OK) {
        code = work(h, err);
        code = h->core && code < 0 ? cairn_fail_in(err, code, h->opts.core) : code;
    }
    h->duration_ns = cairn_now_ns() - begin;
    if (code < 0) {
        cairn_heap_holds_free(h);
        return code;
    }
    *ret_holds = h;
    return CAIRN_OK;
}

struct cairn_profile *cairn_heap_holds_profile(struct cairn_heap_holds *holds)
{
    return holds->profile;
}

struct cairn_heap *cairn_heap_holds_heap(struct cairn_heap_holds *holds)
{
    return holds->heap;
}

static void copy_out(void *to, size_t to_size, const void *from, size_t size)
{
    memcpy(to, from, to_size < size ? to_size : size);
}

void cairn_heap_holds_info(const struct cairn_heap_holds *holds, struct cairn_heap_holds_info *info)
{
    struct cairn_heap_holds_info all = {
        .size = info->size,
        .n_blocks = holds->search.n_blocks,
        .bytes = holds->search.bytes,
        .n_pointers = holds->graph->n_links,
        .read_bytes = holds->search.space.n_bytes,
        .duration_ns = holds->duration_ns,
        .stopped_ns = holds->stopped_ns,
        .n_paths = holds->n_paths,
        .is_doubtful = holds->is_doubtful,
        .n_tries = holds->n_tries,
        .is_confirmed = holds->is_confirmed,
        .n_nodes = holds->n_nodes,
    };
    for (size_t i = 0; i < holds->n_nodes; i++)
        if (holds->nodes[i].above == UINT32_MAX) {
            all.retained_bytes += holds->nodes[i].retained_bytes;
            all.retained_blocks += holds->nodes[i].retained_blocks;
        }
    copy_out(info, info->size, &all, sizeof all);
}

int cairn_heap_holds_path(const struct cairn_heap_holds *holds, size_t index,
                          struct cairn_heap_holds_path *path)
{
    if (index >= holds->n_paths)
        return 0;
    const struct cairn_holds_path *of = &holds->paths[index];
    const struct cairn_heap_holds_path all = {
        .size = path->size,
        .root = of->root,
        .va = of->va,
        .name = cairn_strings_get(&holds->strings, of->name),
        .tid = of->tid,
        .number = of->number,
        .fd = of->fd,
        .stack = of->stack,
        .n_steps = of->n,
    };
    copy_out(path, path->size, &all, sizeof all);
    return 1;
}

static uint32_t stack_of(const struct cairn_heap_holds *h, uint32_t stack)
{
    return h->stacks[stack] == UINT32_MAX ? 0 : h->stacks[stack];
}

static void give_step(const struct cairn_heap_holds *h, const struct cairn_holds_step *of,
                      struct cairn_heap_holds_step *step)
{
    const struct cairn_heap_holds_step all = {
        .size = step->size,
        .va = of->va,
        .bytes = of->bytes,
        .age_ns = cairn_heap_age(&h->heap->states[0], of->epoch),
        .from = of->from,
        .into = of->into,
        .is_doubtful = of->doubtful,
        .stack = stack_of(h, of->stack),
        .type = cairn_strings_get(&h->strings, of->type),
    };
    copy_out(step, step->size, &all, sizeof all);
}

int cairn_heap_holds_step(const struct cairn_heap_holds *holds, size_t path, size_t index,
                          struct cairn_heap_holds_step *step)
{
    if (path >= holds->n_paths || index >= holds->paths[path].n)
        return 0;
    give_step(holds, &holds->steps[holds->paths[path].first + index], step);
    return 1;
}

int cairn_heap_holds_block(const struct cairn_heap_holds *holds,
                           struct cairn_heap_holds_step *block)
{
    uint32_t i = holds->target;
    if (i == UINT32_MAX)
        return 0;
    const struct cairn_reach_block b = cairn_reach_blocks_get(&holds->search.reach->blocks, i);
    const struct cairn_holds_step of = {
        .va = b.va, .bytes = b.size, .stack = holds->of_block[i], .epoch = holds->epochs[i]};
    give_step(holds, &of, block);
    return 1;
}

int cairn_heap_holds_node(const struct cairn_heap_holds *holds, size_t index,
                          struct cairn_heap_holds_node *node)
{
    if (index >= holds->n_nodes)
        return 0;
    const struct cairn_holds_node *of = &holds->nodes[index];
    bool is_top = of->above == UINT32_MAX;
    const struct cairn_heap_holds_node all = {
        .size = node->size,
        .above = is_top ? SIZE_MAX : of->above,
        .root = is_top ? cairn_strings_get(&holds->strings, of->root) : NULL,
        .stack = is_top ? 0 : stack_of(holds, of->stack),
        .bytes = of->bytes,
        .blocks = of->blocks,
        .retained_bytes = of->retained_bytes,
        .retained_blocks = of->retained_blocks,
    };
    copy_out(node, node->size, &all, sizeof all);
    return 1;
}
