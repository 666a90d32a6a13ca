/* SPDX-License-Identifier: MIT */
#include "profile/levels.h"

#include <stdlib.h>

#include "base/alloc.h"

enum { FEW = 16 }; /* entries: sorted by insertion */

struct cairn_profile_entry {
    uint32_t row;
    uint32_t stack;
    uint32_t inner; /* which of its frame's rows, the innermost is 0 */
    uint32_t start; /* up: where it began, a number of starts.items */
};

void cairn_profile_levels_done(struct cairn_profile_levels *l)
{
    cairn_profile_descent_done(&l->descent);
    cairn_profile_starts_done(&l->starts);
    cairn_free(l->entries);
    cairn_free(l->groups);
    cairn_free(l->items);
}

static const uint32_t *rows_of(const struct cairn_profile_levels *l, uint32_t stack)
{
    return cairn_profile_rows_of(l->rows, l->p, stack);
}

static uint32_t n_of(const struct cairn_profile_levels *l, uint32_t stack)
{
    return cairn_profile_n_rows_of(l->rows, l->p, stack);
}

static bool add_entry(struct cairn_profile_levels *l, uint32_t stack, uint32_t inner)
{
    if (cairn_grow((void **)&l->entries, &l->cap_entries, l->n_entries + 1, sizeof *l->entries) < 0)
        return false;
    uint32_t row = rows_of(l, stack)[inner];
    l->entries[l->n_entries++] = (struct cairn_profile_entry){row, stack, inner, 0};
    return true;
}

static bool add_children(struct cairn_profile_levels *l, uint32_t stack)
{
    bool ok = true;
    for (uint32_t at = l->descent.first_child[stack]; ok && at; at = l->descent.next_sibling[at])
        ok = add_entry(l, at, n_of(l, at) - 1);
    return ok;
}

static bool descend(struct cairn_profile_levels *l, size_t begin, size_t end)
{
    bool ok = true;
    for (size_t i = begin; ok && i < end; i++) {
        const struct cairn_profile_entry entry = l->entries[i]; /* the array moves as it grows */
        ok =
            entry.inner ? add_entry(l, entry.stack, entry.inner - 1) : add_children(l, entry.stack);
    }
    return ok;
}

/* In place; what began at the root of its stack is dropped. Returns the new end. */
static size_t ascend(struct cairn_profile_levels *l, size_t begin, size_t end)
{
    size_t n = begin;
    for (size_t i = begin; i < end; i++) {
        struct cairn_profile_entry entry = l->entries[i];
        if (++entry.inner == n_of(l, entry.stack)) {
            entry.stack = l->p->stacks[entry.stack].parent;
            entry.inner = 0;
        }
        if (!entry.stack)
            continue;
        entry.row = rows_of(l, entry.stack)[entry.inner];
        l->entries[n++] = entry;
    }
    return n;
}

static int compare_entries(const void *a, const void *b)
{
    const struct cairn_profile_entry *x = a, *y = b;
    return x->row < y->row ? -1 : x->row > y->row;
}

static bool is_sorted(const struct cairn_profile_entry *entries, size_t n)
{
    size_t i = 1;
    while (i < n && entries[i - 1].row <= entries[i].row)
        i++;
    return i >= n;
}

static void sort_entries(struct cairn_profile_entry *entries, size_t n)
{
    if (is_sorted(entries, n))
        return;
    if (n > FEW) {
        qsort(entries, n, sizeof *entries, compare_entries);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        const struct cairn_profile_entry entry = entries[i];
        size_t at = i;
        for (; at && entries[at - 1].row > entry.row; at--)
            entries[at] = entries[at - 1];
        entries[at] = entry;
    }
}

static void count_entry(const struct cairn_profile_levels *l,
                        const struct cairn_profile_entry *entry, struct cairn_profile_group *group)
{
    struct cairn_profile_start at = {entry->stack, entry->inner};
    if (l->up)
        at = l->starts.items[entry->start];
    int64_t total = l->up ? l->starts.caused[entry->start] : l->descent.totals[at.stack];
    group->total = cairn_profile_add_clamped(group->total, total);
    if (at.inner == 0)
        group->self = cairn_profile_add_clamped(group->self, l->sums->by_stack[at.stack]);
}

static bool add_groups(struct cairn_profile_levels *l, size_t begin, size_t end)
{
    for (size_t i = begin; i < end;) {
        uint32_t row = l->entries[i].row;
        struct cairn_profile_group group = {.row = &l->rows->items[row], .begin = i};
        for (; i < end && l->entries[i].row == row; i++)
            count_entry(l, &l->entries[i], &group);
        group.end = i;
        if (cairn_grow((void **)&l->groups, &l->cap_groups, l->n_groups + 1, sizeof *l->groups) < 0)
            return false;
        l->groups[l->n_groups++] = group;
    }
    return true;
}

/* A level of the entries from `begin` to `end`; closing it leaves those before `entries_begin`. */
static bool push(struct cairn_profile_levels *l, size_t begin, size_t end, size_t entries_begin)
{
    if (cairn_grow((void **)&l->items, &l->cap, l->n + 1, sizeof *l->items) < 0)
        return false;
    struct cairn_profile_level level = {.next = l->n_groups,
                                        .groups_begin = l->n_groups,
                                        .entries_begin = entries_begin,
                                        .is_kept = true};
    if (begin < end)
        sort_entries(l->entries + begin, end - begin);
    if (!add_groups(l, begin, end))
        return false;
    level.end = l->n_groups;
    l->items[l->n++] = level;
    return true;
}

bool cairn_profile_levels_open_outermost(struct cairn_profile_levels *l)
{
    size_t begin = l->n_entries;
    return add_children(l, 0) && push(l, begin, l->n_entries, begin);
}

bool cairn_profile_levels_open_row(struct cairn_profile_levels *l, uint32_t row)
{
    size_t begin = l->n_entries, first = l->starts.first[row];
    size_t n = l->starts.first[row + 1] - first;
    if (cairn_grow((void **)&l->entries, &l->cap_entries, begin + n, sizeof *l->entries) < 0)
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct cairn_profile_start *at = &l->starts.items[first + i];
        l->entries[l->n_entries++] =
            (struct cairn_profile_entry){row, at->stack, at->inner, (uint32_t)(first + i)};
    }
    return push(l, begin, l->n_entries, begin);
}

bool cairn_profile_levels_open(struct cairn_profile_levels *l,
                               const struct cairn_profile_group *group)
{
    size_t begin = l->n_entries;
    if (l->up)
        return push(l, group->begin, ascend(l, group->begin, group->end), begin);
    return descend(l, group->begin, group->end) && push(l, begin, l->n_entries, begin);
}

void cairn_profile_levels_close(struct cairn_profile_levels *l)
{
    const struct cairn_profile_level *level = &l->items[--l->n];
    l->n_groups = level->groups_begin;
    l->n_entries = level->entries_begin;
}

static int compare_i64(int64_t a, int64_t b)
{
    return a > b ? -1 : a < b;
}

int cairn_profile_compare_groups(const void *a, const void *b)
{
    const struct cairn_profile_group *x = a, *y = b;
    int order = compare_i64(x->total, y->total);
    if (order == 0)
        order = compare_i64(x->self, y->self);
    return order ? order : cairn_profile_compare_names(x->row, y->row);
}
