/* SPDX-License-Identifier: MIT */
/* cairn convert: profiles in, one profile out, in the format that its name or --to asks for. */
#include <string.h>

#include "base/error.h"
#include "cli/args.h"
#include "cli/convert_info.h"
#include "cli/profiles.h"
#include "cli/show.h"
#include "cli/term.h"
#include "cli/write_profile.h"

enum option {
    OPTION_OUTPUT,
    OPTION_TO,
    OPTION_WANTED,
    OPTION_FORCE = OPTION_WANTED + CLI_N_WANTED,
    OPTION_INFO,
    OPTION_VERBOSE
};

static const struct cli_option options[] = {
    [OPTION_OUTPUT] = {.name = "output",
                       .letter = 'o',
                       .value = "OUT",
                       .help = "write to OUT; its ending says in which format: .pb.gz, .pb or "
                               ".pprof for pprof, .collapsed, .folded or .txt for collapsed "
                               "stacks, .firefox.json.gz or .firefox.json for the Firefox "
                               "Profiler, .speedscope.json.gz or .speedscope.json for speedscope, "
                               ".trace.json.gz or .trace.json for Perfetto, .data for perf, "
                               ".otlp.gz or .otlp for OpenTelemetry, "
                               ".callgrind or callgrind.out.NAME for callgrind; "
                               "- is stdout and wants --to"},
    [OPTION_TO] = {.name = "to",
                   .letter = 't',
                   .value = "FORMAT",
                   .help = "pprof, collapsed, firefox, speedscope, callgrind, chrome, "
                           "perf-data or otlp, whatever the name of OUT"},
    CLI_WANTED_ROWS(OPTION_WANTED,
                    "what is counted, such as cpu or samples: the only value that collapsed stacks "
                    "hold, the one that others show first (default: what the profile says)",
                    "all"),
    [OPTION_FORCE] = {.name = "force",
                      .letter = 'f',
                      .help = "replace OUT where it is there already"},
    [OPTION_INFO] = {.name = "info",
                     .help =
                         "print what the profile holds instead: where it was recorded, its "
                         "values, its modules with their build IDs and how many of their frames "
                         "have a name, what was left out"},
    [OPTION_VERBOSE] = {.name = "verbose", .letter = 'v', .help = "say what is done; twice: more"},
    {0},
};

struct convert {
    struct cli_args *args;
    const char *output;
    enum cairn_format to;
    struct cli_wanted wanted;
    struct cli_steps steps; /* of its filters */
    bool force, info;
    int verbosity;
};

static bool take_option(struct convert *c, int option, const char *value)
{
    switch (option) {
    case OPTION_OUTPUT:
        c->output = value;
        return true;
    case OPTION_TO:
        return cli_format_arg(c->args, "to", value, &c->to);
    case OPTION_FORCE:
        c->force = true;
        return true;
    case OPTION_INFO:
        c->info = true;
        return true;
    case OPTION_VERBOSE:
        c->verbosity++;
        return true;
    default:
        return cli_wanted_take(&c->wanted, (enum cli_wanted_row)(option - OPTION_WANTED), value);
    }
}

static int parse(struct convert *c)
{
    const char *value;
    int option;
    while ((option = cli_args_next(c->args, &value)) >= 0)
        if (!take_option(c, option, value))
            return CLI_USAGE;
    if (option == CLI_ARGS_WRONG)
        return CLI_USAGE;
    size_t n;
    c->wanted.inputs = cli_args_operands(c->args, &n);
    if (n == 0)
        return cli_args_wrong(c->args, "IN is missing: a file, or - for stdin");
    if (c->info && c->output)
        return cli_args_wrong(c->args, "--info writes no OUT: one of --info and -o");
    if (c->info)
        return CLI_OK;
    if (!c->output)
        return cli_args_wrong(c->args, "OUT is missing: say -o OUT, - for stdout");
    if (c->to == CAIRN_FORMAT_AUTO)
        c->to = cairn_format_of_name(c->output);
    if (c->to != CAIRN_FORMAT_AUTO)
        return CLI_OK;
    if (strcmp(c->output, "-") == 0)
        return cli_args_wrong(c->args,
                              "stdout has no ending: say --to FORMAT: pprof, collapsed, firefox, "
                              "speedscope, callgrind, chrome, perf-data or otlp");
    return cli_args_wrong(c->args,
                          "-o %s: the ending names no format, expected .pb.gz, .pb or .pprof "
                          "(pprof), .collapsed, .folded or .txt (collapsed), .firefox.json.gz "
                          "(firefox), .speedscope.json.gz (speedscope), .callgrind (callgrind), "
                          ".trace.json.gz (chrome), .data (perf-data), .otlp.gz (otlp), "
                          "or --to FORMAT",
                          c->output);
}

/* What collapsed stacks have no place for is not dropped without a word. */
static void say_dropped(const struct convert *c, const struct cairn_profile *profile)
{
    const struct cairn_value_type *types;
    size_t n = cairn_profile_value_types(profile, &types);
    size_t kept = cairn_profile_default_value(profile);
    struct cairn_buffer names = {0};
    if (c->to != CAIRN_FORMAT_COLLAPSED || n < 2)
        return;
    for (size_t i = 0; i < n; i++)
        if (i != kept)
            cairn_buffer_printf(&names, "%s%s", names.size ? ", " : "", types[i].type);
    cli_say("collapsed stacks hold one type of values, here \"%s\"; left out: %s", types[kept].type,
            cairn_buffer_text(&names));
    cairn_buffer_done(&names);
}

static void say_done(const struct convert *c, const struct cairn_profile *profile)
{
    struct cairn_profile_stats stats = {.size = sizeof stats};
    struct cairn_buffer count = {0};
    cairn_profile_stats(profile, &stats);
    cli_add_count(&count, stats.n_samples);
    say_dropped(c, profile);
    cairn_buffer_str(&count, stats.n_samples == 1 ? " sample" : " samples");
    if (stats.n_events && cli_format_holds_events(c->to)) {
        cairn_buffer_str(&count, ", ");
        cli_add_counted(&count, stats.n_events, "event");
    }
    cli_say("%s: %s", strcmp(c->output, "-") == 0 ? "stdout" : c->output,
            cairn_buffer_text(&count));
    cairn_buffer_done(&count);
    cli_steps_say("", &c->steps);
}

static int load(const struct convert *c, struct cairn_profile **ret_profile, struct cairn_err *err)
{
    size_t value;
    int result = cli_wanted_read(&c->wanted, ret_profile, &value, NULL, err);
    if (result < 0 || !c->wanted.value)
        return result;
    return cairn_profile_set_default_value(*ret_profile, value, err);
}

/* OUT is opened before IN is read, so that hours of reading do not end at "is there already"; it is
 * replaced after all was read, so it may be IN. */
static int convert(const struct convert *c, struct cairn_err *err)
{
    struct cairn_profile *profile = NULL;
    struct cli_output *output;
    int result = cli_output_open(c->output, c->force, &output, err);
    if (result < 0)
        return result;
    result = load(c, &profile, err);
    if (result == CAIRN_OK)
        result = cli_write_profile(profile, c->to, output, err);
    result = result < 0 ? cli_output_fail(output, result, err) : cli_output_commit(output, err);
    if (result == CAIRN_OK)
        say_done(c, profile);
    cairn_profile_free(profile);
    return result;
}

static int print_info(const struct convert *c, struct cairn_err *err)
{
    struct cairn_profile *profile = NULL;
    struct cairn_buffer out = {0};
    struct cli_show show = {.args = c->args};
    int result = load(c, &profile, err);
    if (result == CAIRN_OK)
        result = cli_convert_info_add(&out, profile, err);
    if (result == CAIRN_OK)
        result = cli_show(&show, false, &out, err);
    if (result == CAIRN_OK)
        cli_steps_say("", &c->steps);
    cairn_buffer_done(&out);
    cairn_profile_free(profile);
    return result;
}

static int run(struct cli_args *args)
{
    struct convert c = {.args = args,
                        .wanted = {.args = args,
                                   .rows = &options[OPTION_WANTED],
                                   .guest = CAIRN_GUEST_ALL,
                                   .select = {.args = args}}};
    c.wanted.steps = &c.steps;
    struct cairn_err err = {0};
    int status = parse(&c);
    if (status == CLI_OK) {
        c.wanted.reading.keeps_raw = !cli_format_is_for_viewers(c.to);
        c.wanted.reading.keeps_times = cli_format_holds_times(c.to);
        cli_log_open(c.verbosity);
        int result = c.info ? print_info(&c, &err) : convert(&c, &err);
        status = result < 0 ? cli_report(&err) : CLI_OK;
    }
    cli_wanted_done(&c.wanted);
    return status;
}

const struct cli_command cli_cmd_convert = {
    .name = "convert",
    .summary = "convert between formats of profiles",
    .usage = (const char *const[]){"convert IN... -o OUT [OPTION...]",
                                   "convert IN... --info [OPTION...]", NULL},
    .options = options,
    .notes = "IN is a profile in pprof or collapsed form, perf.data, text of perf script or a "
             "report with stacks (sanitizers, debuggers, crashes), - is stdin; several become one. "
             "Collapsed stacks hold names and one count: addresses, lines, labels and other values "
             "stay behind. For viewers, addresses are named by the files of this machine.",
    .run = run,
};
