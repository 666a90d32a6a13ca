/* SPDX-License-Identifier: MIT */
/* All values of a table are in one unit, so that they can be compared at a
 * glance. */
#include "cli/report_table.h"

#include <stdlib.h>

#include "base/error.h"

enum { HOT_PERCENT = 5 }; /* of self: coloured from there on */

struct printing {
    const struct cli_report_table *table;
    struct cli_scale scale;
};

static void print_numbers(void *ctx, size_t row, char cells[CLI_TABLE_NUMBERS][CLI_AMOUNT_SIZE])
{
    const struct printing *p = ctx;
    const struct cli_report_amount *amount = &p->table->amounts[row];
    cli_print_amount(cells[0], amount->self, &p->scale);
    cli_print_percent(cells[1], amount->self, p->table->sum);
    cli_print_amount(cells[2], amount->total, &p->scale);
    cli_print_percent(cells[3], amount->total, p->table->sum);
}

static bool is_hot(void *ctx, size_t row)
{
    const struct printing *p = ctx;
    return cli_percent(p->table->amounts[row].self, p->table->sum) >= HOT_PERCENT;
}

void cli_report_table_add(struct cairn_buffer *b, const struct cli_report_table *table)
{
    struct printing p = {table, cli_scale_of(table->value, table->sum)};
    struct cli_table t = {
        .rows = table->rows,
        .n = table->n,
        .guides = table->guides,
        .headings = {"self", "%", "total", "%"},
        .ctx = &p,
        .print = print_numbers,
        .is_hot = is_hot,
        .width = cli_show_width(),
        .colour = cli_show_colours(table->show),
    };
    cli_add_value_title(b, table->value, &p.scale);
    cairn_buffer_str(b, "\n\n");
    cli_table_add(b, &t);
}

int cli_report_table_init(struct cli_report_table *table, size_t n, struct cairn_err *err)
{
    table->rows = calloc(n + 1, sizeof *table->rows);
    table->amounts = calloc(n + 1, sizeof *table->amounts);
    return table->rows && table->amounts ? CAIRN_OK : cairn_fail_memory(err);
}

void cli_report_table_done(struct cli_report_table *table)
{
    free(table->rows);
    free(table->amounts);
}

void cli_report_table_put(struct cli_report_table *table, struct cli_table_row row, int64_t self,
                          int64_t total)
{
    table->rows[table->n] = row;
    table->amounts[table->n++] = (struct cli_report_amount){self, total};
}
