/* SPDX-License-Identifier: MIT */
/* cairn diff: what grew and what shrank between two profiles, by function and by stack. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cli/diff.h"
#include "cli/term.h"

enum { TOP_DEFAULT = 10 };

enum option {
    OPTION_ABSOLUTE,
    OPTION_BY,
    OPTION_TOP,
    OPTION_SORT,
    OPTION_WANTED,
    OPTION_SHOW = OPTION_WANTED + CLI_N_WANTED,
    OPTION_JSON = OPTION_SHOW + CLI_N_SHOW,
    OPTION_VERBOSE
};

static const struct cli_option options[] = {
    [OPTION_ABSOLUTE] =
        {.name = "absolute",
         .help =
             "compare values as they are, and not their shares of what each profile has in all"},
    [OPTION_BY] = {.name = "by",
                   .value = "WHAT",
                   .help = "function or stack: only those (default: both)"},
    [OPTION_TOP] = {.name = "top",
                    .letter = 'n',
                    .value = "N",
                    .help = "print at most N functions and stacks that grew, and N that shrank, 0 "
                            "for all of them (default: 10)"},
    [OPTION_SORT] = {.name = "sort",
                     .value = "COLUMN",
                     .help = "what of a function is compared: self (default), what it costs "
                             "itself, or total, with all that it called"},
    CLI_WANTED_ROWS(OPTION_WANTED,
                    "what is counted, such as cpu or samples (default: what NEW says)", "fold"),
    CLI_SHOW_ROWS(OPTION_SHOW),
    [OPTION_JSON] = {.name = "json", .help = "print one JSON object, numbers and names uncut"},
    [OPTION_VERBOSE] = {.name = "verbose", .letter = 'v', .help = "say what is done; twice: more"},
    {0},
};

size_t cli_diff_shown(const struct cli_diff *d, size_t n)
{
    return d->n_shown && d->n_shown < n ? (size_t)d->n_shown : n;
}

static bool set_sort(struct cli_diff *d, const char *text)
{
    static const char *const columns[] = {"self", "total", NULL};
    int column;
    if (!cli_args_word(d->args, "sort", text, columns, &column))
        return false;
    d->by_total = column == 1;
    return true;
}

static bool set_by(struct cli_diff *d, const char *text)
{
    static const char *const words[] = {"function", "stack", NULL};
    int word;
    if (!cli_args_word(d->args, "by", text, words, &word))
        return false;
    d->by = word + CLI_DIFF_BY_FUNCTION;
    return true;
}

static bool take_option(struct cli_diff *d, int option, const char *value)
{
    switch (option) {
    case OPTION_ABSOLUTE:
        d->absolute = true;
        return true;
    case OPTION_BY:
        return set_by(d, value);
    case OPTION_TOP:
        return cli_args_u64(d->args, "top", value, &d->n_shown);
    case OPTION_SORT:
        return set_sort(d, value);
    case OPTION_JSON:
        d->json = true;
        return true;
    case OPTION_VERBOSE:
        d->verbosity++;
        return true;
    case OPTION_SHOW + CLI_SHOW_COLOUR:
    case OPTION_SHOW + CLI_SHOW_NO_PAGER:
        return cli_show_take(&d->show, (enum cli_show_row)(option - OPTION_SHOW), value);
    default:
        return cli_wanted_take(&d->wanted, (enum cli_wanted_row)(option - OPTION_WANTED), value);
    }
}

static int parse(struct cli_diff *d)
{
    const char *value;
    int option;
    while ((option = cli_args_next(d->args, &value)) >= 0)
        if (!take_option(d, option, value))
            return CLI_USAGE;
    if (option == CLI_ARGS_WRONG)
        return CLI_USAGE;
    size_t n;
    char **inputs = cli_args_operands(d->args, &n);
    if (n != 2)
        return cli_args_wrong(d->args, "two profiles are compared: OLD and NEW");
    if (strcmp(inputs[0], "-") == 0 && strcmp(inputs[1], "-") == 0)
        return cli_args_wrong(d->args, "stdin can be read once, it was named twice");
    d->sides[0].inputs[0] = inputs[0];
    d->sides[1].inputs[0] = inputs[1];
    return CLI_OK;
}

static int read_side(struct cli_diff *d, struct cli_diff_side *side, struct cairn_err *err)
{
    d->wanted.inputs = side->inputs;
    d->wanted.steps = &side->steps;
    return cli_wanted_read(&d->wanted, &side->profile, &side->value_type, &side->n_read, err);
}

/* What NEW shows first is asked of OLD, too, and must be in the same unit
 * there. */
static int agree(struct cli_diff *d, struct cairn_err *err)
{
    struct cli_diff_side *before = &d->sides[0], *now = &d->sides[1];
    const struct cairn_value_type *types;
    if (cairn_profile_value_types(now->profile, &types) == 0)
        return cairn_fail(err, CAIRN_E_ARG, "%s: there are no values to compare", now->inputs[0]);
    d->value = types[now->value_type];
    int result =
        cli_find_value(before->profile, before->inputs[0], d->value.type, &before->value_type, err);
    if (result < 0)
        return result;
    cairn_profile_value_types(before->profile, &types);
    const char *unit = types[before->value_type].unit;
    if (strcmp(unit, d->value.unit) != 0)
        return cairn_fail(err, CAIRN_E_ARG, "%s: %s in \"%s\", and in \"%s\" in %s",
                          before->inputs[0], d->value.type, unit, d->value.unit, now->inputs[0]);
    return CAIRN_OK;
}

static void count_changes(struct cli_diff *d)
{
    d->n_functions = cairn_diff_functions(d->diff, &d->functions);
    d->n_stacks = cairn_diff_stacks(d->diff, &d->stacks);
    for (size_t i = 0; i < d->n_functions; i++) {
        const struct cairn_diff_row *row = &d->functions[i];
        double change = d->by_total ? row->total_change : row->self_change;
        d->n_functions_grew += change > 0;
        d->n_functions_shrank += change < 0;
    }
    for (size_t i = 0; i < d->n_stacks; i++) {
        d->n_stacks_grew += d->stacks[i].change > 0;
        d->n_stacks_shrank += d->stacks[i].change < 0;
    }
}

static int load(struct cli_diff *d, struct cairn_err *err)
{
    int result = read_side(d, &d->sides[0], err);
    if (result == CAIRN_OK)
        result = read_side(d, &d->sides[1], err);
    if (result == CAIRN_OK)
        result = agree(d, err);
    if (result < 0)
        return result;
    struct cairn_diff_opts opts = {.size = sizeof opts,
                                   .old_value_type = d->sides[0].value_type,
                                   .new_value_type = d->sides[1].value_type,
                                   .absolute = d->absolute,
                                   .by_total = d->by_total};
    result = cairn_diff_new(d->sides[0].profile, d->sides[1].profile, &opts, &d->diff, err);
    if (result < 0)
        return result;
    cairn_diff_sums(d->diff, &d->sides[0].sum, &d->sides[1].sum);
    count_changes(d);
    return CAIRN_OK;
}

static int print(const struct cli_diff *d, struct cairn_err *err)
{
    struct cairn_buffer out = {0};
    int result = d->json ? cli_diff_json(&out, d, err) : cli_diff_text(&out, d, err);
    if (result == CAIRN_OK)
        result = cli_show(&d->show, d->json, &out, err);
    cairn_buffer_done(&out);
    return result;
}

static int run_diff(struct cli_diff *d)
{
    struct cairn_err err = {0};
    int result = load(d, &err);
    if (result == CAIRN_OK)
        result = print(d, &err);
    if (result < 0)
        return cli_report(&err);
    for (size_t i = 0; i < 2 && !d->json; i++)
        cli_say_unnamed(d->sides[i].profile, d->sides[i].inputs[0]);
    return CLI_OK;
}

static int run(struct cli_args *args)
{
    struct cli_diff d = {
        .args = args,
        .n_shown = TOP_DEFAULT,
        .show = {.args = args},
        .wanted = {.args = args, .rows = &options[OPTION_WANTED], .select = {.args = args}}};
    int status = parse(&d);
    if (status == CLI_OK) {
        cli_log_open(d.verbosity);
        status = run_diff(&d);
    }
    cairn_diff_free(d.diff);
    cairn_profile_free(d.sides[0].profile);
    cairn_profile_free(d.sides[1].profile);
    cli_wanted_done(&d.wanted);
    return status;
}

const struct cli_command cli_cmd_diff = {
    .name = "diff",
    .summary = "print what grew and what shrank between two profiles",
    .usage = (const char *const[]){"diff [OPTION...] OLD NEW", NULL},
    .options = options,
    .notes =
        "OLD and NEW are what \"cairn report\" takes: pprof, collapsed stacks, perf.data, "
        "text of perf script, reports with stacks (sanitizers, debuggers, crashes), heap files; "
        "- is stdin. A function is the same where its name, file and module are; of two builds, "
        "where only one on each side has its name.",
    .run = run,
};
