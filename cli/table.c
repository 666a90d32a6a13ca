/* SPDX-License-Identifier: MIT */
/*
 *       self      %    total       %  function                        module
 *     1240.0   62.0   1980.0    99.0  tree::insert(long)              server
 *     |----------- as wide as the widest -----------|-- cut in the middle on a
 * terminal --|
 */
#include "cli/table.h"

#include <string.h>

#include "base/escape.h"
#include "cli/columns.h"

enum {
    FUNCTION_LEAST = 16,      /* columns; below that a line is left to wrap */
    NAME_LEAST = 8,           /* of those, where a guide takes most */
    MODULE_MOST = 24,         /* on a terminal, */
    MODULE_LEAST = 10,        /* and where names do not fit, a third of the columns, or this */
    FUNCTION_PLAIN_MOST = 60, /* where nothing is cut: what is longer pushes its module away */
};

struct layout {
    const struct cli_table *table;
    unsigned numbers[CLI_TABLE_NUMBERS];
    unsigned function, module; /* columns of the names; a guide is a part of its function */
    bool has_modules;
    struct cairn_buffer name; /* one made harmless */
};

static const char *guide_of(const struct layout *l, const struct cli_table_row *row)
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

static void measure_row(struct layout *l, size_t number)
{
    const struct cli_table_row *row = &l->table->rows[number];
    char cells[CLI_TABLE_NUMBERS][CLI_AMOUNT_SIZE];
    const char *guide = guide_of(l, row);
    l->table->print(l->table->ctx, number, cells);
    for (size_t k = 0; k < CLI_TABLE_NUMBERS; k++)
        l->numbers[k] = at_least(l->numbers[k], (unsigned)strlen(cells[k]));
    unsigned function = cli_columns(guide, strlen(guide)) + make_safe(l, row->function);
    l->function = at_least(l->function, function);
    l->module = at_least(l->module, make_safe(l, row->module));
    l->has_modules |= *row->module != 0;
}

static void measure(struct layout *l)
{
    const struct cli_table *table = l->table;
    l->function = (unsigned)strlen("function");
    l->module = (unsigned)strlen("module");
    for (size_t i = 0; i < CLI_TABLE_NUMBERS; i++)
        l->numbers[i] = (unsigned)strlen(l->table->headings[i]);
    for (size_t i = 0; i < table->n; i++)
        measure_row(l, i);
    if (!table->width) {
        l->function = at_most(l->function, FUNCTION_PLAIN_MOST);
        l->module = UINT32_MAX;
        return;
    }
    unsigned taken = 2 * (CLI_TABLE_NUMBERS + 1);
    for (size_t i = 0; i < CLI_TABLE_NUMBERS; i++)
        taken += l->numbers[i];
    l->module = at_most(l->module, MODULE_MOST);
    unsigned both = table->width > taken ? table->width - taken : 0;
    if (l->function + l->module > both)
        l->module = at_most(l->module, at_least(both / 3, MODULE_LEAST));
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
    cairn_buffer_str(b, colour(l, CLI_BOLD));
    for (size_t i = 0; i < CLI_TABLE_NUMBERS; i++) {
        cli_add_blanks(b, i ? 2 : 0);
        cli_add_right(b, l->table->headings[i], l->numbers[i]);
    }
    cairn_buffer_str(b, "  function");
    if (l->has_modules) {
        cli_add_blanks(b, l->function - (unsigned)strlen("function") + 2);
        cairn_buffer_str(b, "module");
    }
    cairn_buffer_printf(b, "%s\n", colour(l, CLI_PLAIN));
}

/* Returns the columns taken. */
static unsigned add_function(struct cairn_buffer *b, struct layout *l, size_t number)
{
    const struct cli_table_row *row = &l->table->rows[number];
    const char *guide = guide_of(l, row);
    unsigned before = cli_columns(guide, strlen(guide)), most = UINT32_MAX;
    bool is_hot = l->table->is_hot && l->table->is_hot(l->table->ctx, number);
    if (l->table->width)
        most = l->function > before + NAME_LEAST ? l->function - before : NAME_LEAST;
    if (*guide)
        cairn_buffer_printf(b, "%s%s%s", colour(l, CLI_DIM), guide, colour(l, CLI_PLAIN));
    make_safe(l, row->function);
    cairn_buffer_str(b, is_hot ? colour(l, CLI_HOT) : "");
    unsigned used = cli_add_cut(b, cairn_buffer_text(&l->name), l->name.size, most);
    cairn_buffer_str(b, is_hot ? colour(l, CLI_PLAIN) : "");
    return before + used;
}

static void add_row(struct cairn_buffer *b, struct layout *l, size_t number)
{
    const struct cli_table_row *row = &l->table->rows[number];
    char cells[CLI_TABLE_NUMBERS][CLI_AMOUNT_SIZE];
    l->table->print(l->table->ctx, number, cells);
    for (size_t i = 0; i < CLI_TABLE_NUMBERS; i++) {
        cli_add_blanks(b, i ? 2 : 0);
        cli_add_right(b, cells[i], l->numbers[i]);
    }
    cairn_buffer_str(b, "  ");
    unsigned used = add_function(b, l, number);
    if (*row->module) {
        cli_add_blanks(b, (used < l->function ? l->function - used : 0) + 2);
        make_safe(l, row->module);
        cairn_buffer_str(b, colour(l, CLI_DIM));
        cli_add_cut(b, cairn_buffer_text(&l->name), l->name.size, l->module);
        cairn_buffer_str(b, colour(l, CLI_PLAIN));
    }
    cairn_buffer_char(b, '\n');
}

void cli_table_add(struct cairn_buffer *b, const struct cli_table *table)
{
    struct layout l = {.table = table};
    measure(&l);
    add_heading(b, &l);
    for (size_t i = 0; i < table->n; i++)
        add_row(b, &l, i);
    b->failed |= l.name.failed;
    cairn_buffer_done(&l.name);
}
