/* SPDX-License-Identifier: MIT */
/*
 * The table of cairn trace --top:
 *
 *     by fd: 12,040 events in 3.0 s, 4,010/s, 2 values; 0 lost
 *            EVENTS   SHARE      EVENTS/S  FD
 *             8,027  66.7 %         2,673  3</dev/null>
 */
#include "cli/trace_top_rows.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/escape.h"
#include "cli/numbers.h"
#include "cli/term.h"
#include "cli/trace.h"

enum {
    FRAMES_MAX = 256, /* of a stack that are looked at for a name */
    STACKS_PRINTED = 10,
    ROWS_PRINTED = 50,
    LINES_DEFAULT = 24,
    HEAD = 2, /* lines above the rows; one below says what is not shown */
    COUNT_WIDTH = 13
};

static const char to_begin[] = "\033[H", to_end_of_line[] = "\033[K", to_end[] = "\033[J";

static void put_quoted(struct cairn_buffer *out, const char *text)
{
    cairn_buffer_char(out, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            cairn_buffer_char(out, '\\');
        cairn_buffer_char(out, *text);
    }
    cairn_buffer_char(out, '"');
}

static bool put_common(struct cairn_buffer *out, const struct cairn_trace_event *event,
                       const char *field)
{
    if (strcmp(field, "pid") == 0 || strcmp(field, "event_pid") == 0)
        cairn_buffer_printf(out, "%d", event->pid);
    else if (strcmp(field, "tid") == 0 || strcmp(field, "event_tid") == 0)
        cairn_buffer_printf(out, "%d", event->tid);
    else if (strcmp(field, "uid") == 0)
        cairn_buffer_printf(out, "%u", event->uid);
    else if (strcmp(field, "cpu") == 0 && event->cpu != UINT32_MAX)
        cairn_buffer_printf(out, "%u", event->cpu);
    else if (strcmp(field, "comm") == 0)
        put_quoted(out, event->comm);
    else if (strcmp(field, "event") == 0)
        cairn_buffer_str(out, event->name);
    else if (strcmp(field, "ret") == 0 && event->has_result)
        cairn_buffer_str(out, event->result_text);
    else if (strcmp(field, "errno") == 0 && event->has_result)
        cairn_buffer_str(out, *event->error ? event->error : "0");
    else
        return false;
    return true;
}

/* An argument's own name comes first, as in filters. */
void cli_trace_top_value(struct cairn_buffer *out, const struct cairn_trace_event *event,
                         const char *field)
{
    for (uint32_t i = 0; i < event->n_args; i++)
        if (strcmp(event->arg_names[i], field) == 0) {
            cairn_buffer_str(out, event->arg_texts[i]);
            return;
        }
    if (!put_common(out, event, field))
        cairn_buffer_printf(out, "(no %s)", field);
}

/* The name of a frame; false: it has none, and the place of it is written if `wants_place`. */
static bool put_frame(struct cairn_buffer *out, const struct cairn_profile *profile, uint32_t frame,
                      uint32_t line, bool wants_place)
{
    struct cairn_frame_info info = {.size = sizeof info};
    struct cairn_frame_line of;
    if (cairn_profile_frame(profile, frame, &info) < 0)
        return false;
    if (line < info.n_lines && cairn_profile_frame_line(profile, frame, line, &of) == CAIRN_OK &&
        of.function && *of.function) {
        cairn_buffer_str(out, of.function);
        return true;
    }
    if (wants_place)
        cli_add_unnamed(out, &info);
    return false;
}

void cli_trace_top_function(struct cairn_buffer *out, struct cairn_trace *trace, uint32_t stack)
{
    const struct cairn_profile *profile;
    uint32_t frames[FRAMES_MAX];
    const size_t all = cairn_trace_frames(trace, stack, frames, FRAMES_MAX, &profile);
    const size_t n = all < FRAMES_MAX ? all : FRAMES_MAX;
    for (size_t i = 0; i < n; i++)
        if (put_frame(out, profile, frames[i], 0, false))
            return;
    if (n)
        (void)put_frame(out, profile, frames[0], 0, true);
    else
        cairn_buffer_str(out, "(no stack)");
}

/* "place_a < deeper < main", the innermost function first. */
static void put_chain(struct cairn_buffer *out, struct cairn_trace *trace, uint32_t stack,
                      size_t width)
{
    const struct cairn_profile *profile;
    struct cairn_frame_info info = {.size = sizeof info};
    uint32_t frames[FRAMES_MAX];
    const size_t all = cairn_trace_frames(trace, stack, frames, FRAMES_MAX, &profile);
    const size_t begin = out->size;
    for (size_t i = 0; i < all && i < FRAMES_MAX && out->size - begin < width; i++) {
        const bool is_there = cairn_profile_frame(profile, frames[i], &info) == CAIRN_OK;
        /* of inlined calls the outermost one alone: a line is short */
        const uint32_t line = info.n_lines ? info.n_lines - 1 : 0;
        cairn_buffer_str(out, is_there && i ? " < " : "");
        if (is_there)
            (void)put_frame(out, profile, frames[i], line, true);
    }
    if (!all)
        cairn_buffer_str(out, "(no stack)");
}

static int by_count(const void *a, const void *b)
{
    const struct cli_trace_top_row *const *x = a, *const *y = b;
    if ((*x)->n != (*y)->n)
        return (*x)->n < (*y)->n ? 1 : -1;
    return *x < *y ? -1 : *x > *y; /* the older one */
}

/* The rows with events, those with most first; for the caller to free. NULL: memory is gone. */
static const struct cli_trace_top_row **sort(const struct cli_trace_top *top, size_t *ret_n)
{
    const struct cli_trace_top_row **sorted = cairn_alloc(top->n + 1, sizeof *sorted);
    *ret_n = 0;
    if (!sorted)
        return NULL;
    for (size_t i = 0; i < top->n; i++)
        if (top->rows[i].n)
            sorted[(*ret_n)++] = &top->rows[i];
    qsort(sorted, *ret_n, sizeof *sorted, by_count);
    return sorted;
}

static void put_right(struct cairn_buffer *out, uint64_t n)
{
    struct cairn_buffer text = {0};
    cli_add_count(&text, n);
    cairn_buffer_printf(out, "%*s", COUNT_WIDTH, cairn_buffer_text(&text));
    cairn_buffer_done(&text);
}

static void put_head(const struct cli_trace_top *top, size_t n_rows, struct cairn_buffer *out)
{
    static const char *const keys[] = {[CLI_TRACE_BY_STACK] = "stack",
                                       [CLI_TRACE_BY_FUNCTION] = "function",
                                       [CLI_TRACE_BY_FIELD] = "value"};
    cairn_buffer_printf(out, "by %s: ", top->field ? top->field : keys[top->by]);
    cli_add_counted(out, top->stats.n_counted, "event");
    cairn_buffer_str(out, " in ");
    cli_add_duration(out, top->stats.duration_ns);
    cairn_buffer_str(out, ", ");
    cli_add_count(out, (uint64_t)(top->rate + 0.5));
    cairn_buffer_str(out, "/s, ");
    cli_add_counted(out, n_rows, keys[top->by]);
    cairn_buffer_str(out, "; ");
    cli_add_count(out, top->stats.n_lost);
    cairn_buffer_str(out, " lost");
}

/* Events that have no row, and why; in the end all of them are known. */
static uint64_t put_rest(const struct cli_trace_top *top, uint64_t n_below, size_t rows_below,
                         bool is_end, struct cairn_buffer *out)
{
    const uint64_t counted = top->stats.n_counted;
    const uint64_t n_unread =
        top->by == CLI_TRACE_BY_FIELD && counted > top->n_read ? counted - top->n_read : 0;
    const size_t begin = out->size;
    if (n_below) {
        cairn_buffer_str(out, "  not shown: ");
        cli_add_count(out, n_below);
        cairn_buffer_str(out, " in ");
        cli_add_counted(out, rows_below, "row");
    }
    if (top->n_beyond) {
        cairn_buffer_str(out, out->size > begin ? "; " : "  ");
        cli_add_count(out, top->n_beyond);
        cairn_buffer_str(out, " beyond the ");
        cli_add_count(out, CLI_TRACE_TOP_ROWS_MAX);
        cairn_buffer_str(out, " rows that are kept");
    }
    if (n_unread) {
        cairn_buffer_str(out, out->size > begin ? "; " : "  ");
        cli_add_count(out, n_unread);
        cairn_buffer_str(out, is_end ? " counted alone, for they came faster than they were read"
                                     : " not read yet, or not at all");
    }
    return out->size - begin;
}

static void put_titles(const struct cli_trace_top *top, struct cairn_buffer *out)
{
    cairn_buffer_printf(out, "%*s  SHARE%*s  ", COUNT_WIDTH, "EVENTS", COUNT_WIDTH, "EVENTS/S");
    if (top->by == CLI_TRACE_BY_STACK)
        cairn_buffer_str(out, "EVENT AND STACK");
    else
        cairn_buffer_str(out, top->by == CLI_TRACE_BY_FUNCTION ? "FUNCTION" : top->field);
}

static void put_numbers(const struct cli_trace_top *top, const struct cli_trace_top_row *row,
                        struct cairn_buffer *out)
{
    const uint64_t all = top->stats.n_counted > row->n ? top->stats.n_counted : row->n;
    put_right(out, row->n);
    cairn_buffer_printf(out, " %5.1f%%", 100.0 * (double)row->n / (double)all);
    put_right(out, (uint64_t)(row->rate + 0.5));
    cairn_buffer_str(out, "  ");
}

static const char *text_of(const struct cli_trace_top *top, const struct cli_trace_top_row *row)
{
    return row->text == SIZE_MAX ? "" : (const char *)top->texts.data + row->text;
}

static void put_escaped(struct cairn_buffer *out, const char *text)
{
    cairn_escape_terminal(out, text, strlen(text));
}

/* Bytes of a text that are at most `width` characters. */
static size_t cut_at(const char *text, size_t size, size_t width)
{
    size_t at = 0, n = 0;
    for (; at < size; at++) {
        if ((text[at] & 0xc0) == 0x80)
            continue;
        if (n++ == width)
            break;
    }
    return at;
}

/* What is in `line` on a line of the screen; the rest of the old one goes. */
static void put_line(struct cli_trace_top *top, struct cairn_buffer *line)
{
    const char *text = cairn_buffer_text(line);
    cairn_buffer_add(&top->out, text, cut_at(text, line->size, cli_width()));
    cairn_buffer_str(&top->out, to_end_of_line);
    cairn_buffer_char(&top->out, '\n');
    cairn_buffer_clear(line);
}

static size_t screen_lines(void)
{
    struct winsize size = {0};
    const char *wanted = getenv("LINES");
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row)
        return size.ws_row;
    const long lines = wanted ? strtol(wanted, NULL, 10) : 0;
    return lines > HEAD + 2 && lines < 10000 ? (size_t)lines : LINES_DEFAULT;
}

static void put_short(struct cli_trace_top *top, const struct cli_trace_top_row *row,
                      struct cairn_buffer *line)
{
    put_numbers(top, row, line);
    if (top->by != CLI_TRACE_BY_STACK) {
        put_escaped(line, text_of(top, row));
        return;
    }
    put_escaped(line, row->event);
    cairn_buffer_str(line, ": ");
    cairn_buffer_clear(&top->now);
    put_chain(&top->now, top->trace, row->stack, cli_width());
    put_escaped(line, cairn_buffer_text(&top->now));
}

void cli_trace_top_draw(struct cli_trace_top *top)
{
    size_t n, lines = screen_lines();
    uint64_t n_below = 0;
    struct cairn_buffer line = {0};
    const struct cli_trace_top_row **sorted = sort(top, &n);
    const size_t n_put = lines > HEAD + 2 ? lines - HEAD - 2 : 1;
    cairn_buffer_str(&top->out, to_begin);
    put_head(top, n, &line);
    put_line(top, &line);
    put_titles(top, &line);
    put_line(top, &line);
    for (size_t i = 0; sorted && i < n; i++) {
        if (i >= n_put) {
            n_below += sorted[i]->n;
            continue;
        }
        put_short(top, sorted[i], &line);
        put_line(top, &line);
    }
    if (put_rest(top, n_below, n > n_put ? n - n_put : 0, false, &line))
        put_line(top, &line);
    cairn_buffer_str(&top->out, to_end);
    top->out.failed = top->out.failed || !sorted || line.failed;
    cairn_buffer_done(&line);
    cairn_free(sorted);
}

void cli_trace_top_print(struct cli_trace_top *top)
{
    const bool by_stack = top->by == CLI_TRACE_BY_STACK;
    const size_t most = by_stack ? STACKS_PRINTED : ROWS_PRINTED;
    struct cairn_buffer *out = &top->out;
    uint64_t n_below = 0;
    size_t n;
    const struct cli_trace_top_row **sorted = sort(top, &n);
    if (top->is_live) {
        cairn_buffer_str(out, to_begin);
        cairn_buffer_str(out, to_end);
    }
    put_head(top, n, out);
    cairn_buffer_char(out, '\n');
    put_titles(top, out);
    cairn_buffer_char(out, '\n');
    for (size_t i = 0; sorted && i < n; i++) {
        if (i >= most) {
            n_below += sorted[i]->n;
            continue;
        }
        put_numbers(top, sorted[i], out);
        put_escaped(out, by_stack ? sorted[i]->event : text_of(top, sorted[i]));
        cairn_buffer_char(out, '\n');
        if (by_stack)
            cli_trace_stack(out, top->trace, sorted[i]->stack, sorted[i]->cut);
    }
    if (put_rest(top, n_below, n > most ? n - most : 0, true, out))
        cairn_buffer_char(out, '\n');
    out->failed = out->failed || !sorted;
    cairn_free(sorted);
}
