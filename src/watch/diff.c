/* SPDX-License-Identifier: MIT */
/* What two looks differ in, by stack. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/table.h"
#include "watch/heap.h"

struct comparing {
    struct cairn_heap_keys *keys;
    struct cairn_table rows; /* key of a stack -> its row */
    struct cairn_heap_change *changes;
    size_t n, cap;
};

static struct cairn_heap_change *row_of(struct comparing *c, uint32_t key)
{
    uint32_t row;
    if (cairn_table_find(&c->rows, key, &row))
        return &c->changes[row];
    if (cairn_grow((void **)&c->changes, &c->cap, c->n + 1, sizeof *c->changes) < 0 ||
        cairn_table_set(&c->rows, key, (uint32_t)c->n) < 0)
        return NULL;
    c->changes[c->n] = (struct cairn_heap_change){0};
    return &c->changes[c->n++];
}

/* `side`: 0 before, 1 after. The stack to show is that of the later one, if it has it. */
static int add_side(struct comparing *c, const struct cairn_heap_look *look, int side,
                    struct cairn_err *err)
{
    uint32_t *keys = cairn_alloc(look->n + 1, sizeof *keys);
    int result = keys ? cairn_heap_keys_of(c->keys, look->profile, look->leaks, look->n, keys, err)
                      : cairn_fail_memory(err);
    for (size_t i = 0; result == CAIRN_OK && i < look->n; i++) {
        struct cairn_heap_change *row = row_of(c, keys[i]);
        if (!row) {
            result = cairn_fail_memory(err);
            break;
        }
        row->is_of_after = side;
        row->stack = look->leaks[i].stack;
        row->bytes[side] += look->leaks[i].bytes;
        row->blocks[side] += look->leaks[i].n_blocks;
    }
    cairn_free(keys);
    return result;
}

static int64_t growth(const struct cairn_heap_change *c)
{
    return (int64_t)(c->bytes[1] - c->bytes[0]);
}

static int64_t more_blocks(const struct cairn_heap_change *c)
{
    return (int64_t)(c->blocks[1] - c->blocks[0]);
}

/* What grew most first, what shrank most last. */
static int compare_changes(const void *x, const void *y)
{
    const struct cairn_heap_change *a = x, *b = y;
    if (growth(a) != growth(b))
        return growth(a) > growth(b) ? -1 : 1;
    if (more_blocks(a) != more_blocks(b))
        return more_blocks(a) > more_blocks(b) ? -1 : 1;
    return a->stack < b->stack ? -1 : a->stack > b->stack;
}

static void keep_changed(struct comparing *c)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->n; i++)
        if (growth(&c->changes[i]) || more_blocks(&c->changes[i]))
            c->changes[kept++] = c->changes[i];
    c->n = kept;
    if (c->n)
        qsort(c->changes, c->n, sizeof *c->changes, compare_changes);
}

int cairn_heap_diff(const struct cairn_heap_look *before, const struct cairn_heap_look *after,
                    struct cairn_heap_change **ret_changes, size_t *ret_n, struct cairn_err *err)
{
    const struct cairn_profile *const both[] = {before->profile, after->profile};
    struct comparing c = {0};
    int result = cairn_heap_keys_new(both, 2, &c.keys, err);
    if (result == CAIRN_OK)
        result = add_side(&c, before, 0, err);
    if (result == CAIRN_OK)
        result = add_side(&c, after, 1, err);
    cairn_heap_keys_free(c.keys);
    cairn_table_done(&c.rows);
    if (result < 0) {
        cairn_free(c.changes);
        return result;
    }
    keep_changed(&c);
    *ret_changes = c.changes;
    *ret_n = c.n;
    return CAIRN_OK;
}

void cairn_heap_changes_free(struct cairn_heap_change *changes)
{
    cairn_free(changes);
}
