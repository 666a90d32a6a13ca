/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "cli/heap_top.h"

enum { FRAMES_MAX = 1024 };
static const uint64_t MINUTE_NS = 60000000000;

static int compare_pasts(const void *x, const void *y)
{
    const struct cli_heap_top_past *a = x, *b = y;
    return a->key < b->key ? -1 : a->key > b->key;
}

/* All-zero for a stack that there was none of then. */
static struct cli_heap_top_past past_of(const struct cli_heap_top *top, size_t look, uint32_t key)
{
    const struct cli_heap_top_past wanted = {.key = key}, none = {0}, *found;
    size_t at = look % CLI_HEAP_TOP_PASTS;
    found = top->pasts[at].n ? bsearch(&wanted, top->pasts[at].rows, top->pasts[at].n,
                                       sizeof wanted, compare_pasts)
                             : NULL;
    return found ? *found : none;
}

/* The look that growth is reckoned from: the first one of the last minute that is still known. */
static size_t first_of_minute(const struct cli_heap_top *top)
{
    size_t first =
        top->n_looks > CLI_HEAP_TOP_PASTS - 1 ? top->n_looks - (CLI_HEAP_TOP_PASTS - 1) : 0;
    while (first + 1 < top->n_looks &&
           top->look_ns - top->pasts[first % CLI_HEAP_TOP_PASTS].time_ns > MINUTE_NS)
        first++;
    return first;
}

static double seconds_since(const struct cli_heap_top *top, size_t look)
{
    return (double)(top->look_ns - top->pasts[look % CLI_HEAP_TOP_PASTS].time_ns) / 1e9;
}

static double difference(uint64_t now, uint64_t then)
{
    return (double)now - (double)then;
}

static void reckon(struct cli_heap_top *top)
{
    size_t first = first_of_minute(top), last = top->n_looks - 1;
    double since_first = top->n_looks ? seconds_since(top, first) : 0;
    double since_last = top->n_looks ? seconds_since(top, last) : 0;
    top->growth = top->rate = 0;
    top->growth_seconds = since_first;
    for (size_t i = 0; top->n_looks && i < top->n; i++) {
        struct cli_heap_top_row *row = &top->rows[i];
        const struct cli_heap_top_past then = past_of(top, first, row->key);
        const struct cli_heap_top_past before = past_of(top, last, row->key);
        if (since_first > 0)
            row->growth = difference(row->bytes, then.bytes) * 60 / since_first;
        if (since_last > 0 && row->n_allocs > before.n_allocs)
            row->rate = difference(row->n_allocs, before.n_allocs) / since_last;
        top->growth += row->growth;
        top->rate += row->rate;
    }
}

/* Equal stacks of several processes, or of one that was read twice, are one row. */
static size_t merge_equal(struct cli_heap_top_row *rows, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (kept && rows[kept - 1].key == rows[i].key) {
            rows[kept - 1].bytes += rows[i].bytes;
            rows[kept - 1].blocks += rows[i].blocks;
            rows[kept - 1].n_allocs += rows[i].n_allocs;
        } else {
            rows[kept++] = rows[i];
        }
    }
    return kept;
}

static int compare_keys(const void *x, const void *y)
{
    const struct cli_heap_top_row *a = x, *b = y;
    return a->key < b->key ? -1 : a->key > b->key;
}

static int make_rows(struct cli_heap_top *top, const struct cli_heap_look *look,
                     struct cairn_err *err)
{
    struct cli_heap_top_row *rows = cairn_alloc(look->n + 1, sizeof *rows);
    uint32_t *keys = cairn_alloc(look->n + 1, sizeof *keys);
    int result = rows && keys ? CAIRN_OK : cairn_fail_memory(err);
    if (result == CAIRN_OK)
        result = cairn_heap_keys_of(top->keys, look->profile, look->leaks, look->n, keys, err);
    for (size_t i = 0; result == CAIRN_OK && i < look->n; i++) {
        const struct cairn_heap_leak *leak = &look->leaks[i];
        rows[i] = (struct cli_heap_top_row){.key = keys[i],
                                            .stack = leak->stack,
                                            .bytes = leak->bytes,
                                            .lost = cli_lost_keys_bytes(&top->lost.keys, keys[i]),
                                            .blocks = leak->n_blocks,
                                            .n_allocs = leak->n_allocs};
    }
    cairn_free(keys);
    if (result < 0) {
        cairn_free(rows);
        return result;
    }
    cairn_free(top->rows);
    top->rows = rows;
    qsort(rows, look->n, sizeof *rows, compare_keys);
    top->n = merge_equal(rows, look->n);
    return CAIRN_OK;
}

/* Rows are sorted by key here. */
static int keep_past(struct cli_heap_top *top, struct cairn_err *err)
{
    size_t at = top->n_looks % CLI_HEAP_TOP_PASTS;
    struct cli_heap_top_past *past = cairn_alloc(top->n + 1, sizeof *past);
    if (!past)
        return cairn_fail_memory(err);
    for (size_t i = 0; i < top->n; i++)
        past[i] = (struct cli_heap_top_past){.key = top->rows[i].key,
                                             .bytes = top->rows[i].bytes,
                                             .n_allocs = top->rows[i].n_allocs};
    cairn_free(top->pasts[at].rows);
    top->pasts[at].rows = past;
    top->pasts[at].n = top->n;
    top->pasts[at].time_ns = top->look_ns;
    top->n_looks++;
    return CAIRN_OK;
}

/* The last look stays where the process has ended. */
static int look_again(struct cli_heap_top *top, struct cli_heap_look *ret_look,
                      struct cairn_err *err)
{
    int result = cli_heap_look(top->wanted, top->input, ret_look, err);
    if (result != CAIRN_E_MISSING || !top->n_looks)
        return result;
    top->has_ended = kill(top->look.pid, 0) < 0 && errno != EPERM;
    return CAIRN_OK;
}

int cli_heap_top_look(struct cli_heap_top *top, struct cairn_err *err)
{
    struct cli_heap_look look = {0};
    uint64_t begin = cairn_now_ns();
    int result = top->keys ? CAIRN_OK : cairn_heap_keys_new(NULL, 0, &top->keys, err);
    if (result == CAIRN_OK)
        result = cli_heap_top_lost_take(top, err);
    if (result == CAIRN_OK)
        result = look_again(top, &look, err);
    if (result < 0 || !look.heap)
        return result;
    top->look_ns = begin;
    result = make_rows(top, &look, err);
    if (result < 0) {
        cli_heap_look_done(&look);
        return result;
    }
    cli_heap_look_done(&top->look);
    top->look = look;
    reckon(top);
    result = keep_past(top, err);
    cli_heap_top_arrange(top);
    top->took_ns = cairn_now_ns() - begin;
    return result;
}

static bool holds(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

static bool passes(const struct cli_heap_top *top, const struct cli_heap_top_row *row)
{
    const char *part = cairn_buffer_text(&top->filter);
    uint32_t frames[FRAMES_MAX];
    size_t n = *part ? cairn_profile_stack(top->look.profile, row->stack, frames, FRAMES_MAX) : 0;
    for (size_t i = 0; i < n && i < FRAMES_MAX; i++) {
        struct cairn_frame_info frame = {.size = sizeof frame};
        struct cairn_frame_line line;
        if (cairn_profile_frame(top->look.profile, frames[i], &frame) < 0)
            continue;
        if (holds(frame.module, part))
            return true;
        for (uint32_t k = 0; k < frame.n_lines; k++)
            if (cairn_profile_frame_line(top->look.profile, frames[i], k, &line) == CAIRN_OK &&
                (holds(line.function, part) || holds(line.file, part)))
                return true;
    }
    return !*part;
}

static double value_of(const struct cli_heap_top_row *row, enum cli_heap_top_order order)
{
    switch (order) {
    case CLI_HEAP_BY_LIVE:
        return (double)row->bytes;
    case CLI_HEAP_BY_BLOCKS:
        return (double)row->blocks;
    case CLI_HEAP_BY_GROWTH:
        return row->growth;
    case CLI_HEAP_BY_RATE:
        return row->rate;
    case CLI_HEAP_BY_LOST:
        return (double)row->lost;
    }
    return 0;
}

static int compare_rows(const void *x, const void *y, void *top)
{
    const struct cli_heap_top_row *a = x, *b = y;
    enum cli_heap_top_order order = ((const struct cli_heap_top *)top)->order;
    double first = value_of(a, order), second = value_of(b, order);
    if (first > second || first < second)
        return first > second ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return compare_keys(x, y);
}

void cli_heap_top_arrange(struct cli_heap_top *top)
{
    top->n_shown = 0;
    for (size_t i = 0; i < top->n; i++)
        if (passes(top, &top->rows[i])) {
            struct cli_heap_top_row row = top->rows[i];
            top->rows[i] = top->rows[top->n_shown];
            top->rows[top->n_shown++] = row;
        }
    qsort_r(top->rows, top->n_shown, sizeof *top->rows, compare_rows, top);
}

void cli_heap_top_done(struct cli_heap_top *top)
{
    for (size_t i = 0; i < CLI_HEAP_TOP_PASTS; i++)
        cairn_free(top->pasts[i].rows);
    cli_lost_keys_done(&top->lost.keys);
    cairn_free(top->rows);
    cairn_heap_keys_free(top->keys);
    cli_heap_look_done(&top->look);
    cairn_buffer_done(&top->filter);
}
