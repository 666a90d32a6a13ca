/* SPDX-License-Identifier: MIT */
#include "symlist/list.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/below.h"
#include "base/error.h"

void cairn_symbol_list_done(struct cairn_symbol_list *list)
{
    cairn_free(list->symbols);
    cairn_buffer_done(&list->names);
    cairn_strings_done(&list->modules);
    *list = (struct cairn_symbol_list){0};
}

int cairn_symbol_list_add(struct cairn_symbol_list *list, const struct cairn_listed_symbol *row,
                          const char *name, size_t size, struct cairn_err *err)
{
    size_t at = list->names.size;
    if (list->n == UINT32_MAX / 4 || at > UINT32_MAX - size - 1)
        return cairn_fail(err, CAIRN_E_LIMIT, "%zu symbols: too many names", list->n);
    if (cairn_grow((void **)&list->symbols, &list->cap, list->n + 1, sizeof *list->symbols) < 0)
        return cairn_fail_memory(err);
    cairn_buffer_add(&list->names, name, size);
    cairn_buffer_add(&list->names, "", 1);
    if (list->names.failed)
        return cairn_fail_memory(err);
    list->symbols[list->n] = *row;
    list->symbols[list->n++].name = (uint32_t)at;
    return CAIRN_OK;
}

/*
 * The rows are painted from the last to the first, each on what is still bare:
 *
 *     row 0    |=================|        edges  0    1    2        3
 *     row 1         |====|                owner  row0 row1 row0
 *
 * `bare[i]` leads to the first piece at or behind i that has no owner, so that no piece is looked
 * at twice however many rows cover it.
 */
struct painting {
    uint64_t *edges; /* sorted, different */
    size_t n;
    uint32_t *owners; /* row + 1 of the piece between edge i and i + 1; 0: nobody's */
    uint32_t *bare;
};

static int compare_edges(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static void find_edges(const struct cairn_symbol_list *list, struct painting *p)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        p->edges[2 * i] = list->symbols[i].start;
        p->edges[2 * i + 1] = list->symbols[i].end;
    }
    qsort(p->edges, 2 * list->n, sizeof *p->edges, compare_edges);
    for (size_t i = 0; i < 2 * list->n; i++)
        if (!n || p->edges[n - 1] != p->edges[i])
            p->edges[n++] = p->edges[i];
    p->n = n;
    for (size_t i = 0; i < n; i++)
        p->bare[i] = (uint32_t)i;
}

static size_t edge_of(const struct painting *p, uint64_t va)
{
    const uint64_t *found = bsearch(&va, p->edges, p->n, sizeof va, compare_edges);
    return (size_t)(found - p->edges);
}

static size_t next_bare(struct painting *p, size_t i)
{
    size_t end = i;
    while (p->bare[end] != end)
        end = p->bare[end];
    while (p->bare[i] != end) {
        size_t next = p->bare[i];
        p->bare[i] = (uint32_t)end;
        i = next;
    }
    return end;
}

static void paint_rows(const struct cairn_symbol_list *list, struct painting *p)
{
    find_edges(list, p);
    for (size_t row = list->n; row-- > 0;) {
        size_t end = edge_of(p, list->symbols[row].end);
        for (size_t i = next_bare(p, edge_of(p, list->symbols[row].start)); i < end;
             i = next_bare(p, i)) {
            p->owners[i] = (uint32_t)row + 1;
            p->bare[i] = (uint32_t)i + 1;
        }
    }
}

/* Pieces of one owner side by side are one again. */
static size_t join_pieces(const struct cairn_symbol_list *list, const struct painting *p,
                          struct cairn_listed_symbol *out)
{
    size_t n = 0;
    for (size_t i = 0; i + 1 < p->n; i++) {
        if (!p->owners[i])
            continue;
        if (i && p->owners[i] == p->owners[i - 1]) {
            out[n - 1].end = p->edges[i + 1];
            continue;
        }
        out[n] = list->symbols[p->owners[i] - 1];
        out[n].start = p->edges[i];
        out[n++].end = p->edges[i + 1];
    }
    return n;
}

int cairn_symbol_list_paint(struct cairn_symbol_list *list, struct cairn_err *err)
{
    if (!list->n)
        return CAIRN_OK;
    struct painting p = {
        .edges = cairn_alloc(list->n, 2 * sizeof *p.edges),
        .owners = cairn_alloc(list->n, 2 * sizeof *p.owners),
        .bare = cairn_alloc(list->n, 2 * sizeof *p.bare),
    };
    struct cairn_listed_symbol *out = cairn_alloc(list->n, 2 * sizeof *out);
    bool sound = p.edges && p.owners && p.bare && out;
    if (sound) {
        paint_rows(list, &p);
        size_t n = join_pieces(list, &p, out);
        list->cap = 2 * list->n;
        list->n = n;
        cairn_free(list->symbols);
        list->symbols = out;
    } else {
        cairn_free(out);
    }
    cairn_free(p.edges);
    cairn_free(p.owners);
    cairn_free(p.bare);
    return sound ? CAIRN_OK : cairn_fail_memory(err);
}

const struct cairn_listed_symbol *cairn_symbol_list_find(const struct cairn_symbol_list *list,
                                                         uint64_t va)
{
    size_t i = CAIRN_COUNT_BELOW(list->symbols, list->n, end, va);
    return i < list->n && list->symbols[i].start <= va ? &list->symbols[i] : NULL;
}

size_t cairn_symbol_list_bytes(const struct cairn_symbol_list *list)
{
    return list->cap * sizeof *list->symbols + list->names.cap + list->modules.arena.used_bytes;
}
