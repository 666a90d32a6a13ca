/* SPDX-License-Identifier: MIT */
/* Leaks of several processes by stack, wherever in each its modules lie. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "watch/heap.h"

struct row {
    struct cairn_heap_leak leak;
    uint32_t key;
};

static int compare_texts(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

/* Those that are one, in a row, what has most of it first: its process and stack stand for all. */
static int compare_rows(const void *x, const void *y)
{
    const struct row *a = x, *b = y;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    int order = compare_texts(a->leak.cut, b->leak.cut);
    if (order == 0)
        order = compare_texts(a->leak.kind, b->leak.kind);
    return order ? order : cairn_heap_compare_leaks(&a->leak, &b->leak);
}

static bool is_one(const struct row *a, const struct row *b)
{
    return a->key == b->key && compare_texts(a->leak.cut, b->leak.cut) == 0 &&
           compare_texts(a->leak.kind, b->leak.kind) == 0;
}

static void add(struct cairn_heap_leak *to, const struct cairn_heap_leak *from)
{
    double error = (double)to->error_bytes * (double)to->error_bytes +
                   (double)from->error_bytes * (double)from->error_bytes;
    bool is_live = from->n_blocks > 0, was_live = to->n_blocks > 0;
    if (is_live && (!was_live || from->oldest_ns > to->oldest_ns))
        to->oldest_ns = from->oldest_ns;
    if (is_live && (!was_live || from->youngest_ns < to->youngest_ns))
        to->youngest_ns = from->youngest_ns;
    to->error_bytes = cairn_heap_error(error);
    to->n_processes += from->n_processes;
    to->n_blocks += from->n_blocks;
    to->bytes += from->bytes;
    to->n_allocs += from->n_allocs;
    to->alloc_bytes += from->alloc_bytes;
    to->peak_blocks += from->peak_blocks;
    to->peak_bytes += from->peak_bytes;
    to->n_temporary += from->n_temporary;
}

static int give_keys(const struct cairn_profile *profile, struct cairn_heap_leak *leaks, size_t n,
                     struct row *rows, struct cairn_err *err)
{
    struct cairn_heap_keys *keys = NULL;
    uint32_t *numbers = cairn_alloc(n, sizeof *numbers);
    int result = numbers ? cairn_heap_keys_new(NULL, 0, &keys, err) : cairn_fail_memory(err);
    if (result == CAIRN_OK)
        result = cairn_heap_keys_of(keys, profile, leaks, n, numbers, err);
    for (size_t i = 0; result == CAIRN_OK && i < n; i++)
        rows[i] = (struct row){leaks[i], numbers[i]};
    cairn_heap_keys_free(keys);
    cairn_free(numbers);
    return result;
}

/* A process has a stack more than once where a module was loaded again elsewhere: it is still one
 * process, but nobody is asked for that. */
int cairn_heap_merge_leaks(const struct cairn_profile *profile, struct cairn_heap_leak *leaks,
                           size_t *n, struct cairn_err *err)
{
    size_t kept = 0;
    if (*n < 2)
        return CAIRN_OK;
    struct row *rows = cairn_alloc(*n, sizeof *rows);
    int result = rows ? give_keys(profile, leaks, *n, rows, err) : cairn_fail_memory(err);
    if (result < 0) {
        cairn_free(rows);
        return result;
    }
    qsort(rows, *n, sizeof *rows, compare_rows);
    for (size_t i = 0; i < *n; i++) {
        if (i && is_one(&rows[i - 1], &rows[i]))
            add(&leaks[kept - 1], &rows[i].leak);
        else
            leaks[kept++] = rows[i].leak;
    }
    cairn_free(rows);
    qsort(leaks, kept, sizeof *leaks, cairn_heap_compare_leaks);
    *n = kept;
    return CAIRN_OK;
}
