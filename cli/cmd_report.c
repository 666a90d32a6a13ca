/* SPDX-License-Identifier: MIT */
/* cairn report: profiles in, the table of functions that cost most out, or a tree of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/escape.h"
#include "cli/report.h"
#include "cli/report_table.h"
#include "cli/term.h"

enum { TOP_DEFAULT = 30, LEVELS_DEFAULT = 2 };

#define LEAST_PERCENT_DEFAULT 0.5

enum option {
    OPTION_TREE,
    OPTION_CALLERS,
    OPTION_CALLEES,
    OPTION_DEPTH,
    OPTION_MIN,
    OPTION_TOP,
    OPTION_SORT,
    OPTION_WANTED,
    OPTION_SHOW = OPTION_WANTED + CLI_N_WANTED,
    OPTION_JSON = OPTION_SHOW + CLI_N_SHOW,
    OPTION_VERBOSE
};

static const struct cli_option options[] = {
    [OPTION_TREE] = {.name = "tree",
                     .help = "print the calls as a tree: below each function what it called"},
    [OPTION_CALLERS] = {.name = "callers",
                        .value = "FUNCTION",
                        .optional = true,
                        .help = "print who called FUNCTION, who called those, and so on; without "
                                "it, the callers of each function"},
    [OPTION_CALLEES] =
        {.name = "callees",
         .value = "FUNCTION",
         .optional = true,
         .help =
             "print what FUNCTION called, from wherever; without it, what each function called"},
    [OPTION_DEPTH] = {.name = "depth",
                      .value = "N",
                      .help = "print at most N levels of a tree, 0 for all of them (default: all; "
                              "2 of --callers and --callees without FUNCTION)"},
    [OPTION_MIN] = {.name = "min-percent",
                    .value = "P",
                    .help = "leave out of a tree what has less than P percent of all samples, or, "
                            "of --callers and --callees, of its root (default: 0.5)"},
    [OPTION_TOP] = {.name = "top",
                    .letter = 'n',
                    .value = "N",
                    .help = "print at most N functions, or trees, 0 for all of them (default: 30)"},
    [OPTION_SORT] =
        {.name = "sort",
         .value = "COLUMN",
         .help =
             "self (default), what functions cost themselves, or total, with all that they called"},
    CLI_WANTED_ROWS(OPTION_WANTED,
                    "what is counted, such as cpu or samples (default: what the profile says)",
                    "fold"),
    CLI_SHOW_ROWS(OPTION_SHOW),
    [OPTION_JSON] = {.name = "json", .help = "print one JSON object, numbers and names uncut"},
    [OPTION_VERBOSE] = {.name = "verbose", .letter = 'v', .help = "say what is done; twice: more"},
    {0},
};

static bool set_sort(struct cli_report *r, const char *text)
{
    static const char *const columns[] = {"self", "total", NULL};
    int column;
    if (!cli_args_word(r->args, "sort", text, columns, &column))
        return false;
    r->by_total = column == 1;
    r->says_sort = true;
    return true;
}

static bool set_form(struct cli_report *r, enum cli_report_form form, const char *root)
{
    if (r->form != CLI_REPORT_TOP && r->form != form)
        cli_args_wrong(r->args, "one of --tree, --callers and --callees at a time");
    else if (root && !*root)
        cli_args_wrong(r->args, "--%s=: the name of a function is missing",
                       form == CLI_REPORT_CALLERS ? "callers" : "callees");
    bool done = (r->form == CLI_REPORT_TOP || r->form == form) && !(root && !*root);
    r->form = form;
    r->root = root;
    return done;
}

static bool set_least(struct cli_report *r, const char *text)
{
    r->says_least = true;
    if (!cli_args_real(r->args, "min-percent", text, &r->least_percent))
        return false;
    bool done = r->least_percent >= 0 && r->least_percent <= 100;
    if (!done)
        cli_args_wrong(r->args, "--min-percent: %s, expected a percentage", text);
    return done;
}

static bool take_option(struct cli_report *r, int option, const char *value)
{
    switch (option) {
    case OPTION_TREE:
        return set_form(r, CLI_REPORT_CALLS, NULL);
    case OPTION_CALLERS:
        return set_form(r, CLI_REPORT_CALLERS, value);
    case OPTION_CALLEES:
        return set_form(r, CLI_REPORT_CALLEES, value);
    case OPTION_DEPTH:
        r->says_depth = true;
        return cli_args_u64(r->args, "depth", value, &r->depth);
    case OPTION_MIN:
        return set_least(r, value);
    case OPTION_TOP:
        return cli_args_u64(r->args, "top", value, &r->n_shown);
    case OPTION_SORT:
        return set_sort(r, value);
    case OPTION_JSON:
        r->json = true;
        return true;
    case OPTION_VERBOSE:
        r->verbosity++;
        return true;
    case OPTION_SHOW + CLI_SHOW_COLOUR:
    case OPTION_SHOW + CLI_SHOW_NO_PAGER:
        return cli_show_take(&r->show, (enum cli_show_row)(option - OPTION_SHOW), value);
    default:
        return cli_wanted_take(&r->wanted, (enum cli_wanted_row)(option - OPTION_WANTED), value);
    }
}

/* Equal totals stay in the order of the library: by self, then by name. */
static int compare_totals(const void *a, const void *b)
{
    const struct cairn_top_row *x = a, *y = b;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    if (x->self != y->self)
        return x->self > y->self ? -1 : 1;
    int order = strcmp(x->function, y->function);
    if (order == 0)
        order = strcmp(x->module, y->module);
    return order ? order : strcmp(x->file, y->file);
}

static int make_rows(struct cli_report *r, struct cairn_err *err)
{
    const struct cairn_top_row *rows;
    size_t n = cairn_top_rows(r->top, &rows);
    r->rows = calloc(n + 1, sizeof *rows);
    if (!r->rows)
        return cairn_fail_memory(err);
    if (n)
        memcpy(r->rows, rows, n * sizeof *rows);
    if (r->by_total)
        qsort(r->rows, n, sizeof *rows, compare_totals);
    r->n_all_rows = n;
    r->n_rows = r->n_shown && r->n_shown < n ? (size_t)r->n_shown : n;
    return CAIRN_OK;
}

static int make_table(struct cli_report *r, struct cairn_err *err)
{
    int result = cairn_profile_top(r->profile, r->value_type, &r->top, err);
    if (result < 0)
        return result;
    r->sum = cairn_top_sum(r->top);
    return make_rows(r, err);
}

static int make_tree(struct cli_report *r, struct cairn_err *err)
{
    static const enum cairn_tree_kind kinds[] = {[CLI_REPORT_CALLS] = CAIRN_TREE_CALLS,
                                                 [CLI_REPORT_CALLEES] = CAIRN_TREE_CALLEES,
                                                 [CLI_REPORT_CALLERS] = CAIRN_TREE_CALLERS};
    struct cairn_tree_opts opts = {.size = sizeof opts,
                                   .value_type = r->value_type,
                                   .kind = kinds[r->form],
                                   .function = r->root,
                                   .depth = r->depth < UINT32_MAX ? (uint32_t)r->depth : 0,
                                   .by_self = !r->by_total,
                                   .least_percent = r->least_percent,
                                   .n_roots = r->json ? 0 : r->n_shown}; /* it counts all */
    int result = cairn_tree_new(r->profile, &opts, &r->tree, err);
    if (result == CAIRN_OK)
        r->sum = cairn_tree_sum(r->tree);
    return result;
}

static int load(struct cli_report *r, struct cairn_err *err)
{
    const struct cairn_value_type *types;
    int result = cli_wanted_read(&r->wanted, &r->profile, &r->value_type, &r->n_read, err);
    if (result < 0 || cairn_profile_value_types(r->profile, &types) == 0)
        return result;
    return r->form == CLI_REPORT_TOP ? make_table(r, err) : make_tree(r, err);
}

struct cairn_value_type cli_report_value(const struct cli_report *r)
{
    const struct cairn_value_type *types;
    size_t n = cairn_profile_value_types(r->profile, &types);
    return n ? types[r->value_type] : (struct cairn_value_type){"", ""};
}

/* One line on what there is to show, where that is nothing. */
static void add_nothing(const struct cli_report *r, struct cairn_buffer *out)
{
    if (!r->n_read) {
        cairn_buffer_str(out, "the profile is empty: it holds no samples\n");
        return;
    }
    struct cairn_profile_stats stats = {.size = sizeof stats};
    cairn_profile_stats(r->profile, &stats);
    if (r->root && stats.n_samples) {
        cairn_buffer_str(out, "no function has \"");
        cairn_escape_terminal(out, r->root, strlen(r->root));
        cairn_buffer_str(out, "\" in its name\n");
        return;
    }
    cairn_buffer_str(out, "none of the ");
    cli_add_count(out, r->n_read);
    cairn_buffer_str(out, " samples has what was asked for\n");
}

static int add_table(const struct cli_report *r, struct cairn_buffer *out, struct cairn_err *err)
{
    struct cli_report_table table = {.sum = r->sum, .value = cli_report_value(r), .show = &r->show};
    int result = cli_report_table_init(&table, r->n_rows, err);
    for (size_t i = 0; i < r->n_rows && result == CAIRN_OK; i++) {
        const struct cairn_top_row *row = &r->rows[i];
        cli_report_table_put(&table, (struct cli_table_row){row->function, row->module, 0},
                             row->self, row->total);
    }
    if (result == CAIRN_OK && r->n_rows)
        cli_report_table_add(out, &table);
    if (result == CAIRN_OK && r->n_rows < r->n_all_rows) {
        cairn_buffer_str(out, "and ");
        cli_add_count(out, r->n_all_rows - r->n_rows);
        cairn_buffer_str(out, " more: --top 0 prints all\n");
    }
    cli_report_table_done(&table);
    return result;
}

static int add_text(const struct cli_report *r, struct cairn_buffer *out, struct cairn_err *err)
{
    struct cairn_buffer quality = {0};
    int result = CAIRN_OK;
    if (r->form == CLI_REPORT_TOP)
        result = add_table(r, out, err);
    else if (r->tree)
        result = cli_report_tree_add(out, r, err);
    if (result < 0)
        return result;
    if (!out->size) {
        add_nothing(r, out);
    } else {
        cli_add_quality(&quality, r->profile);
        cairn_buffer_char(out, '\n');
        cairn_escape_terminal(out, cairn_buffer_text(&quality), quality.size);
        cairn_buffer_char(out, '\n');
        out->failed |= quality.failed;
        cairn_buffer_done(&quality);
    }
    cli_steps_add(out, &r->steps);
    cairn_buffer_str(out, r->steps.n ? "\n" : "");
    return CAIRN_OK;
}

static int print(const struct cli_report *r, struct cairn_err *err)
{
    struct cairn_buffer out = {0};
    int result = r->json ? cli_report_json(&out, r, err) : add_text(r, &out, err);
    if (result == CAIRN_OK)
        result = cli_show(&r->show, r->json, &out, err);
    cairn_buffer_done(&out);
    return result;
}

/* "--callers main" reads as if main were the function, and it is a file. */
static void hint_at_equals(const struct cli_report *r, struct cairn_err *err)
{
    bool is_around = r->form == CLI_REPORT_CALLERS || r->form == CLI_REPORT_CALLEES;
    char *const *input = r->wanted.inputs;
    while (*input && (strcmp(*input, "-") == 0 || access(*input, F_OK) == 0))
        input++;
    if (is_around && !r->root && *input && !err->hint[0])
        cairn_hint(err, "a function is named behind =: --%s=%s",
                   r->form == CLI_REPORT_CALLERS ? "callers" : "callees", *input);
}

static int run_report(struct cli_report *r)
{
    struct cairn_err err = {0};
    int result = load(r, &err);
    if (result < 0)
        hint_at_equals(r, &err);
    if (result == CAIRN_OK)
        result = print(r, &err);
    if (result < 0)
        return cli_report(&err);
    if (!r->json)
        cli_say_unnamed(r->profile, r->wanted.inputs[0]);
    return CLI_OK;
}

/* What would be left undone is refused. */
static bool agree(const struct cli_report *r)
{
    bool is_tree = r->form != CLI_REPORT_TOP;
    if ((r->says_depth || r->says_least) && !is_tree)
        cli_args_wrong(r->args, "--%s goes with --tree, --callers or --callees",
                       r->says_depth ? "depth" : "min-percent");
    else if (r->says_sort && r->form == CLI_REPORT_CALLS)
        cli_args_wrong(r->args, "--sort does not go with --tree, which is ordered by total");
    else
        return true;
    return false;
}

static int parse(struct cli_report *r)
{
    const char *value;
    int option;
    while ((option = cli_args_next(r->args, &value)) >= 0)
        if (!take_option(r, option, value))
            return CLI_USAGE;
    if (option == CLI_ARGS_WRONG || !agree(r))
        return CLI_USAGE;
    if (!r->says_depth && !r->root && r->form != CLI_REPORT_CALLS)
        r->depth = LEVELS_DEFAULT;
    size_t n;
    r->wanted.inputs = cli_args_operands(r->args, &n);
    return n ? CLI_OK : cli_args_wrong(r->args, "PROFILE is missing: a file, or - for stdin");
}

static int run(struct cli_args *args)
{
    struct cli_report r = {
        .args = args,
        .n_shown = TOP_DEFAULT,
        .least_percent = LEAST_PERCENT_DEFAULT,
        .show = {.args = args},
        .wanted = {.args = args, .rows = &options[OPTION_WANTED], .select = {.args = args}}};
    r.wanted.steps = &r.steps;
    int status = parse(&r);
    if (status == CLI_OK) {
        cli_log_open(r.verbosity);
        status = run_report(&r);
    }
    free(r.rows);
    cairn_top_free(r.top);
    cairn_tree_free(r.tree);
    cairn_profile_free(r.profile);
    cli_wanted_done(&r.wanted);
    return status;
}

const struct cli_command cli_cmd_report = {
    .name = "report",
    .summary = "print the functions that cost most, or calls as trees",
    .usage =
        (const char *const[]){
            "report [OPTION...] PROFILE...",
            "report --tree|--callers[=FUNCTION]|--callees[=FUNCTION] [OPTION...] PROFILE...", NULL},
    .options = options,
    .notes = "PROFILE is in pprof or collapsed form, perf.data, text of perf script, a "
             "report with stacks (sanitizers, debuggers, crashes) or a heap file, - is stdin; "
             "several count as one. The last line "
             "says how far the numbers can "
             "be trusted: how many stacks are "
             "whole, why others end early, and how many frames have no name. With filters, one "
             "more says how many samples each took out.",
    .run = run,
};
