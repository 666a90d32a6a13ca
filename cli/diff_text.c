/* SPDX-License-Identifier: MIT */
/*
 *     cpu in ms: 1120.00 before, 2240.00 now; compared are shares of that, in
 * percent
 *
 *     functions that grew:
 *
 *       self  before    now   total  function  module
 *     +10.00    5.00  15.00  +10.00  hot       prog
 *
 *     stacks that grew:
 *
 *     +10.00 (5.00 before, 15.00 now)
 *         hot (prog)
 *         main (prog)
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/escape.h"
#include "cli/columns.h"
#include "cli/diff.h"
#include "cli/table.h"

enum { FRAMES_MOST = 40, INDENT = 4 };

#define GREW   "\033[31m"
#define SHRANK "\033[36m" /* who sees no red sees this */

/* Which rows a table has: those at one end of all. */
struct printing {
    const struct cli_diff *d;
    struct cli_scale scale;
    bool grew;
};

static const struct cairn_diff_row *row_at(const struct printing *p, size_t i)
{
    return &p->d->functions[p->grew ? i : p->d->n_functions - 1 - i];
}

static void print_change(char *cell, double change, const struct printing *p)
{
    if (!p->d->absolute)
        snprintf(cell, CLI_AMOUNT_SIZE, "%+.2f", change);
    else if (p->scale.divisor > 0)
        snprintf(cell, CLI_AMOUNT_SIZE, "%+.2f", change / p->scale.divisor);
    else
        snprintf(cell, CLI_AMOUNT_SIZE, "%+.0f", change);
}

static void print_value(char *cell, int64_t value, const struct printing *p, size_t side)
{
    if (p->d->absolute)
        cli_print_amount(cell, value, &p->scale);
    else
        snprintf(cell, CLI_AMOUNT_SIZE, "%.2f", cli_percent(value, p->d->sides[side].sum));
}

static void print_numbers(void *ctx, size_t i, char cells[CLI_TABLE_NUMBERS][CLI_AMOUNT_SIZE])
{
    const struct printing *p = ctx;
    const struct cairn_diff_row *row = row_at(p, i);
    bool by_total = p->d->by_total;
    print_change(cells[0], by_total ? row->total_change : row->self_change, p);
    print_value(cells[1], by_total ? row->old_total : row->old_self, p, 0);
    print_value(cells[2], by_total ? row->new_total : row->new_self, p, 1);
    print_change(cells[3], by_total ? row->self_change : row->total_change, p);
}

static const char *colour(const struct cli_diff *d, const char *sequence)
{
    return cli_show_colours(&d->show) ? sequence : "";
}

static void add_more(struct cairn_buffer *out, const struct printing *p, size_t n, const char *what)
{
    size_t n_left = n - cli_diff_shown(p->d, n);
    if (!n_left)
        return;
    cairn_buffer_str(out, "and ");
    cli_add_counted(out, n_left, what);
    cairn_buffer_printf(out, " more that %s: --top 0 prints all\n", p->grew ? "grew" : "shrank");
}

static void add_section(struct cairn_buffer *out, const struct printing *p, const char *what)
{
    if (out->size < 2 || out->data[out->size - 2] != '\n')
        cairn_buffer_char(out, '\n');
    cairn_buffer_printf(out, "%s%s that %s:%s\n\n", colour(p->d, p->grew ? GREW : SHRANK), what,
                        p->grew ? "grew" : "shrank", colour(p->d, CLI_PLAIN));
}

static int add_functions(struct cairn_buffer *out, struct printing *p, struct cairn_err *err)
{
    const struct cli_diff *d = p->d;
    size_t n_all = p->grew ? d->n_functions_grew : d->n_functions_shrank;
    size_t n = cli_diff_shown(d, n_all);
    struct cli_table_row *rows = calloc(n + 1, sizeof *rows);
    if (!rows)
        return cairn_fail_memory(err);
    for (size_t i = 0; i < n; i++)
        rows[i] = (struct cli_table_row){row_at(p, i)->function, row_at(p, i)->module, 0};
    struct cli_table table = {
        .rows = rows,
        .n = n,
        .headings = {d->by_total ? "total" : "self", "before", "now",
                     d->by_total ? "self" : "total"},
        .ctx = p,
        .print = print_numbers,
        .width = cli_show_width(),
        .colour = cli_show_colours(&d->show),
    };
    if (n) {
        add_section(out, p, "functions");
        cli_table_add(out, &table);
        add_more(out, p, n_all, "function");
    }
    free(rows);
    return CAIRN_OK;
}

static void add_frame(struct cairn_buffer *out, const struct cairn_diff_row *row)
{
    struct cairn_buffer line = {0};
    unsigned width = cli_show_width();
    cairn_escape_terminal(&line, row->function, strlen(row->function));
    if (*row->module) {
        cairn_buffer_str(&line, " (");
        cairn_escape_terminal(&line, row->module, strlen(row->module));
        cairn_buffer_char(&line, ')');
    }
    cli_add_blanks(out, INDENT);
    cli_add_cut(out, cairn_buffer_text(&line), line.size, width ? width - INDENT : UINT32_MAX);
    cairn_buffer_char(out, '\n');
    out->failed |= line.failed;
    cairn_buffer_done(&line);
}

static void add_stack(struct cairn_buffer *out, const struct printing *p,
                      const struct cairn_diff_stack *stack)
{
    char change[CLI_AMOUNT_SIZE], before[CLI_AMOUNT_SIZE], now[CLI_AMOUNT_SIZE];
    uint32_t frames[FRAMES_MOST];
    print_change(change, stack->change, p);
    print_value(before, stack->old_self, p, 0);
    print_value(now, stack->new_self, p, 1);
    cairn_buffer_printf(out, "%s (%s before, %s now)\n", change, before, now);
    size_t n = cairn_diff_frames(p->d->diff, stack->stack, frames, FRAMES_MOST);
    for (size_t i = 0; i < n && i < FRAMES_MOST; i++)
        add_frame(out, &p->d->functions[frames[i]]);
    if (n > FRAMES_MOST) {
        cli_add_blanks(out, INDENT);
        cairn_buffer_str(out, "and ");
        cli_add_counted(out, n - FRAMES_MOST, "frame");
        cairn_buffer_str(out, " more\n");
    }
    cairn_buffer_char(out, '\n');
}

static void add_stacks(struct cairn_buffer *out, const struct printing *p)
{
    const struct cli_diff *d = p->d;
    size_t n_all = p->grew ? d->n_stacks_grew : d->n_stacks_shrank, n = cli_diff_shown(d, n_all);
    if (!n)
        return;
    add_section(out, p, "stacks");
    for (size_t i = 0; i < n; i++)
        add_stack(out, p, &d->stacks[p->grew ? i : d->n_stacks - 1 - i]);
    add_more(out, p, n_all, "stack");
}

static void add_title(struct cairn_buffer *out, const struct printing *p)
{
    char cell[CLI_AMOUNT_SIZE];
    cli_add_value_title(out, p->d->value, &p->scale);
    cli_print_amount(cell, p->d->sides[0].sum, &p->scale);
    cairn_buffer_printf(out, ": %s before, ", cell);
    cli_print_amount(cell, p->d->sides[1].sum, &p->scale);
    cairn_buffer_printf(out, "%s now%s\n", cell,
                        p->d->absolute ? "" : "; compared are shares of that, in percent");
}

/* One line on a profile that has nothing to compare. */
static void add_nothing(struct cairn_buffer *out, const struct cli_diff_side *side)
{
    struct cairn_profile_stats stats = {.size = sizeof stats};
    cairn_profile_stats(side->profile, &stats);
    if (stats.n_samples)
        return;
    cairn_escape_terminal(out, side->inputs[0], strlen(side->inputs[0]));
    cairn_buffer_str(out, side->n_read ? ": no sample has what was asked for\n"
                                       : ": the profile is empty: it holds no samples\n");
}

static void add_qualities(struct cairn_buffer *out, const struct cli_diff *d)
{
    struct cairn_buffer quality = {0};
    if (out->data[out->size - 2] != '\n')
        cairn_buffer_char(out, '\n');
    for (size_t side = 0; side < 2; side++) {
        cairn_buffer_clear(&quality);
        cli_add_quality(&quality, d->sides[side].profile);
        cairn_buffer_str(out, side ? "now: " : "before: ");
        cairn_escape_terminal(out, cairn_buffer_text(&quality), quality.size);
        cairn_buffer_char(out, '\n');
    }
    for (size_t side = 0; side < 2 && d->sides[side].steps.n; side++) {
        cairn_buffer_str(out, side ? "now: " : "before: ");
        cli_steps_add(out, &d->sides[side].steps);
        cairn_buffer_char(out, '\n');
    }
    out->failed |= quality.failed;
    cairn_buffer_done(&quality);
}

int cli_diff_text(struct cairn_buffer *out, const struct cli_diff *d, struct cairn_err *err)
{
    int64_t before = d->sides[0].sum, now = d->sides[1].sum;
    struct printing p = {.d = d, .scale = cli_scale_of(d->value, now > before ? now : before)};
    add_title(out, &p);
    add_nothing(out, &d->sides[0]);
    add_nothing(out, &d->sides[1]);
    size_t start = out->size;
    for (int round = 0; round < 2; round++) {
        p.grew = round == 0;
        if (d->by != CLI_DIFF_BY_STACK && add_functions(out, &p, err) < 0)
            return CAIRN_E_NOMEM;
    }
    for (int round = 0; round < 2; round++) {
        p.grew = round == 0;
        if (d->by != CLI_DIFF_BY_FUNCTION)
            add_stacks(out, &p);
    }
    if (out->size == start)
        cairn_buffer_str(out, "nothing grew, and nothing shrank\n");
    if (!out->failed)
        add_qualities(out, d);
    return CAIRN_OK;
}
