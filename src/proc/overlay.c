/* SPDX-License-Identifier: MIT */
/*
 * A sweep from low to high addresses. The heap holds the rows that began already, the latest of the
 * text on top; at each place where a row begins or the top one ends, the top owns what follows:
 *
 *     row 0   |==================|
 *     row 1        |====|
 *     owner   0    1    0        -          row 0 is split, row 1 is whole
 */
#include "proc/overlay.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"

struct sweep {
    const struct cairn_map *rows; /* in the order of the text */
    const size_t *by_start;       /* indices of rows, lowest start first */
    size_t n;
    size_t *heap; /* indices of rows that began, the largest first */
    size_t heap_n;
    uint64_t *left_bytes; /* by row: how much of it is in `out` */
    struct cairn_map *out;
    size_t out_n, last; /* `last`: row that the last of `out` was cut from */
};

static void swap(size_t *a, size_t *b)
{
    size_t kept = *a;
    *a = *b;
    *b = kept;
}

static void heap_push(struct sweep *s, size_t row)
{
    size_t at = s->heap_n++;
    s->heap[at] = row;
    for (; at && s->heap[(at - 1) / 2] < s->heap[at]; at = (at - 1) / 2)
        swap(&s->heap[at], &s->heap[(at - 1) / 2]);
}

static void heap_pop(struct sweep *s)
{
    s->heap[0] = s->heap[--s->heap_n];
    for (size_t at = 0;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < s->heap_n && s->heap[child + 1] > s->heap[child])
            child++;
        if (child >= s->heap_n || s->heap[child] < s->heap[at])
            return;
        swap(&s->heap[child], &s->heap[at]);
        at = child;
    }
}

static void emit(struct sweep *s, size_t row, uint64_t start, uint64_t end)
{
    s->left_bytes[row] += end - start;
    if (s->out_n && s->last == row && s->out[s->out_n - 1].end == start) {
        s->out[s->out_n - 1].end = end;
        return;
    }
    struct cairn_map piece = s->rows[row];
    if (piece.flags & CAIRN_MAP_FILE)
        piece.off += start - piece.start;
    piece.start = start;
    piece.end = end;
    s->out[s->out_n++] = piece;
    s->last = row;
}

static void sweep(struct sweep *s)
{
    size_t next = 0;
    uint64_t at = 0;
    while (next < s->n || s->heap_n) {
        while (s->heap_n && s->rows[s->heap[0]].end <= at)
            heap_pop(s);
        if (!s->heap_n && next < s->n && s->rows[s->by_start[next]].start > at)
            at = s->rows[s->by_start[next]].start;
        for (; next < s->n && s->rows[s->by_start[next]].start <= at; next++)
            heap_push(s, s->by_start[next]);
        if (!s->heap_n)
            continue;
        size_t top = s->heap[0];
        uint64_t end = s->rows[top].end;
        if (next < s->n && s->rows[s->by_start[next]].start < end)
            end = s->rows[s->by_start[next]].start;
        if (end > at)
            emit(s, top, at, end);
        at = end;
    }
}

static int compare_starts(const void *a, const void *b, void *rows_of)
{
    const struct cairn_map *rows = rows_of;
    uint64_t start_a = rows[*(const size_t *)a].start, start_b = rows[*(const size_t *)b].start;
    return start_a < start_b ? -1 : start_a > start_b;
}

static bool is_apart(const struct cairn_map *rows, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (rows[i].start < rows[i - 1].end)
            return false;
    return true;
}

static size_t count_covered(const struct sweep *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        n += s->left_bytes[i] < s->rows[i].end - s->rows[i].start;
    return n;
}

int cairn_overlay(struct cairn_map **rows, size_t *n, size_t *ret_n_covered)
{
    if (is_apart(*rows, *n)) {
        *ret_n_covered = 0;
        return CAIRN_OK;
    }
    size_t *by_start = cairn_alloc(*n, sizeof *by_start);
    struct sweep s = {
        .rows = *rows,
        .by_start = by_start,
        .n = *n,
        .heap = cairn_alloc(*n, sizeof *s.heap),
        .out = cairn_alloc(*n, 2 * sizeof *s.out),
        .left_bytes = cairn_alloc(*n, sizeof *s.left_bytes),
    };
    bool sound = by_start && s.heap && s.out && s.left_bytes;
    if (sound) {
        for (size_t i = 0; i < *n; i++)
            by_start[i] = i;
        qsort_r(by_start, *n, sizeof *by_start, compare_starts, *rows);
        sweep(&s);
        *ret_n_covered = count_covered(&s);
        *n = s.out_n;
        cairn_free(*rows);
        *rows = s.out;
    } else {
        cairn_free(s.out);
    }
    cairn_free(by_start);
    cairn_free(s.heap);
    cairn_free(s.left_bytes);
    return sound ? CAIRN_OK : CAIRN_E_NOMEM;
}
