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

#include <string.h>

#include "base/escape.h"
#include "cli/amounts.h"
#include "cli/columns.h"

enum {
    FUNCTION_LEAST = 16,      /* columns; below that a line is left to wrap */
    NAME_LEAST = 8,           /* of those, where a guide takes most */
    MODULE_MOST = 24,         /* on a terminal */
    FUNCTION_PLAIN_MOST = 60, /* where nothing is cut: what is longer pushes its module away */
    HOT_PERCENT = 5,          /* of self: coloured from there on */
    N_NUMBERS = 4,
};

#define HOT   "\033[1;31m"
#define BOLD  "\033[1m"
#define DIM   "\033[2m"
#define PLAIN "\033[m"

static const char *const headings[N_NUMBERS] = {"self", "%", "total", "%"};

struct layout {
    const struct cli_report_table *table;
    struct cli_scale scale;
    unsigned numbers[N_NUMBERS];
    unsigned function, module; /* columns of the names; a guide is a part of its function */
    bool has_modules;
    struct cairn_buffer name; /* one made harmless */
};

static void print_numbers(const struct layout *l, const struct cli_report_row *row,
                          char cells[N_NUMBERS][CLI_AMOUNT_SIZE])
{
    cli_print_amount(cells[0], row->self, &l->scale);
    cli_print_percent(cells[1], row->self, l->table->sum);
    cli_print_amount(cells[2], row->total, &l->scale);
    cli_print_percent(cells[3], row->total, l->table->sum);
}

static const char *guide_of(const struct layout *l, const struct cli_report_row *row)
{
    return l->table->guides ? l->table->guides + row->guide : "";
}

/* Returns the columns that it takes. */
static unsigned make_safe(struct layout *l, const char *name)
{
    cairn_buffer_clear(&l->name);
    cairn_escape_terminal(&l->name, name, strlen(name));
    return cli_columns(cairn_buffer_text(&l->name), l->name.size);
}

static unsigned at_most(unsigned value, unsigned most)
{
    return value < most ? value : most;
}

static unsigned at_least(unsigned value, unsigned least)
{
    return value > least ? value : least;
}

static void measure_row(struct layout *l, const struct cli_report_row *row)
{
    char cells[N_NUMBERS][CLI_AMOUNT_SIZE];
    const char *guide = guide_of(l, row);
    print_numbers(l, row, cells);
    for (size_t k = 0; k < N_NUMBERS; k++)
        l->numbers[k] = at_least(l->numbers[k], (unsigned)strlen(cells[k]));
    unsigned function = cli_columns(guide, strlen(guide)) + make_safe(l, row->function);
    l->function = at_least(l->function, function);
    l->module = at_least(l->module, make_safe(l, row->module));
    l->has_modules |= *row->module != 0;
}

static void measure(struct layout *l)
{
    const struct cli_report_table *table = l->table;
    l->function = (unsigned)strlen("function");
    l->module = (unsigned)strlen("module");
    for (size_t i = 0; i < N_NUMBERS; i++)
        l->numbers[i] = (unsigned)strlen(headings[i]);
    for (size_t i = 0; i < table->n; i++)
        measure_row(l, &table->rows[i]);
    if (!table->width) {
        l->function = at_most(l->function, FUNCTION_PLAIN_MOST);
        l->module = UINT32_MAX;
        return;
    }
    unsigned taken = 2 * (N_NUMBERS + 1);
    for (size_t i = 0; i < N_NUMBERS; i++)
        taken += l->numbers[i];
    l->module = at_most(l->module, MODULE_MOST);
    taken = l->has_modules ? taken + l->module : taken - 2;
    unsigned left = table->width > taken + FUNCTION_LEAST ? table->width - taken : FUNCTION_LEAST;
    l->function = at_most(l->function, left);
}

static const char *colour(const struct layout *l, const char *sequence)
{
    return l->table->colour ? sequence : "";
}

static void add_heading(struct cairn_buffer *b, const struct layout *l)
{
    cli_add_value_title(b, l->table->value, &l->scale);
    cairn_buffer_printf(b, "\n\n%s", colour(l, BOLD));
    for (size_t i = 0; i < N_NUMBERS; i++) {
        cli_add_blanks(b, i ? 2 : 0);
        cli_add_right(b, headings[i], l->numbers[i]);
    }
    cairn_buffer_str(b, "  function");
    if (l->has_modules) {
        cli_add_blanks(b, l->function - (unsigned)strlen("function") + 2);
        cairn_buffer_str(b, "module");
    }
    cairn_buffer_printf(b, "%s\n", colour(l, PLAIN));
}

/* Returns the columns taken. */
static unsigned add_function(struct cairn_buffer *b, struct layout *l,
                             const struct cli_report_row *row)
{
    const char *guide = guide_of(l, row);
    unsigned before = cli_columns(guide, strlen(guide)), most = UINT32_MAX;
    bool is_hot = cli_percent(row->self, l->table->sum) >= HOT_PERCENT;
    if (l->table->width)
        most = l->function > before + NAME_LEAST ? l->function - before : NAME_LEAST;
    if (*guide)
        cairn_buffer_printf(b, "%s%s%s", colour(l, DIM), guide, colour(l, PLAIN));
    make_safe(l, row->function);
    cairn_buffer_str(b, is_hot ? colour(l, HOT) : "");
    unsigned used = cli_add_cut(b, cairn_buffer_text(&l->name), l->name.size, most);
    cairn_buffer_str(b, is_hot ? colour(l, PLAIN) : "");
    return before + used;
}

static void add_row(struct cairn_buffer *b, struct layout *l, const struct cli_report_row *row)
{
    char cells[N_NUMBERS][CLI_AMOUNT_SIZE];
    print_numbers(l, row, cells);
    for (size_t i = 0; i < N_NUMBERS; i++) {
        cli_add_blanks(b, i ? 2 : 0);
        cli_add_right(b, cells[i], l->numbers[i]);
    }
    cairn_buffer_str(b, "  ");
    unsigned used = add_function(b, l, row);
    if (*row->module) {
        cli_add_blanks(b, (used < l->function ? l->function - used : 0) + 2);
        make_safe(l, row->module);
        cairn_buffer_str(b, colour(l, DIM));
        cli_add_cut(b, cairn_buffer_text(&l->name), l->name.size, l->module);
        cairn_buffer_str(b, colour(l, PLAIN));
    }
    cairn_buffer_char(b, '\n');
}

void cli_report_table_add(struct cairn_buffer *b, const struct cli_report_table *table)
{
    struct layout l = {.table = table, .scale = cli_scale_of(table->value, table->sum)};
    measure(&l);
    add_heading(b, &l);
    for (size_t i = 0; i < table->n; i++)
        add_row(b, &l, &table->rows[i]);
    b->failed |= l.name.failed;
    cairn_buffer_done(&l.name);
}
