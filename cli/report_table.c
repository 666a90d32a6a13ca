/* SPDX-License-Identifier: MIT */
/*
 *     cpu in ms
 *
 *       self      %    total       %  function                        module
 *     1240.0   62.0   1980.0    99.0  tree::insert(long)              server
 *     |----------- as wide as the widest -----------|-- cut in the middle on a terminal --|
 *
 * All values of a table are in one unit, so that they can be compared at a glance.
 */
#include "cli/report_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "cli/columns.h"

enum {
    CELL_SIZE = 48,
    FUNCTION_LEAST = 16,      /* columns; below that a line is left to wrap */
    MODULE_MOST = 24,         /* on a terminal */
    FUNCTION_PLAIN_MOST = 60, /* where nothing is cut: what is longer pushes its module away */
    N_NUMBERS = 4,
};

static const char *const headings[N_NUMBERS] = {"self", "%", "total", "%"};

struct scale {
    const char *unit;
    double divisor; /* 0: shown as it is */
};

/* The largest unit that the sum is at least ten of. */
static struct scale scale_of(struct cairn_value_type value, int64_t sum)
{
    static const struct {
        const char *from;
        struct scale to;
        double least;
    } scales[] = {
        {"nanoseconds", {"s", 1e9}, 10e9},
        {"nanoseconds", {"ms", 1e6}, 10e6},
        {"nanoseconds", {"us", 1e3}, 10e3},
        {"microseconds", {"s", 1e6}, 10e6},
        {"microseconds", {"ms", 1e3}, 10e3},
        {"milliseconds", {"s", 1e3}, 10e3},
        {"bytes", {"GiB", 1 << 30}, 10.0 * (1 << 30)},
        {"bytes", {"MiB", 1 << 20}, 10 << 20},
        {"bytes", {"KiB", 1 << 10}, 10 << 10},
    };
    double size = sum < 0 ? -(double)sum : (double)sum;
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
        if (strcmp(scales[i].from, value.unit) == 0 && size >= scales[i].least)
            return scales[i].to;
    return (struct scale){value.unit, 0};
}

static void print_value(char *cell, int64_t value, const struct scale *scale)
{
    if (scale->divisor > 0)
        snprintf(cell, CELL_SIZE, "%.2f", (double)value / scale->divisor);
    else
        snprintf(cell, CELL_SIZE, "%" PRId64, value);
}

static void print_percent(char *cell, int64_t value, int64_t sum)
{
    if (sum)
        snprintf(cell, CELL_SIZE, "%.1f", 100.0 * (double)value / (double)sum);
    else
        snprintf(cell, CELL_SIZE, "-");
}

static void print_numbers(const struct cli_report_table *table, const struct scale *scale,
                          const struct cairn_top_row *row, char cells[N_NUMBERS][CELL_SIZE])
{
    print_value(cells[0], row->self, scale);
    print_percent(cells[1], row->self, table->sum);
    print_value(cells[2], row->total, scale);
    print_percent(cells[3], row->total, table->sum);
}

struct layout {
    const struct cli_report_table *table;
    struct scale scale;
    unsigned numbers[N_NUMBERS];
    unsigned function, module; /* columns of the names */
    bool has_modules;
    struct cairn_buffer name; /* one made harmless */
};

static void make_safe(struct layout *l, const char *name)
{
    cairn_buffer_clear(&l->name);
    cairn_escape_terminal(&l->name, name, strlen(name));
}

static unsigned at_most(unsigned value, unsigned most)
{
    return value < most ? value : most;
}

static void measure(struct layout *l)
{
    const struct cli_report_table *table = l->table;
    unsigned function = (unsigned)strlen("function"), module = (unsigned)strlen("module");
    for (size_t i = 0; i < N_NUMBERS; i++)
        l->numbers[i] = (unsigned)strlen(headings[i]);
    for (size_t i = 0; i < table->n; i++) {
        char cells[N_NUMBERS][CELL_SIZE];
        print_numbers(table, &l->scale, &table->rows[i], cells);
        for (size_t k = 0; k < N_NUMBERS; k++)
            if (strlen(cells[k]) > l->numbers[k])
                l->numbers[k] = (unsigned)strlen(cells[k]);
        make_safe(l, table->rows[i].function);
        unsigned width = cli_columns(cairn_buffer_text(&l->name), l->name.size);
        function = width > function ? width : function;
        make_safe(l, table->rows[i].module);
        width = cli_columns(cairn_buffer_text(&l->name), l->name.size);
        module = width > module ? width : module;
        l->has_modules |= l->name.size > 0;
    }
    l->function = at_most(function, FUNCTION_PLAIN_MOST);
    l->module = UINT32_MAX;
    if (!table->width)
        return;
    unsigned taken = 2 * (N_NUMBERS + 1);
    for (size_t i = 0; i < N_NUMBERS; i++)
        taken += l->numbers[i];
    l->module = at_most(module, MODULE_MOST);
    taken = l->has_modules ? taken + l->module : taken - 2;
    unsigned left = table->width > taken + FUNCTION_LEAST ? table->width - taken : FUNCTION_LEAST;
    l->function = at_most(function, left);
}

static void add_heading(struct cairn_buffer *b, const struct layout *l)
{
    const char *bold = l->table->colour ? "\033[1m" : "", *plain = l->table->colour ? "\033[m" : "";
    struct cairn_buffer title = {0};
    cairn_buffer_printf(&title, "%s in %s", l->table->value.type, l->scale.unit);
    if (!*l->scale.unit || strcmp(l->scale.unit, "count") == 0)
        title.size -= strlen(" in ") + strlen(l->scale.unit);
    cairn_escape_terminal(b, cairn_buffer_text(&title), title.failed ? 0 : title.size);
    cairn_buffer_done(&title);
    cairn_buffer_printf(b, "\n\n%s", bold);
    for (size_t i = 0; i < N_NUMBERS; i++) {
        cli_add_blanks(b, i ? 2 : 0);
        cli_add_right(b, headings[i], l->numbers[i]);
    }
    cairn_buffer_str(b, "  function");
    if (l->has_modules) {
        cli_add_blanks(b, l->function - (unsigned)strlen("function") + 2);
        cairn_buffer_str(b, "module");
    }
    cairn_buffer_printf(b, "%s\n", plain);
}

static void add_row(struct cairn_buffer *b, struct layout *l, const struct cairn_top_row *row)
{
    char cells[N_NUMBERS][CELL_SIZE];
    print_numbers(l->table, &l->scale, row, cells);
    for (size_t i = 0; i < N_NUMBERS; i++) {
        cli_add_blanks(b, i ? 2 : 0);
        cli_add_right(b, cells[i], l->numbers[i]);
    }
    cairn_buffer_str(b, "  ");
    make_safe(l, row->function);
    unsigned most = l->table->width ? l->function : UINT32_MAX;
    unsigned used = cli_add_cut(b, cairn_buffer_text(&l->name), l->name.size, most);
    if (*row->module) {
        cli_add_blanks(b, (used < l->function ? l->function - used : 0) + 2);
        make_safe(l, row->module);
        cairn_buffer_str(b, l->table->colour ? "\033[2m" : "");
        cli_add_cut(b, cairn_buffer_text(&l->name), l->name.size, l->module);
        cairn_buffer_str(b, l->table->colour ? "\033[m" : "");
    }
    cairn_buffer_char(b, '\n');
}

void cli_report_table_add(struct cairn_buffer *b, const struct cli_report_table *table)
{
    struct layout l = {.table = table, .scale = scale_of(table->value, table->sum)};
    measure(&l);
    add_heading(b, &l);
    for (size_t i = 0; i < table->n; i++)
        add_row(b, &l, &table->rows[i]);
    b->failed |= l.name.failed;
    cairn_buffer_done(&l.name);
}
