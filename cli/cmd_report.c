/* SPDX-License-Identifier: MIT */
/* cairn report: profiles in, the table of functions that cost most out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/escape.h"
#include "base/json.h"
#include "cli/args.h"
#include "cli/profiles.h"
#include "cli/report_table.h"
#include "cli/show.h"
#include "cli/term.h"

enum { TOP_DEFAULT = 30 };

enum option {
    OPTION_TOP,
    OPTION_SORT,
    OPTION_WANTED,
    OPTION_SHOW = OPTION_WANTED + CLI_N_WANTED,
    OPTION_JSON = OPTION_SHOW + CLI_N_SHOW,
    OPTION_VERBOSE
};

static const struct cli_option options[] = {
    [OPTION_TOP] = {.name = "top",
                    .letter = 'n',
                    .value = "N",
                    .help = "print at most N functions, 0 for all of them (default: 30)"},
    [OPTION_SORT] = {.name = "sort",
                     .value = "COLUMN",
                     .help = "self (default), what functions cost themselves, or total, with all "
                             "that they called"},
    CLI_WANTED_ROWS(OPTION_WANTED, "format", 'f',
                    "what is counted, such as cpu or samples (default: what the profile says)"),
    CLI_SHOW_ROWS(OPTION_SHOW),
    [OPTION_JSON] = {.name = "json", .help = "print one JSON object, numbers and names uncut"},
    [OPTION_VERBOSE] = {.name = "verbose", .letter = 'v', .help = "say what is done; twice: more"},
    {0},
};

struct report {
    struct cli_args *args;
    uint64_t n_shown; /* 0: all */
    bool by_total, json;
    struct cli_wanted wanted;
    struct cli_show show;
    int verbosity;
    struct cairn_profile *profile;
    uint64_t n_read; /* samples before any were dropped */
    size_t value_type;
    struct cairn_top *top; /* NULL where there is no sample */
    struct cairn_top_row *rows;
    size_t n_rows; /* to show */
};

static bool set_sort(struct report *r, const char *text)
{
    static const char *const columns[] = {"self", "total", NULL};
    int column;
    if (!cli_args_word(r->args, "sort", text, columns, &column))
        return false;
    r->by_total = column == 1;
    return true;
}

static bool take_option(struct report *r, int option, const char *value)
{
    switch (option) {
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

static int make_rows(struct report *r, struct cairn_err *err)
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
    r->n_rows = r->n_shown && r->n_shown < n ? (size_t)r->n_shown : n;
    return CAIRN_OK;
}

static int load(struct report *r, struct cairn_err *err)
{
    const struct cairn_value_type *types;
    int result = cli_wanted_read(&r->wanted, &r->profile, &r->value_type, &r->n_read, err);
    if (result < 0 || cairn_profile_value_types(r->profile, &types) == 0)
        return result;
    result = cairn_profile_top(r->profile, r->value_type, &r->top, err);
    return result < 0 ? result : make_rows(r, err);
}

static struct cairn_value_type value_type(const struct report *r)
{
    const struct cairn_value_type *types;
    size_t n = cairn_profile_value_types(r->profile, &types);
    return n ? types[r->value_type] : (struct cairn_value_type){"", ""};
}

/* One line on what there is to show, where that is nothing. */
static void add_nothing(const struct report *r, struct cairn_buffer *out)
{
    if (!r->n_read) {
        cairn_buffer_str(out, "the profile is empty: it holds no samples\n");
        return;
    }
    cairn_buffer_str(out, "none of the ");
    cli_add_count(out, r->n_read);
    cairn_buffer_str(out, " samples has what was asked for\n");
}

static void add_text(const struct report *r, struct cairn_buffer *out)
{
    struct cairn_buffer quality = {0};
    struct cli_report_table table = {
        .rows = r->rows,
        .n = r->n_rows,
        .sum = r->top ? cairn_top_sum(r->top) : 0,
        .value = value_type(r),
        .width = cli_show_width(),
        .colour = cli_show_colours(&r->show),
    };
    if (r->n_rows == 0) {
        add_nothing(r, out);
        return;
    }
    cli_report_table_add(out, &table);
    const struct cairn_top_row *rows;
    size_t n_left = cairn_top_rows(r->top, &rows) - r->n_rows;
    if (n_left) {
        cairn_buffer_str(out, "and ");
        cli_add_count(out, n_left);
        cairn_buffer_str(out, " more: --top 0 prints all\n");
    }
    cli_add_quality(&quality, r->profile);
    cairn_buffer_char(out, '\n');
    cairn_escape_terminal(out, cairn_buffer_text(&quality), quality.size);
    cairn_buffer_char(out, '\n');
    out->failed |= quality.failed;
    cairn_buffer_done(&quality);
}

static double percent(int64_t part, int64_t sum)
{
    return sum ? 100.0 * (double)part / (double)sum : 0;
}

static void put_rows(const struct report *r, struct cairn_json *json)
{
    int64_t sum = r->top ? cairn_top_sum(r->top) : 0;
    cairn_json_open(json, "functions", '[');
    for (size_t i = 0; i < r->n_rows; i++) {
        const struct cairn_top_row *row = &r->rows[i];
        cairn_json_open(json, NULL, '{');
        cairn_json_str(json, "function", row->function);
        cairn_json_str(json, "file", row->file);
        cairn_json_str(json, "module", row->module);
        cairn_json_i64(json, "self", row->self);
        cairn_json_real(json, "self_percent", percent(row->self, sum));
        cairn_json_i64(json, "total", row->total);
        cairn_json_real(json, "total_percent", percent(row->total, sum));
        cairn_json_close(json, '}');
    }
    cairn_json_close(json, ']');
}

static int put_cuts(const struct report *r, struct cairn_json *json)
{
    struct cairn_cut_row none;
    size_t n = cairn_profile_cuts(r->profile, &none, 0);
    struct cairn_cut_row *cuts = calloc(n + 1, sizeof *cuts);
    if (!cuts)
        return CAIRN_E_NOMEM;
    n = cairn_profile_cuts(r->profile, cuts, n);
    cairn_json_open(json, "cut_by_reason", '[');
    for (size_t i = 0; i < n; i++) {
        cairn_json_open(json, NULL, '{');
        cairn_json_str(json, "reason", cuts[i].reason);
        cairn_json_u64(json, "samples", cuts[i].n_samples);
        cairn_json_close(json, '}');
    }
    cairn_json_close(json, ']');
    free(cuts);
    return CAIRN_OK;
}

static int put_quality(const struct report *r, struct cairn_json *json)
{
    struct cairn_profile_stats stats = {.size = sizeof stats};
    cairn_profile_stats(r->profile, &stats);
    cairn_json_open(json, "quality", '{');
    cairn_json_u64(json, "samples_read", r->n_read);
    cairn_json_u64(json, "samples", stats.n_samples);
    cairn_json_u64(json, "samples_judged", stats.n_judged);
    cairn_json_u64(json, "samples_whole", stats.n_judged - stats.n_cut);
    cairn_json_u64(json, "samples_cut", stats.n_cut);
    int result = put_cuts(r, json);
    cairn_json_u64(json, "duration_ns", stats.duration_ns);
    cairn_json_u64(json, "frames", stats.n_frames);
    cairn_json_u64(json, "frames_unnamed", stats.n_unnamed);
    cairn_json_close(json, '}');
    return result;
}

static int add_json(const struct report *r, struct cairn_buffer *out)
{
    struct cairn_json json = {.out = out};
    const struct cairn_value_type *types;
    const struct cairn_top_row *rows;
    size_t n = cairn_profile_value_types(r->profile, &types);
    cairn_json_open(&json, NULL, '{');
    cairn_json_str(&json, "value", value_type(r).type);
    cairn_json_str(&json, "unit", value_type(r).unit);
    cairn_json_open(&json, "values", '[');
    for (size_t i = 0; i < n; i++)
        cairn_json_str(&json, NULL, types[i].type);
    cairn_json_close(&json, ']');
    cairn_json_i64(&json, "sum", r->top ? cairn_top_sum(r->top) : 0);
    cairn_json_str(&json, "sort", r->by_total ? "total" : "self");
    cairn_json_u64(&json, "n_functions", r->top ? cairn_top_rows(r->top, &rows) : 0);
    put_rows(r, &json);
    int result = put_quality(r, &json);
    cairn_json_close(&json, '}');
    return result;
}

static int print(const struct report *r, struct cairn_err *err)
{
    struct cairn_buffer out = {0};
    int result = CAIRN_OK;
    if (r->json)
        result = add_json(r, &out);
    else
        add_text(r, &out);
    if (result < 0 || out.failed)
        result = cairn_fail_memory(err);
    else if (r->json)
        fwrite(out.data, 1, out.size, stdout);
    else
        cli_show_text(&r->show, &out);
    cairn_buffer_done(&out);
    return result;
}

static int run_report(struct report *r)
{
    struct cairn_err err = {0};
    int result = load(r, &err);
    if (result == CAIRN_OK)
        result = print(r, &err);
    if (result < 0)
        return cli_report(&err);
    if (!r->json)
        cli_say_unnamed(r->profile, r->wanted.inputs[0]);
    return CLI_OK;
}

static int parse(struct report *r)
{
    const char *value;
    int option;
    while ((option = cli_args_next(r->args, &value)) >= 0)
        if (!take_option(r, option, value))
            return CLI_USAGE;
    if (option == CLI_ARGS_WRONG)
        return CLI_USAGE;
    size_t n;
    r->wanted.inputs = cli_args_operands(r->args, &n);
    return n ? CLI_OK : cli_args_wrong(r->args, "PROFILE is missing: a file, or - for stdin");
}

static int run(struct cli_args *args)
{
    struct report r = {.args = args,
                       .n_shown = TOP_DEFAULT,
                       .show = {.args = args},
                       .wanted = {.args = args, .rows = &options[OPTION_WANTED]}};
    int status = parse(&r);
    if (status == CLI_OK) {
        cli_log_open(r.verbosity);
        status = run_report(&r);
    }
    free(r.rows);
    cairn_top_free(r.top);
    cairn_profile_free(r.profile);
    cli_wanted_done(&r.wanted);
    return status;
}

const struct cli_command cli_cmd_report = {
    .name = "report",
    .summary = "print the functions that cost most",
    .usage = (const char *const[]){"report [OPTION...] PROFILE...", NULL},
    .options = options,
    .notes = "PROFILE is in pprof or collapsed form, - is stdin; several count as one. The last "
             "line says how far the numbers can be trusted: how many stacks are whole, why others "
             "end early, and how many frames have no name.",
    .run = run,
};
