/* SPDX-License-Identifier: MIT */
/* Answers of cairn heap holds as JSON, and the order of its tree. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cli/heap_holds.h"

static const char *kind_of(enum cairn_heap_root root)
{
    static const char *const kinds[] = {
        [CAIRN_HEAP_ROOT_VARIABLE] = "variable",  [CAIRN_HEAP_ROOT_THREAD_LOCAL] = "thread-local",
        [CAIRN_HEAP_ROOT_KEY] = "pthread-key",    [CAIRN_HEAP_ROOT_STACK] = "stack",
        [CAIRN_HEAP_ROOT_REGISTER] = "register",  [CAIRN_HEAP_ROOT_SIGNAL_STACK] = "sigaltstack",
        [CAIRN_HEAP_ROOT_EPOLL] = "epoll",        [CAIRN_HEAP_ROOT_TIMER] = "timer",
        [CAIRN_HEAP_ROOT_ENDED] = "ended-thread", [CAIRN_HEAP_ROOT_FREE] = "between-blocks",
        [CAIRN_HEAP_ROOT_MAPPING] = "mapping",
    };
    return kinds[root];
}

static void put_name(struct cairn_json *json, const char *name)
{
    struct cairn_buffer text = {0};
    cli_holds_add_name(&text, name);
    cairn_json_str(json, "name", cairn_buffer_text(&text));
    cairn_buffer_done(&text);
}

static void put_root(struct cairn_json *json, struct cairn_heap_holds *holds,
                     const struct cairn_heap_holds_path *p)
{
    cairn_json_open(json, "root", '{');
    cairn_json_str(json, "kind", kind_of(p->root));
    put_name(json, p->name);
    cairn_json_hex(json, "address", p->va);
    cairn_json_i64(json, "tid", p->tid);
    cairn_json_i64(json, "number", p->number);
    cairn_json_i64(json, "fd", p->fd);
    cli_heap_put_stack(json, cairn_heap_holds_profile(holds), p->stack);
    cairn_json_close(json, '}');
}

static void put_block(struct cairn_json *json, const char *name, struct cairn_heap_holds *holds,
                      const struct cairn_heap_holds_step *s)
{
    cairn_json_open(json, name, '{');
    cairn_json_hex(json, "address", s->va);
    cairn_json_u64(json, "bytes", s->bytes);
    if (s->age_ns != UINT64_MAX)
        cairn_json_real(json, "age_seconds", (double)s->age_ns / 1e9);
    if (!name) {
        cairn_json_u64(json, "from", s->from);
        cairn_json_u64(json, "into", s->into);
        cairn_json_bool(json, "doubtful", s->is_doubtful);
        cairn_json_str(json, "type", *s->type ? s->type : NULL);
    }
    cli_heap_put_stack(json, cairn_heap_holds_profile(holds), s->stack);
    cairn_json_close(json, '}');
}

static void put_look(struct cairn_json *json, const struct cairn_heap_holds_info *info)
{
    cairn_json_open(json, "look", '{');
    cairn_json_u64(json, "blocks", info->n_blocks);
    cairn_json_u64(json, "bytes", info->bytes);
    cairn_json_u64(json, "pointers", info->n_pointers);
    cairn_json_u64(json, "read_bytes", info->read_bytes);
    cairn_json_u64(json, "tries", info->n_tries);
    cairn_json_bool(json, "confirmed", info->is_confirmed);
    cairn_json_real(json, "seconds", (double)info->duration_ns / 1e9);
    cairn_json_real(json, "stopped_seconds", (double)info->stopped_ns / 1e9);
    cairn_json_close(json, '}');
}

void cli_holds_put(struct cairn_json *json, struct cairn_heap_holds *holds)
{
    struct cairn_heap_holds_path path = {.size = sizeof path};
    struct cairn_heap_holds_step step = {.size = sizeof step};
    struct cairn_heap_holds_info info = {.size = sizeof info};
    cairn_heap_holds_info(holds, &info);
    if (cairn_heap_holds_block(holds, &step)) {
        put_block(json, "block", holds, &step);
        cairn_json_bool(json, "doubtful", info.is_doubtful);
        cairn_json_open(json, "paths", '[');
        for (size_t i = 0; cairn_heap_holds_path(holds, i, &path); i++) {
            cairn_json_open(json, NULL, '{');
            put_root(json, holds, &path);
            cairn_json_open(json, "blocks", '[');
            for (size_t k = 0; cairn_heap_holds_step(holds, i, k, &step); k++)
                put_block(json, NULL, holds, &step);
            cairn_json_close(json, ']');
            cairn_json_close(json, '}');
        }
        cairn_json_close(json, ']');
    }
    put_look(json, &info);
}

/* A node with what it is sorted by. */
struct ranked {
    size_t above, number;
    uint64_t bytes;
};

static int compare_bytes(const void *x, const void *y)
{
    const struct ranked *a = x, *b = y;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static int compare_ranked(const void *x, const void *y)
{
    const struct ranked *a = x, *b = y;
    /* Roots (SIZE_MAX) come last, where the walk begins. */
    if (a->above != b->above)
        return a->above < b->above ? -1 : 1;
    return compare_bytes(x, y);
}

/* The first of those below node `above`; n: it has none. */
static size_t first_below(const struct ranked *list, size_t n, size_t above)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list[middle].above < above)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && list[low].above == above ? low : n;
}

/* A node retains no less than what is below it, and comes before it: no row lacks the one above. */
static size_t keep_largest(struct ranked *list, size_t n, size_t n_most)
{
    qsort(list, n, sizeof *list, compare_bytes);
    return n_most;
}

/* In depth, by a list of places in `list` that are still to be gone on with. */
static size_t walk(const struct ranked *list, size_t n, size_t n_most, size_t *stack, size_t *order,
                   unsigned *depths)
{
    size_t n_done = 0;
    unsigned depth = 0;
    stack[0] = first_below(list, n, SIZE_MAX);
    while (n_done < n_most) {
        size_t at = stack[depth];
        if (at >= n) {
            if (depth == 0)
                break;
            depth--;
            continue;
        }
        stack[depth] = at + 1 < n && list[at + 1].above == list[at].above ? at + 1 : n;
        order[n_done] = list[at].number;
        depths[n_done++] = depth;
        stack[++depth] = first_below(list, n, list[at].number);
    }
    return n_done;
}

int cli_holds_order(const struct cairn_heap_holds *holds, uint64_t n_shown, size_t **ret_order,
                    unsigned **ret_depths, size_t *ret_n, struct cairn_err *err)
{
    struct cairn_heap_holds_info info = {.size = sizeof info};
    cairn_heap_holds_info(holds, &info);
    size_t n = info.n_nodes, n_most = n_shown && n_shown < n ? (size_t)n_shown : n;
    struct ranked *list = cairn_alloc(n + 1, sizeof *list);
    size_t *stack = cairn_alloc(n + 2, sizeof *stack);
    *ret_order = cairn_alloc(n + 1, sizeof **ret_order);
    *ret_depths = cairn_alloc(n + 1, sizeof **ret_depths);
    int code = list && stack && *ret_order && *ret_depths ? CAIRN_OK : cairn_fail_memory(err);
    for (size_t i = 0; code == CAIRN_OK && i < n; i++) {
        struct cairn_heap_holds_node node = {.size = sizeof node};
        (void)cairn_heap_holds_node(holds, i, &node);
        list[i] = (struct ranked){node.above, i, node.retained_bytes};
    }
    if (code == CAIRN_OK && n) {
        n = keep_largest(list, n, n_most);
        qsort(list, n, sizeof *list, compare_ranked);
        *ret_n = walk(list, n, n, stack, *ret_order, *ret_depths);
    }
    cairn_free(list);
    cairn_free(stack);
    return code;
}

int cli_holds_put_tree(struct cairn_json *json, struct cairn_heap_holds *holds, uint64_t n_shown,
                       struct cairn_err *err)
{
    size_t *order = NULL, n = 0;
    unsigned *depths = NULL;
    struct cairn_heap_holds_info info = {.size = sizeof info};
    cairn_heap_holds_info(holds, &info);
    int code = cli_holds_order(holds, n_shown, &order, &depths, &n, err);
    cairn_json_u64(json, "retained_bytes", info.retained_bytes);
    cairn_json_u64(json, "retained_blocks", info.retained_blocks);
    cairn_json_open(json, "nodes", '[');
    for (size_t i = 0; code == CAIRN_OK && i < n; i++) {
        struct cairn_heap_holds_node node = {.size = sizeof node};
        (void)cairn_heap_holds_node(holds, order[i], &node);
        cairn_json_open(json, NULL, '{');
        cairn_json_u64(json, "node", order[i]);
        cairn_json_u64(json, "depth", depths[i]);
        if (node.root)
            put_name(json, node.root);
        else
            cairn_json_u64(json, "above", node.above);
        cairn_json_u64(json, "bytes", node.bytes);
        cairn_json_u64(json, "blocks", node.blocks);
        cairn_json_u64(json, "retained_bytes", node.retained_bytes);
        cairn_json_u64(json, "retained_blocks", node.retained_blocks);
        if (!node.root)
            cli_heap_put_stack(json, cairn_heap_holds_profile(holds), node.stack);
        cairn_json_close(json, '}');
    }
    cairn_json_close(json, ']');
    cairn_free(order);
    cairn_free(depths);
    return code;
}
