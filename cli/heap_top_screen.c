/* SPDX-License-Identifier: MIT */
/* The screen of cairn heap top, by ncurses. */
#include <curses.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <cairn/log.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/escape.h"
#include "cli/heap_top.h"
#include "cli/numbers.h"

/* Lines above the list; the last line of the screen is for the keys. */
enum { HEAD = 4, ESCAPE = 27, DELETE = 127, FILTER_MAX = 200, BUSY_SHARE = 4, WAIT_MS = 100 };

static const char help[] =
    " l live  b blocks  g growth  r rate   / filter   Enter stack   p pause   q quit";
static const char help_lost[] =
    " l live  o lost  b blocks  g growth  r rate   / filter   Enter stack   p pause   q quit";

struct screen {
    struct cli_heap_top *top;
    uint32_t selected; /* a row's key; it stays selected where it goes */
    size_t at, first;  /* its place; what the list begins with */
    bool is_detail, is_typing, has_ended;
    size_t scroll; /* of the stack that is shown */
    struct cairn_buffer line;
};

/* What is in `line`, cut to the width, on a line of the screen. */
static void put_line(struct screen *s, int y, int attributes)
{
    if (y < 0 || y >= LINES)
        return;
    move(y, 0);
    clrtoeol();
    attrset(attributes);
    addnstr(cairn_buffer_text(&s->line), COLS);
    attrset(A_NORMAL);
    cairn_buffer_clear(&s->line);
}

/* A number in a column of `width`. */
static void add_column(struct cairn_buffer *line, struct cairn_buffer *text, int width)
{
    cairn_buffer_printf(line, "%*s", width, cairn_buffer_text(text));
    cairn_buffer_clear(text);
}

/* Looks a few seconds apart begin and end somewhere in a minute. */
static bool is_whole_minute(const struct cli_heap_top *top)
{
    return top->growth_seconds >= 55;
}

/* What was not seen for a minute is a guess of what it would be. */
static void add_growth(struct cairn_buffer *out, const struct cli_heap_top *top, double growth)
{
    cairn_buffer_str(out, is_whole_minute(top) ? "" : "~");
    cairn_buffer_str(out, growth < 0 ? "-" : "+");
    cli_add_size(out, (uint64_t)fabs(growth));
}

/* What is lost, and since when that is known: a look takes a second or more. */
static void add_lost(struct cairn_buffer *line, const struct cli_heap_top *top)
{
    const struct cli_heap_top_found *lost = &top->lost;
    cairn_buffer_str(line, "   ");
    if (*lost->err.msg) {
        cairn_buffer_printf(line, "lost: %s", lost->err.msg);
    } else if (!lost->is_known) {
        cairn_buffer_str(line, "lost: looking");
    } else if (*lost->unsure) {
        cairn_buffer_printf(line, "nothing is claimed to be lost: %s", lost->unsure);
    } else {
        cairn_buffer_str(line, "lost ");
        cli_add_size(line, lost->bytes);
        cairn_buffer_str(line, " in ");
        cli_add_counted(line, lost->blocks, "block");
        cairn_buffer_printf(line, ", %.0f s ago", (double)(cairn_now_ns() - lost->time_ns) / 1e9);
    }
}

static void put_head(struct screen *s)
{
    const struct cli_heap_top *top = s->top;
    struct cairn_heap_process process = {.size = sizeof process};
    uint64_t bytes, blocks;
    cli_heap_sum_look(&top->look, &bytes, &blocks);
    cairn_buffer_printf(&s->line, "process %d", top->look.pid);
    if (cairn_heap_process(top->look.heap, 0, &process)) {
        cairn_buffer_str(&s->line, ": ");
        cairn_escape_terminal(&s->line, process.command, strlen(process.command));
    }
    cairn_buffer_str(&s->line, top->has_ended ? "  [ended]" : top->is_paused ? "  [paused]" : "");
    put_line(s, 0, A_BOLD);
    cairn_buffer_str(&s->line, "live ");
    cli_add_size(&s->line, bytes);
    cairn_buffer_str(&s->line, " in ");
    cli_add_counted(&s->line, blocks, "block");
    cairn_buffer_str(&s->line, ", ");
    add_growth(&s->line, top, top->growth);
    cairn_buffer_str(&s->line, " a minute");
    if (!is_whole_minute(top))
        cairn_buffer_printf(&s->line, " (seen for %.0f s)", top->growth_seconds);
    cairn_buffer_str(&s->line, "; peak ");
    cli_add_size(&s->line, process.peak_bytes);
    cairn_buffer_str(&s->line, "; ");
    cli_add_count(&s->line, (uint64_t)top->rate);
    cairn_buffer_str(&s->line, " allocations a second");
    put_line(s, 1, A_NORMAL);
    cli_add_counted(&s->line, top->n_shown, "stack");
    if (top->lost.is_wanted)
        add_lost(&s->line, top);
    if (s->is_typing || top->filter.size)
        cairn_buffer_printf(&s->line, "   filter: %s%s", cairn_buffer_text(&top->filter),
                            s->is_typing ? "_" : "");
    put_line(s, 2, A_NORMAL);
}

/* The columns, in their order; that of lost blocks is there if it is asked for. */
static const struct {
    enum cli_heap_top_order order;
    const char *title;
    int width;
} columns[] = {
    {CLI_HEAP_BY_LIVE, "LIVE", 11},     {CLI_HEAP_BY_LOST, "LOST", 11},
    {CLI_HEAP_BY_BLOCKS, "BLOCKS", 12}, {CLI_HEAP_BY_GROWTH, "GROWTH/MIN", 13},
    {CLI_HEAP_BY_RATE, "ALLOCS/S", 11},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static bool has_column(const struct cli_heap_top *top, size_t column)
{
    return columns[column].order != CLI_HEAP_BY_LOST || top->lost.is_wanted;
}

static void put_titles(struct screen *s)
{
    for (size_t i = 0; i < COLUMNS; i++) {
        struct cairn_buffer title = {0};
        if (!has_column(s->top, i))
            continue;
        cairn_buffer_printf(&title, "%s%s", s->top->order == columns[i].order ? "*" : "",
                            columns[i].title);
        add_column(&s->line, &title, columns[i].width);
        cairn_buffer_done(&title);
    }
    cairn_buffer_str(&s->line, "  ALLOCATED BY");
    cairn_buffer_printf(&s->line, "%*s", COLS, "");
    put_line(s, HEAD - 1, A_REVERSE);
}

static void add_value(struct cairn_buffer *out, const struct cli_heap_top *top,
                      const struct cli_heap_top_row *row, enum cli_heap_top_order order)
{
    switch (order) {
    case CLI_HEAP_BY_LIVE:
        cli_add_size(out, row->bytes);
        break;
    case CLI_HEAP_BY_BLOCKS:
        cli_add_count(out, row->blocks);
        break;
    case CLI_HEAP_BY_GROWTH:
        add_growth(out, top, row->growth);
        break;
    case CLI_HEAP_BY_RATE:
        cli_add_count(out, (uint64_t)row->rate);
        break;
    case CLI_HEAP_BY_LOST:
        if (row->lost)
            cli_add_size(out, row->lost);
        break;
    }
}

static void put_row(struct screen *s, const struct cli_heap_top_row *row, int y, bool is_selected)
{
    struct cairn_buffer text = {0};
    for (size_t i = 0; i < COLUMNS; i++) {
        if (!has_column(s->top, i))
            continue;
        add_value(&text, s->top, row, columns[i].order);
        add_column(&s->line, &text, columns[i].width);
    }
    cairn_buffer_str(&s->line, "  ");
    cli_heap_add_place(&s->line, s->top->look.profile, row->stack);
    cairn_buffer_done(&text);
    put_line(s, y, is_selected ? A_STANDOUT : A_NORMAL);
}

static size_t n_lines(void)
{
    return LINES > HEAD + 1 ? (size_t)(LINES - HEAD - 1) : 1;
}

/* The row that was selected, wherever it is now; one that is gone leaves the place. */
static void find_selected(struct screen *s)
{
    const struct cli_heap_top *top = s->top;
    for (size_t i = 0; i < top->n_shown; i++)
        if (top->rows[i].key == s->selected) {
            s->at = i;
            break;
        }
    if (s->at >= top->n_shown)
        s->at = top->n_shown ? top->n_shown - 1 : 0;
    if (s->at < s->first)
        s->first = s->at;
    if (s->at >= s->first + n_lines())
        s->first = s->at - n_lines() + 1;
}

static void put_list(struct screen *s)
{
    find_selected(s);
    put_titles(s);
    for (size_t i = 0; i < n_lines(); i++) {
        int y = HEAD + (int)i;
        if (s->first + i < s->top->n_shown)
            put_row(s, &s->top->rows[s->first + i], y, s->first + i == s->at);
        else
            put_line(s, y, A_NORMAL);
    }
}

/* The whole stack of the selected row, a frame a line. */
static void put_stack(struct screen *s)
{
    struct cairn_buffer text = {0};
    find_selected(s);
    if (s->top->n_shown)
        cli_heap_add_stack(&text, s->top->look.profile, s->top->rows[s->at].stack);
    put_titles(s);
    if (s->top->n_shown)
        put_row(s, &s->top->rows[s->at], HEAD, true);
    const char *line = cairn_buffer_text(&text);
    size_t skipped = 0;
    for (int y = HEAD + 1; y < LINES - 1;) {
        size_t size = strcspn(line, "\n");
        if (*line && skipped++ < s->scroll) {
            line += size + 1;
            continue;
        }
        cairn_buffer_add(&s->line, line, size);
        put_line(s, y++, A_NORMAL);
        line += size + (line[size] == '\n');
    }
    cairn_buffer_done(&text);
}

static void draw(struct screen *s)
{
    put_head(s);
    if (s->is_detail)
        put_stack(s);
    else
        put_list(s);
    cairn_buffer_str(&s->line, s->is_detail ? " Enter, Esc list   up, down scroll   q quit"
                               : s->top->lost.is_wanted ? help_lost
                                                        : help);
    put_line(s, LINES - 1, A_DIM);
    refresh();
}

static void select_at(struct screen *s, size_t at)
{
    s->at = at < s->top->n_shown ? at : s->top->n_shown ? s->top->n_shown - 1 : 0;
    s->selected = s->top->n_shown ? s->top->rows[s->at].key : 0;
}

/* A letter of the filter. */
static void type(struct screen *s, int key)
{
    struct cairn_buffer *filter = &s->top->filter;
    if (key == '\n' || key == '\r' || key == KEY_ENTER) {
        s->is_typing = false;
    } else if (key == ESCAPE) {
        cairn_buffer_clear(filter);
        s->is_typing = false;
    } else if ((key == KEY_BACKSPACE || key == DELETE || key == '\b') && filter->size) {
        filter->data[--filter->size] = '\0';
    } else if (key >= ' ' && key < 256 && key != DELETE && filter->size < FILTER_MAX) {
        cairn_buffer_char(filter, (char)key);
    }
    cli_heap_top_arrange(s->top);
    select_at(s, 0);
}

static void order_by(struct screen *s, enum cli_heap_top_order order)
{
    s->top->order = order;
    cli_heap_top_arrange(s->top);
    s->first = 0;
    select_at(s, 0);
}

static void move_to(struct screen *s, int key)
{
    size_t page = n_lines(), *at = s->is_detail ? &s->scroll : &s->at;
    size_t to = *at;
    switch (key) {
    case KEY_UP:
        to -= to > 0;
        break;
    case KEY_DOWN:
        to++;
        break;
    case KEY_PPAGE:
        to = to > page ? to - page : 0;
        break;
    case KEY_NPAGE:
        to += page;
        break;
    case KEY_HOME:
        to = 0;
        break;
    case KEY_END:
        to = s->top->n_shown;
        break;
    default:
        return;
    }
    if (s->is_detail)
        s->scroll = to;
    else
        select_at(s, to);
}

static void press(struct screen *s, int key)
{
    switch (key) {
    case 'q':
        s->has_ended = true;
        break;
    case 'l':
        order_by(s, CLI_HEAP_BY_LIVE);
        break;
    case 'b':
        order_by(s, CLI_HEAP_BY_BLOCKS);
        break;
    case 'g':
        order_by(s, CLI_HEAP_BY_GROWTH);
        break;
    case 'r':
        order_by(s, CLI_HEAP_BY_RATE);
        break;
    case 'o':
        if (s->top->lost.is_wanted)
            order_by(s, CLI_HEAP_BY_LOST);
        break;
    case 'p':
        s->top->is_paused = !s->top->is_paused;
        cli_heap_top_lost_pause(s->top, s->top->is_paused);
        break;
    case '/':
        s->is_typing = true;
        break;
    case '\n':
    case '\r':
    case KEY_ENTER:
        s->is_detail = !s->is_detail;
        s->scroll = 0;
        select_at(s, s->at);
        break;
    case ESCAPE:
        s->is_detail = false;
        break;
    default:
        move_to(s, key);
    }
}

/* A process of many stacks is not looked at most of the time. */
static bool is_due(const struct cli_heap_top *top)
{
    uint64_t pause = (uint64_t)(top->seconds * 1e9), busy = top->took_ns * BUSY_SHARE;
    return !top->is_paused && !top->has_ended &&
           cairn_now_ns() - top->look_ns >= (pause > busy ? pause : busy);
}

/* A key, ERR after WAIT_MS. A terminal that is gone ends it. */
static int wait_key(struct screen *s)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    int key = getch(); /* ncurses may have read it already, behind an Esc */
    if (key != ERR)
        return key;
    int n = poll(&in, 1, WAIT_MS);
    key = n == 0 ? ERR : getch();
    s->has_ended = n > 0 && key == ERR;
    return key;
}

static int watch(struct screen *s, struct cairn_err *err)
{
    int result = CAIRN_OK;
    select_at(s, 0);
    draw(s);
    while (!s->has_ended && result == CAIRN_OK) {
        int key = wait_key(s);
        bool due = is_due(s->top);
        if (key == ERR && !due)
            continue;
        if (key != ERR && s->is_typing)
            type(s, key);
        else if (key != ERR)
            press(s, key);
        if (due)
            result = cli_heap_top_look(s->top, err);
        draw(s);
    }
    return result;
}

int cli_heap_top_show(struct cli_heap_top *top, struct cairn_err *err)
{
    struct screen s = {.top = top};
    setlocale(LC_CTYPE, "");
    SCREEN *terminal = newterm(NULL, stdout, stdin);
    if (!terminal) {
        cairn_fail(err, CAIRN_E_SUPPORT, "heap top cannot use this terminal");
        cairn_hint(err, "is TERM set to what it is?");
        return CAIRN_E_SUPPORT;
    }
    cbreak();
    noecho();
    keypad(stdscr, TRUE);
    curs_set(0);
    set_escdelay(WAIT_MS);
    nodelay(stdscr, TRUE);
    cairn_log_set(NULL, NULL, CAIRN_LOG_WARNING); /* stderr is the same terminal */
    int result = top->lost.is_wanted ? cli_heap_top_lost_start(top, err) : CAIRN_OK;
    if (result == CAIRN_OK)
        result = watch(&s, err);
    endwin();
    delscreen(terminal);
    cli_heap_top_lost_stop(top);
    cairn_buffer_done(&s.line);
    return result;
}
