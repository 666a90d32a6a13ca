/* SPDX-License-Identifier: MIT */
#include "cli/flame_lines.h"

#include <stdbool.h>

#include <cairn/heap.h>

#include "base/alloc.h"
#include "base/error.h"

enum which { LINE_LIVE, LINE_RESIDENT, LINE_MARK };

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
    *ret_value = which == LINE_LIVE ? moment->live_bytes : moment->rss_bytes;
    return *ret_value >= 0;
}

static int add_line(struct cli_flame_lines *lines, enum which which,
                    const struct cairn_heap_moment *moments, size_t n)
{
    static const char *const names[] = {"live", "resident", "mark"};
    struct cairn_picture_point *points = cairn_alloc(n, sizeof *points);
    size_t n_points = 0;
    if (!points)
        return CAIRN_E_NOMEM;
    lines->points[lines->n] = points;
    for (size_t i = 0; i < n; i++)
        if (value_of(&moments[i], which, &points[n_points].value))
            points[n_points++].time_ns = moments[i].time_ns;
    lines->lines[lines->n++] =
        (struct cairn_picture_line){.name = names[which],
                                    .unit = which == LINE_MARK ? "count" : "bytes",
                                    .points = points,
                                    .n = n_points};
    return CAIRN_OK;
}

static int add_lines(const struct cairn_heap *heap, struct cli_flame_lines *lines)
{
    size_t n = cairn_heap_moments(heap, 0, NULL, 0);
    struct cairn_heap_moment *moments = n > 1 ? cairn_alloc(n, sizeof *moments) : NULL;
    int rc = n > 1 && !moments ? CAIRN_E_NOMEM : CAIRN_OK;
    n = moments ? cairn_heap_moments(heap, 0, moments, n) : 0;
    for (int which = LINE_LIVE; n > 1 && which <= LINE_MARK && rc == CAIRN_OK; which++)
        rc = add_line(lines, (enum which)which, moments, n);
    cairn_free(moments);
    return rc;
}

int cli_flame_lines_read(const char *path, struct cli_flame_lines *ret_lines, struct cairn_err *err)
{
    struct cairn_heap *heap;
    struct cli_flame_lines lines = {0};
    int rc = cairn_heap_read_file(path, &heap, err);
    if (rc < 0)
        return rc;
    rc = add_lines(heap, &lines);
    cairn_heap_free(heap);
    if (rc < 0) {
        cli_flame_lines_done(&lines);
        return cairn_fail(err, rc, "no memory left");
    }
    *ret_lines = lines;
    return CAIRN_OK;
}
