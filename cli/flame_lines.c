/* SPDX-License-Identifier: MIT */
#include "cli/flame_lines.h"

#include <stdio.h>

#include <cairn/heap.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cli/profiles.h"

enum which { LINE_LIVE, LINE_RESIDENT, LINE_MARK, LINE_PEAK };

void cli_flame_lines_done(struct cli_flame_lines *lines)
{
    for (size_t i = 0; i < CLI_FLAME_LINES_MAX; i++)
        cairn_free(lines->points[i]);
    *lines = (struct cli_flame_lines){0};
}

/* False: that is not known of this moment, or no mark was set then. */
static bool value_of(const struct cairn_heap_moment *moment, enum which which, int64_t *ret_value)
{
    if (which == LINE_MARK) {
        *ret_value = moment->mark;
        return moment->mark != 0;
    }
    *ret_value = which != LINE_RESIDENT ? moment->live_bytes : moment->rss_bytes;
    return *ret_value >= 0;
}

/* Which process is worth a line: the one that had most. SIZE_MAX: none was there for two moments.
 */
static size_t largest_of(const struct cairn_heap *heap)
{
    struct cairn_heap_process process = {.size = sizeof process};
    size_t largest = SIZE_MAX;
    uint64_t most = 0;
    for (size_t i = 0; cairn_heap_process(heap, i, &process); i++) {
        if (cairn_heap_moments(heap, i, NULL, 0) < 2)
            continue;
        if (largest == SIZE_MAX || process.peak_bytes > most) {
            largest = i;
            most = process.peak_bytes;
        }
    }
    return largest;
}

static size_t count_processes(const struct cairn_heap *heap)
{
    struct cairn_heap_process process = {.size = sizeof process};
    size_t n = 0;
    while (cairn_heap_process(heap, n, &process))
        n++;
    return n;
}

/* "live"; where boxes are of more than this process, whose: "live in 4711 (python3 x.py) alone, 1
 * of 3 processes". */
static void name_line(const struct cairn_heap *heap, size_t number, bool is_of_more,
                      enum which which, struct cli_flame_lines *lines)
{
    static const char *const names[] = {"live", "resident", "mark", "peak"};
    struct cairn_heap_process process = {.size = sizeof process};
    char *name = lines->names[lines->n];
    size_t size = sizeof lines->names[lines->n], n = count_processes(heap);
    if (which >= LINE_MARK || (n < 2 && !is_of_more) ||
        !cairn_heap_process(heap, number, &process)) {
        snprintf(name, size, "%s", names[which]);
        return;
    }
    int used =
        snprintf(name, size, "%s in %d (%.60s) alone", names[which], process.pid, process.command);
    if (n > 1)
        snprintf(name + used, size - (size_t)used, ", 1 of %zu processes", n);
}

static int add_line(struct cli_flame_lines *lines, enum which which,
                    const struct cairn_heap_moment *moments, size_t n)
{
    struct cairn_picture_point *points = cairn_alloc(n, sizeof *points);
    size_t n_points = 0;
    if (!points)
        return CAIRN_E_NOMEM;
    lines->points[lines->n] = points;
    for (size_t i = 0; i < n; i++)
        if (value_of(&moments[i], which, &points[n_points].value))
            points[n_points++].time_ns = moments[i].time_ns;
    lines->lines[lines->n] =
        (struct cairn_picture_line){.name = lines->names[lines->n],
                                    .unit = which == LINE_MARK ? "count" : "bytes",
                                    .points = points,
                                    .n = n_points};
    lines->n++;
    return CAIRN_OK;
}

/* The highest live bytes, which lie between two moments: one point. */
static int add_peak(const struct cairn_heap *heap, size_t number, struct cli_flame_lines *lines)
{
    struct cairn_heap_process process = {.size = sizeof process};
    if (!cairn_heap_process(heap, number, &process) || !process.peak_ns)
        return CAIRN_OK;
    struct cairn_heap_moment peak = {.time_ns = process.peak_ns,
                                     .live_bytes = (int64_t)process.peak_bytes};
    name_line(heap, number, false, LINE_PEAK, lines);
    return add_line(lines, LINE_PEAK, &peak, 1);
}

static int add_lines(const struct cairn_heap *heap, bool is_of_more, struct cli_flame_lines *lines)
{
    size_t number = largest_of(heap);
    size_t n = number == SIZE_MAX ? 0 : cairn_heap_moments(heap, number, NULL, 0);
    struct cairn_heap_moment *moments = n ? cairn_alloc(n, sizeof *moments) : NULL;
    int rc = n && !moments ? CAIRN_E_NOMEM : CAIRN_OK;
    n = moments ? cairn_heap_moments(heap, number, moments, n) : 0;
    for (int which = LINE_LIVE; n > 1 && which <= LINE_MARK && rc == CAIRN_OK; which++) {
        name_line(heap, number, is_of_more, (enum which)which, lines);
        rc = add_line(lines, (enum which)which, moments, n);
    }
    if (n > 1 && rc == CAIRN_OK)
        rc = add_peak(heap, number, lines);
    struct cairn_heap_process process = {.size = sizeof process};
    if (n > 1 && cairn_heap_process(heap, number, &process) && process.start_ns <= INT64_MAX)
        lines->start_ns = (int64_t)process.start_ns;
    cairn_free(moments);
    return rc;
}

/* What is drawn has a sample for each epoch of a stack, this counts stacks. */
static int describe(struct cairn_heap *heap, struct cli_flame_lines *lines, struct cairn_err *err)
{
    struct cairn_profile *stacks = NULL;
    int rc = cairn_heap_profile(heap, NULL, &stacks, err);
    if (rc == CAIRN_OK)
        cairn_heap_quality_text(heap, stacks, lines->quality, sizeof lines->quality);
    cairn_profile_free(stacks);
    return rc;
}

int cli_flame_lines_read(const char *path, bool is_of_more, const struct cairn_profile *profile,
                         struct cli_flame_lines *ret_lines, struct cairn_err *err)
{
    size_t of_blocks;
    struct cairn_heap *heap;
    *ret_lines = (struct cli_flame_lines){0};
    int rc = cairn_heap_read_file(path, &heap, err);
    if (rc < 0)
        return rc;
    rc = add_lines(heap, is_of_more, ret_lines);
    if (rc == CAIRN_OK && !is_of_more &&
        cli_find_value(profile, path, "inuse_space", &of_blocks, NULL) == CAIRN_OK)
        rc = describe(heap, ret_lines, err);
    cairn_heap_free(heap);
    if (rc < 0) {
        cli_flame_lines_done(ret_lines);
        return cairn_fail(err, rc, "no memory left");
    }
    return CAIRN_OK;
}
