/* SPDX-License-Identifier: MIT */
/*
 *     main            a root
 *     ├ work          one of several below main
 *     │ hot           alone below work: no column more
 *     │ ├ read
 *     │ └ write
 *     └ idle
 *
 * A node that is alone stands right below its caller, so that a chain of a
 * hundred calls does not need a hundred columns; but below a root, which else
 * would look like the root before it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/amounts.h"
#include "cli/numbers.h"
#include "cli/report.h"
#include "cli/report_table.h"

enum {
    LEVELS_PLAIN = 40,    /* of guides, where nothing is cut */
    LEVELS_LEAST = 2,     /* on a terminal, however narrow it is; */
    NUMBERS_COLUMNS = 48, /* what else stands in its lines, and one guide is two
                             columns: half of */
    COLUMNS_A_LEVEL = 4,  /* what is left is for names */
    MODULES_FROM = 120,   /* columns of a terminal; on a narrower one names need them more */
};

/* What is shown, in the order of the tree. */
struct shown {
    const struct cairn_tree_node *node;
    size_t parent; /* in the same list; a root's is its own number */
    size_t n_children, last_child;
    unsigned level; /* of guides before it */
};

struct selection {
    const struct cairn_tree *tree; /* NULL: nothing is shown */
    struct shown *items;
    size_t n;
};

static void add_item(struct selection *s, const struct cairn_tree_node *node)
{
    size_t number = s->n++, parent = number;
    if (node->depth) {
        parent = number - 1;
        while (s->items[parent].node->depth >= node->depth)
            parent = s->items[parent].parent;
        s->items[parent].n_children++;
        s->items[parent].last_child = number;
    }
    s->items[number] = (struct shown){.node = node, .parent = parent};
}

static int select_nodes(const struct cli_report *r, struct selection *s, struct cairn_err *err)
{
    const struct cairn_tree_node *nodes;
    uint64_t n_roots = 0;
    size_t n = cairn_tree_nodes(r->tree, &nodes);
    s->tree = r->tree;
    s->items = calloc(n + 1, sizeof *s->items);
    if (!s->items)
        return cairn_fail_memory(err);
    for (size_t i = 0; i < n; i++) {
        if (!nodes[i].depth && n_roots++ == r->n_shown && r->n_shown)
            break;
        add_item(s, &nodes[i]);
    }
    return CAIRN_OK;
}

static struct cairn_tree_counts counts_of(const struct selection *s)
{
    struct cairn_tree_counts counts = {.size = sizeof counts};
    if (s->tree)
        cairn_tree_count(s->tree, &counts);
    return counts;
}

static bool is_alone(const struct selection *s, size_t i)
{
    size_t parent = s->items[i].parent;
    bool is_below_root = s->items[parent].parent == parent;
    return !is_below_root && s->items[parent].n_children == 1;
}

/* `open`: the levels at which siblings are still to come. Levels beyond `most`
 * are a number. */
static void add_guide(struct cairn_buffer *b, const struct selection *s, size_t i, const bool *open,
                      unsigned most)
{
    unsigned level = s->items[i].level, first = level > most ? level - most : 0;
    if (first)
        cairn_buffer_printf(b, "+%u ", first);
    for (unsigned k = first + 1; k < level; k++)
        cairn_buffer_str(b, open[k] ? "│ " : "  ");
    if (level && is_alone(s, i))
        cairn_buffer_str(b, open[level] ? "│ " : "  ");
    else if (level)
        cairn_buffer_str(b, open[level] ? "├ " : "└ ");
    cairn_buffer_char(b, 0);
}

static unsigned most_levels(unsigned width)
{
    if (!width)
        return LEVELS_PLAIN;
    unsigned most = width > NUMBERS_COLUMNS ? (width - NUMBERS_COLUMNS) / COLUMNS_A_LEVEL : 0;
    return most > LEVELS_LEAST ? most : LEVELS_LEAST;
}

/* The levels, and the guides that follow from them. */
static int make_rows(struct selection *s, struct cli_report_table *table,
                     struct cairn_buffer *guides)
{
    unsigned width = cli_show_width(), most = most_levels(width), deepest = 0;
    for (size_t i = 0; i < s->n; i++) {
        struct shown *item = &s->items[i];
        item->level = item->parent == i ? 0 : s->items[item->parent].level + !is_alone(s, i);
        deepest = item->level > deepest ? item->level : deepest;
    }
    bool *open = calloc((size_t)deepest + 1, sizeof *open);
    for (size_t i = 0; open && i < s->n; i++) {
        const struct cairn_tree_node *node = s->items[i].node;
        bool has_module = !width || width >= MODULES_FROM;
        struct cli_table_row row = {node->row->function, has_module ? node->row->module : "",
                                    guides->size};
        cli_report_table_put(table, row, node->self, node->total);
        if (s->items[i].level && !is_alone(s, i))
            open[s->items[i].level] = s->items[s->items[i].parent].last_child != i;
        add_guide(guides, s, i, open, most);
    }
    int result = open && !guides->failed ? CAIRN_OK : CAIRN_E_NOMEM;
    free(open);
    return result;
}

static void add_left_out(struct cairn_buffer *out, const struct cli_report *r,
                         const struct cairn_tree_counts *counts)
{
    if (counts->n_roots_left) {
        cairn_buffer_str(out, "and ");
        cli_add_count(out, counts->n_roots_left);
        cairn_buffer_str(out, " more: --top 0 prints all\n");
    }
    if (counts->n_small) {
        cli_add_count(out, counts->n_small);
        cairn_buffer_printf(out, " with less than %g %%%s left out: --min-percent 0 prints all\n",
                            r->least_percent,
                            r->form == CLI_REPORT_CALLS ? " are" : " of their root are");
    }
}

static void put_node(struct cairn_json *json, const struct cli_report *r,
                     const struct cairn_tree_node *node)
{
    cairn_json_open(json, NULL, '{');
    cairn_json_u64(json, "depth", node->depth);
    cairn_json_str(json, "function", node->row->function);
    cairn_json_str(json, "file", node->row->file);
    cairn_json_str(json, "module", node->row->module);
    cairn_json_i64(json, "self", node->self);
    cairn_json_real(json, "self_percent", cli_percent(node->self, r->sum));
    cairn_json_i64(json, "total", node->total);
    cairn_json_real(json, "total_percent", cli_percent(node->total, r->sum));
    cairn_json_close(json, '}');
}

int cli_report_tree_put(struct cairn_json *json, const struct cli_report *r, struct cairn_err *err)
{
    static const char *const forms[] = {[CLI_REPORT_TOP] = "",
                                        [CLI_REPORT_CALLS] = "calls",
                                        [CLI_REPORT_CALLEES] = "callees",
                                        [CLI_REPORT_CALLERS] = "callers"};
    struct selection s = {0};
    int result = r->tree ? select_nodes(r, &s, err) : CAIRN_OK;
    cairn_json_str(json, "tree", forms[r->form]);
    cairn_json_str(json, "of", r->root);
    cairn_json_u64(json, "levels", r->depth);
    cairn_json_real(json, "min_percent", r->least_percent);
    cairn_json_u64(json, "n_nodes", counts_of(&s).n_nodes);
    cairn_json_open(json, "nodes", '[');
    for (size_t i = 0; i < s.n; i++)
        put_node(json, r, s.items[i].node);
    cairn_json_close(json, ']');
    free(s.items);
    return result;
}

int cli_report_tree_add(struct cairn_buffer *out, const struct cli_report *r, struct cairn_err *err)
{
    struct selection s = {0};
    struct cairn_buffer guides = {0};
    struct cli_report_table table = {.sum = r->sum, .value = cli_report_value(r), .show = &r->show};
    int result = select_nodes(r, &s, err);
    if (result == CAIRN_OK)
        result = cli_report_table_init(&table, s.n, err);
    if (result == CAIRN_OK && make_rows(&s, &table, &guides) < 0)
        result = cairn_fail_memory(err);
    struct cairn_tree_counts counts = counts_of(&s);
    if (result == CAIRN_OK && counts.n_nodes) {
        table.guides = cairn_buffer_text(&guides);
        cli_report_table_add(out, &table);
        add_left_out(out, r, &counts);
    }
    cli_report_table_done(&table);
    cairn_buffer_done(&guides);
    free(s.items);
    return result;
}
