/* SPDX-License-Identifier: MIT */
#include "cli/stack_options.h"

#include "cli/guest_option.h"
#include "cli/way_options.h"

enum {
    OPT_NO_STOP,
    OPT_CONSISTENT,
    OPT_METHOD,
    OPT_WHY,
    OPT_REGS,
    OPT_MERGE,
    OPT_DEPTH,
    OPT_NO_FOLD,
    OPT_USER_ONLY,
    OPT_GUEST,
    OPT_COROUTINES,
    OPT_COUNT,
    OPT_INTERVAL,
    OPT_OUTPUT,
    OPT_FORCE,
    OPT_JSON,
    OPT_EXE,
    OPT_SYMBOLS,
    OPT_VERBOSE,
    OPT_WAYS,
};

const struct cli_option cli_stack_options[] = {
    [OPT_NO_STOP] = {"no-stop", 0, NULL,
                     "never stop a thread; one that cannot be read so has no stack then"},
    [OPT_CONSISTENT] = {"consistent", 0, NULL,
                        "stop all threads together, so that their stacks are of one moment"},
    [OPT_METHOD] =
        {"method", 0, "HOW",
         "iterator (a program in the kernel, without a stop; root), memory (threads that "
         "sleep, without a stop), sample (threads that run, without a stop), ptrace, or auto "
         "(default): what disturbs each thread least"},
    [OPT_WHY] = {"why", 'w', NULL, "say how each frame was found and why each stack ends"},
    [OPT_REGS] = {"regs", 'r', NULL, "print the registers of each thread"},
    [OPT_MERGE] = {"merge", 0, NULL, "threads with equal stacks together"},
    [OPT_DEPTH] = {"depth", 0, "N", "print the innermost N frames of a stack; default: all"},
    [OPT_NO_FOLD] = {"no-fold", 0, NULL, "print frames that repeat, as in recursion, one by one"},
    [OPT_USER_ONLY] = {"user-only", 'u', NULL, "no kernel frames"},
    [OPT_GUEST] = CLI_GUEST_ROW("fold"),
    [OPT_COROUTINES] = {"coroutines", 0, NULL,
                        "show the coroutines that no thread runs too, equal stacks together"},
    [OPT_COUNT] = {"count", 'n', "N", "look N times, and print how often each stack was seen"},
    [OPT_INTERVAL] = {"interval", 'i', "MS", "milliseconds between two looks (100)"},
    [OPT_OUTPUT] =
        {"output", 'o', "FILE",
         "write a profile of all stacks to FILE instead: .pb.gz raw addresses; .html, "
         ".svg a flame graph; .txt, .collapsed, .folded named stacks; "
         ".firefox.json.gz, .speedscope.json.gz, .callgrind, .trace.json.gz for these viewers"},
    [OPT_FORCE] = {"force", 'f', NULL, "replace FILE where it is there already"},
    [OPT_JSON] = {"json", 0, NULL, "print one JSON object"},
    [OPT_EXE] = {"exe", 0, "FILE", "the program that a core file is of"},
    [OPT_SYMBOLS] = {"symbols", 's', "DIR",
                     "look for binaries and debug files in DIR too; may be given several times"},
    [OPT_VERBOSE] = {"verbose", 'v', NULL, "say what was decided; twice: more of it"},
    CLI_WAY_ROWS(OPT_WAYS),
    {0},
};

static bool set_method(struct cli_stack_wish *wish, struct cli_args *args, const char *value)
{
    static const char *const words[] = {"auto", "iterator", "memory", "sample", "ptrace", NULL};
    static const enum cairn_snapshot_way ways[] = {CAIRN_SNAPSHOT_NONE, CAIRN_SNAPSHOT_ITERATOR,
                                                   CAIRN_SNAPSHOT_MEMORY, CAIRN_SNAPSHOT_SAMPLE,
                                                   CAIRN_SNAPSHOT_PTRACE};
    int index;
    if (!cli_args_word(args, "method", value, words, &index))
        return false;
    wish->opts.way = ways[index];
    return true;
}

static bool set_depth(struct cli_stack_wish *wish, struct cli_args *args, const char *value)
{
    uint64_t depth;
    if (!cli_args_count(args, "depth", value, CAIRN_CURSOR_MAX_FRAMES, &depth))
        return false;
    wish->opts.max_frames = (uint32_t)depth;
    return true;
}

static bool set_guest(struct cli_stack_wish *wish, struct cli_args *args, const char *value)
{
    if (!cli_guest_take(args, value, &wish->view.guest))
        return false;
    wish->opts.no_guests = wish->view.guest == CAIRN_GUEST_OFF;
    return true;
}

static bool set_option(struct cli_stack_wish *wish, struct cli_args *args, int row,
                       const char *value)
{
    if (row >= OPT_WAYS)
        return cli_way_take(args, (enum cli_way_row)(row - OPT_WAYS), value, &wish->symbols);
    switch (row) {
    case OPT_NO_STOP:
        wish->opts.no_stop = 1;
        return true;
    case OPT_CONSISTENT:
        wish->opts.consistent = 1;
        return true;
    case OPT_METHOD:
        return set_method(wish, args, value);
    case OPT_WHY:
        return wish->view.why = true;
    case OPT_REGS:
        return wish->view.regs = true;
    case OPT_MERGE:
        return wish->merge = true;
    case OPT_DEPTH:
        return set_depth(wish, args, value);
    case OPT_NO_FOLD:
        return wish->view.no_fold = true;
    case OPT_USER_ONLY:
        wish->opts.user_only = 1;
        return true;
    case OPT_GUEST:
        return set_guest(wish, args, value);
    case OPT_COROUTINES:
        wish->opts.coroutines = 1;
        return wish->view.coroutines = true;
    case OPT_COUNT:
        return cli_args_count(args, "count", value, 1000000, &wish->count);
    case OPT_INTERVAL:
        return cli_args_count(args, "interval", value, 86400000, &wish->interval_ms);
    case OPT_OUTPUT:
        wish->out = value;
        return true;
    case OPT_FORCE:
        return wish->force = true;
    case OPT_JSON:
        return wish->json = true;
    case OPT_EXE:
        wish->modules.program = value;
        return true;
    case OPT_SYMBOLS:
        cli_list_add(&wish->symbol_dirs, value);
        return true;
    default:
        wish->verbosity++;
        return true;
    }
}

bool cli_stack_options_read(struct cli_stack_wish *wish, struct cli_args *args)
{
    const char *value;
    int row;
    size_t n;
    while ((row = cli_args_next(args, &value)) >= 0)
        if (!set_option(wish, args, row, value))
            return false;
    if (row == CLI_ARGS_WRONG)
        return false;
    (void)cli_args_operands(args, &n);
    if (!n)
        return cli_args_wrong(args, "whose stacks? give a PID, a name or a core file"), false;
    if (wish->opts.no_stop && (wish->opts.consistent || wish->opts.way == CAIRN_SNAPSHOT_PTRACE))
        return cli_args_wrong(args, "--no-stop contradicts --consistent and --method=ptrace"),
               false;
    if (wish->opts.consistent && wish->opts.way != CAIRN_SNAPSHOT_NONE &&
        wish->opts.way != CAIRN_SNAPSHOT_PTRACE)
        return cli_args_wrong(args, "--consistent contradicts --method=%s",
                              cairn_snapshot_way_text((int)wish->opts.way)),
               false;
    if (wish->view.regs && (wish->merge || wish->count > 1))
        return cli_args_wrong(args, "--regs are those of one thread: not with --merge or --count"),
               false;
    if (wish->opts.coroutines && wish->opts.no_guests)
        return cli_args_wrong(args, "--coroutines contradicts --guest=off"), false;
    if (wish->json && wish->out)
        return cli_args_wrong(args, "either --json or --output, not both"), false;
    return !wish->out || cli_result_of_name(args, wish->out, &wish->result);
}
