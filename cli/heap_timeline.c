/* SPDX-License-Identifier: MIT */
/* Live bytes and resident memory of a process over time: a line for each of a few stretches, as
 * JSON all that is known. */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cli/heap.h"
#include "cli/numbers.h"

enum { ROWS = 20, BAR = 40 };

/* All moments of a process; NULL where there are none, or memory is gone. */
static struct cairn_heap_moment *read_moments(const struct cairn_heap *heap, size_t process,
                                              size_t *ret_n)
{
    size_t n = cairn_heap_moments(heap, process, NULL, 0);
    struct cairn_heap_moment *moments = n ? cairn_alloc(n, sizeof *moments) : NULL;
    *ret_n = moments ? cairn_heap_moments(heap, process, moments, n) : 0;
    return moments;
}

/* Of the moments [from, to) the one with the most live, and the last mark among them. */
static struct cairn_heap_moment most_of(const struct cairn_heap_moment *moments, size_t from,
                                        size_t to)
{
    struct cairn_heap_moment most = moments[from];
    uint32_t mark = most.mark;
    for (size_t i = from + 1; i < to; i++) {
        mark = moments[i].mark ? moments[i].mark : mark;
        if (moments[i].live_bytes > most.live_bytes)
            most = moments[i];
    }
    most.mark = mark;
    return most;
}

static void add_cell(struct cairn_buffer *out, int64_t bytes)
{
    struct cairn_buffer text = {0};
    if (bytes < 0)
        cairn_buffer_char(&text, '-');
    else
        cli_add_size(&text, (uint64_t)bytes);
    cairn_buffer_printf(out, "%12s", cairn_buffer_text(&text));
    cairn_buffer_done(&text);
}

static void add_moment(struct cairn_buffer *out, const struct cairn_heap_moment *moment,
                       int64_t highest)
{
    struct cairn_buffer time = {0};
    int bar = moment->live_bytes > 0 && highest > 0
                  ? (int)((double)moment->live_bytes * BAR / (double)highest + 0.5)
                  : 0;
    cli_add_duration(&time, moment->time_ns);
    cairn_buffer_printf(out, "%12s", cairn_buffer_text(&time));
    cairn_buffer_done(&time);
    add_cell(out, moment->live_bytes);
    add_cell(out, moment->rss_bytes);
    cairn_buffer_str(out, bar || moment->mark ? "  " : "");
    for (int i = 0; i < bar; i++)
        cairn_buffer_char(out, '#');
    if (moment->mark)
        cairn_buffer_printf(out, "%smark %" PRIu32, bar ? "  " : "", moment->mark);
    cairn_buffer_char(out, '\n');
}

static void add_rows(struct cairn_buffer *out, const struct cairn_heap_moment *moments, size_t n)
{
    size_t n_rows = n < ROWS ? n : ROWS;
    int64_t highest = most_of(moments, 0, n).live_bytes;
    cairn_buffer_printf(out, "\n%12s%12s%12s\n", "after", "live", "resident");
    for (size_t i = 0; i < n_rows; i++) {
        const struct cairn_heap_moment most =
            most_of(moments, i * n / n_rows, (i + 1) * n / n_rows);
        add_moment(out, &most, highest);
    }
}

/* A process of less than a second has no line. */
void cli_heap_add_timeline(struct cairn_buffer *out, const struct cairn_heap *heap, size_t process)
{
    size_t n;
    struct cairn_heap_moment *moments = read_moments(heap, process, &n);
    if (n > 1)
        add_rows(out, moments, n);
    cairn_free(moments);
}

static void put_bytes(struct cairn_json *json, const char *name, int64_t bytes)
{
    if (bytes < 0)
        cairn_json_str(json, name, NULL);
    else
        cairn_json_i64(json, name, bytes);
}

void cli_heap_put_timeline(struct cairn_json *json, const struct cairn_heap *heap, size_t process)
{
    size_t n;
    struct cairn_heap_moment *moments = read_moments(heap, process, &n);
    cairn_json_open(json, "timeline", '[');
    for (size_t i = 0; i < n; i++) {
        cairn_json_open(json, NULL, '{');
        cairn_json_real(json, "seconds", (double)moments[i].time_ns / 1e9);
        put_bytes(json, "live_bytes", moments[i].live_bytes);
        put_bytes(json, "resident_bytes", moments[i].rss_bytes);
        if (moments[i].mark)
            cairn_json_u64(json, "mark", moments[i].mark);
        cairn_json_close(json, '}');
    }
    cairn_json_close(json, ']');
    cairn_free(moments);
}
