/* SPDX-License-Identifier: MIT */
/* cairn heap top: a running process, live, on the whole terminal. */
#include "cli/heap_top.h"

#include <unistd.h>

#include "base/error.h"
#include "cli/term.h"

enum option {
    OPTION_EVERY,
    OPTION_SORT,
    OPTION_LOST,
    OPTION_FILTER,
    OPTION_MODULE,
    OPTION_SUPPRESSIONS,
    OPTION_NO_DEFAULTS,
    OPTION_NAMES
};

static const struct cli_option options[] = {
    [OPTION_EVERY] = {"every", 0, "SECONDS", "look so often (default: 2)"},
    [OPTION_SORT] = {"sort", 0, "ORDER", "live (default), blocks, growth, rate or lost"},
    [OPTION_LOST] = {"lost", 0, NULL,
                     "look for blocks that nothing points to, too, in a thread of its own"},
    [OPTION_FILTER] = {"filter", 0, "TEXT",
                       "only stacks with TEXT in the name of a function, file or module"},
    [OPTION_MODULE] = {"module", 0, "NAME",
                       "only stacks with a frame in a module whose file name contains NAME; given "
                       "several times, in any of them"},
    [OPTION_SUPPRESSIONS] = CLI_HEAP_SUPPRESSIONS_ROW,
    [OPTION_NO_DEFAULTS] = CLI_HEAP_NO_DEFAULTS_ROW,
    CLI_HEAP_NAME_ROWS(OPTION_NAMES),
    {0},
};

static bool set_every(struct cli_args *args, const char *value, struct cli_heap_top *top)
{
    if (!cli_args_real(args, "every", value, &top->seconds))
        return false;
    if (top->seconds >= 0.1 && top->seconds <= 3600)
        return true;
    cli_args_wrong(args, "--every: %s, expected 0.1 to 3600 seconds", value);
    return false;
}

static bool set_order(struct cli_args *args, const char *value, struct cli_heap_top *top)
{
    static const char *const words[] = {
        [CLI_HEAP_BY_LIVE] = "live",     [CLI_HEAP_BY_BLOCKS] = "blocks",
        [CLI_HEAP_BY_GROWTH] = "growth", [CLI_HEAP_BY_RATE] = "rate",
        [CLI_HEAP_BY_LOST] = "lost",     NULL,
    };
    int order;
    if (!cli_args_word(args, "sort", value, words, &order))
        return false;
    top->order = (enum cli_heap_top_order)order;
    return true;
}

static bool take_option(struct cli_args *args, int option, const char *value,
                        struct cli_heap_top *top)
{
    switch (option) {
    case OPTION_EVERY:
        return set_every(args, value, top);
    case OPTION_SORT:
        return set_order(args, value, top);
    case OPTION_LOST:
        top->lost.is_wanted = true;
        return true;
    case OPTION_FILTER:
        cairn_buffer_clear(&top->filter);
        cairn_buffer_str(&top->filter, value);
        return true;
    case OPTION_MODULE:
        cli_list_add(&top->wanted->modules, value);
        return true;
    case OPTION_SUPPRESSIONS:
        top->wanted->suppressions_file = value;
        return true;
    case OPTION_NO_DEFAULTS:
        top->wanted->no_defaults = true;
        return true;
    default:
        return cli_heap_take_name(args, option - OPTION_NAMES, value, &top->wanted->names);
    }
}

static bool parse(struct cli_args *args, struct cli_heap_top *top)
{
    const char *value;
    int option;
    while ((option = cli_args_next(args, &value)) >= 0)
        if (!take_option(args, option, value, top))
            return false;
    if (option != CLI_ARGS_WRONG && top->order == CLI_HEAP_BY_LOST && !top->lost.is_wanted) {
        cli_args_wrong(args, "--sort: lost is known with --lost only");
        return false;
    }
    top->input = option == CLI_ARGS_WRONG ? NULL : cli_heap_input(args);
    return top->input != NULL;
}

/* The first look is made before the terminal is taken: what is wrong is then said plainly. */
static int work(struct cli_heap_top *top, struct cairn_err *err)
{
    if (!isatty(STDIN_FILENO) || !cli_stdout_is_terminal()) {
        cairn_fail(err, CAIRN_E_ARG, "heap top needs a terminal");
        cairn_hint(err, "cairn heap leaks --every 2 %s prints what grows", top->input);
        return CAIRN_E_ARG;
    }
    int result = cli_heap_wanted_open(top->wanted, err);
    if (result == CAIRN_OK)
        result = cli_heap_top_look(top, err);
    if (result == CAIRN_OK && !top->look.pid) {
        result = cairn_fail(err, CAIRN_E_ARG, "%s: heap top is for a running process", top->input);
        cairn_hint(err, "cairn heap leaks %s lists what a file has", top->input);
    }
    return result < 0 ? result : cli_heap_top_show(top, err);
}

static int run(struct cli_args *args)
{
    struct cli_heap_wanted wanted = {.filter = {.size = sizeof wanted.filter, .all_stacks = 1}};
    struct cli_heap_top top = {.seconds = 2, .wanted = &wanted};
    struct cairn_err err = {0};
    int status = CLI_USAGE;
    cli_way_init(&wanted.names.symbols);
    if (parse(args, &top)) {
        cli_log_open(wanted.names.verbosity);
        status = work(&top, &err) < 0 ? cli_report(&err) : CLI_OK;
    }
    cli_heap_top_done(&top);
    cli_heap_wanted_done(&wanted);
    return status;
}

const struct cli_command cli_heap_top_command = {
    .name = "heap top",
    .summary = "a running process, live: what it holds, and what grows",
    .usage = (const char *const[]){"heap top [OPTION...] PID|NAME", NULL},
    .options = options,
    .notes =
        "Keys: l, b, g, r, o sort by live bytes, blocks, growth a minute, allocations a second, "
        "lost bytes; / filters; Enter shows the whole stack; p pauses; q ends.",
    .run = run,
    .remote = CLI_REMOTE_TEXT,
};
