/* SPDX-License-Identifier: MIT */
/*
 * cairn symbolize FILE ADDR...: names, lines and inline frames of addresses, one answer each, in
 * the order of the questions. With addresses on stdin each answer is written before the next line
 * is waited for, so that another program can ask through a pair of pipes.
 */
#include <cairn/symbolizer.h>

#include "cli/args.h"
#include "cli/questions.h"
#include "cli/term.h"
#include "cli/way_options.h"

enum option_row {
    OPT_SYMBOLS,
    OPT_DEBUG_DIR,
    OPT_NAMES,
    OPT_NO_INLINES,
    OPT_ALLOW_MISMATCH,
    OPT_RET,
    OPT_OFFSETS,
    OPT_SECTION,
    OPT_MAX_MEMORY,
    OPT_JSON,
    OPT_STYLE,
    OPT_VERBOSE,
    OPT_WAYS,
};

static const struct cli_option options[] = {
    [OPT_SYMBOLS] = {.name = "symbols",
                     .letter = 's',
                     .value = "DIR",
                     .help = "look for debug files in DIR too; may be given more than once, and "
                             "may be a glob of folders"},
    [OPT_DEBUG_DIR] = {.name = "debug-dir",
                       .value = "DIR",
                       .help = "the global folder of debug files; default: /usr/lib/debug"},
    [OPT_NAMES] = {.name = "names",
                   .value = "HOW",
                   .help = "full (with parameters, the default), short (without) or mangled"},
    [OPT_NO_INLINES] = {.name = "no-inlines", .help = "print only the outermost function"},
    [OPT_ALLOW_MISMATCH] = {.name = "allow-mismatch",
                            .help = "take debug files whose build ID or checksum differs"},
    [OPT_RET] = {.name = "ret",
                 .help = "the addresses are return addresses: look one byte before each"},
    [OPT_OFFSETS] = {.name = "offsets",
                     .value = "KIND",
                     .help = "what the addresses are: vaddr (as the ELF file says them, the "
                             "default), file (offsets in the file) or rel (from the load base)"},
    [OPT_SECTION] = {.name = "section",
                     .value = "NAME",
                     .help = "the addresses count from the start of this section"},
    [OPT_MAX_MEMORY] = {.name = "max-memory",
                        .value = "SIZE",
                        .help = "bound for what is kept of debug information; k, M, G"},
    [OPT_JSON] = {.name = "json", .help = "print one JSON object per address, one a line"},
    [OPT_STYLE] = {.name = "output-style",
                   .value = "STYLE",
                   .help =
                       "the form of answers: text, json (as --json), gnu (as addr2line -f -i) or "
                       "llvm (as llvm-symbolizer --output-style=JSON)"},
    [OPT_VERBOSE] = {.name = "verbose",
                     .letter = 'v',
                     .help =
                         "say on stderr which files were chosen, and how they were read; twice: "
                         "more"},
    CLI_WAY_ROWS(OPT_WAYS),
    {0},
};

/* The options whose value is one of some words, in the order of the enums that they stand for. */
static bool set_word(struct cli_questions *r, struct cli_args *args, enum option_row row,
                     const char *value)
{
    static const char *const names[] = {"full", "short", "mangled", NULL};
    static const char *const kinds[] = {"vaddr", "file", "rel", NULL};
    static const char *const styles[] = {"text", "json", "gnu", "llvm", NULL};
    const char *const *words = row == OPT_NAMES ? names : row == OPT_OFFSETS ? kinds : styles;
    int index;
    if (!cli_args_word(args, options[row].name, value, words, &index))
        return false;
    if (row == OPT_NAMES)
        r->symbols.names = (enum cairn_names)index;
    else if (row == OPT_OFFSETS)
        r->offsets = (enum cli_offsets)index;
    else
        r->style = (enum cli_answer_style)index;
    return true;
}

/* One option; false where it was used wrongly. */
static bool take_option(struct cli_args *args, enum option_row row, const char *value,
                        struct cli_questions *r)
{
    uint64_t size;
    if (row >= OPT_WAYS)
        return cli_way_take(args, (enum cli_way_row)(row - OPT_WAYS), value, &r->symbols);
    switch (row) {
    case OPT_SYMBOLS:
        if (r->symbols.n_symbol_dirs == CLI_SYMBOL_DIRS_MAX) {
            cli_args_wrong(args, "--symbols more than %d times", CLI_SYMBOL_DIRS_MAX);
            return false;
        }
        r->symbol_dirs[r->symbols.n_symbol_dirs++] = value;
        return true;
    case OPT_DEBUG_DIR:
        r->symbols.debug_dir = value;
        return true;
    case OPT_NAMES:
    case OPT_OFFSETS:
    case OPT_STYLE:
        return set_word(r, args, row, value);
    case OPT_SECTION:
        r->section = value;
        return true;
    case OPT_NO_INLINES:
        r->symbols.no_inlines = 1;
        return true;
    case OPT_ALLOW_MISMATCH:
        r->symbols.allow_mismatch = 1;
        return true;
    case OPT_RET:
        r->is_ret = true;
        return true;
    case OPT_MAX_MEMORY:
        if (!cli_args_size(args, "max-memory", value, &size))
            return false;
        r->symbols.memory_bytes = (size_t)size;
        return true;
    case OPT_JSON:
        r->style = CLI_ANSWER_JSON;
        return true;
    case OPT_VERBOSE:
        r->verbosity++;
        return true;
    case OPT_WAYS:
        break;
    }
    return false;
}

static int run(struct cli_args *args)
{
    struct cli_questions request = {.symbols = {.size = sizeof request.symbols}};
    const char *value;
    int row;
    cli_way_init(&request.symbols);
    while ((row = cli_args_next(args, &value)) >= 0)
        if (!take_option(args, (enum option_row)row, value, &request))
            return CLI_USAGE;
    if (row == CLI_ARGS_WRONG)
        return CLI_USAGE;
    size_t n;
    char **operands = cli_args_operands(args, &n);
    if (!n)
        return cli_args_wrong(args, "FILE is missing");
    if (request.section && request.offsets != CLI_OFFSETS_VADDR)
        return cli_args_wrong(args, "--section and --offsets: addresses count from one place");
    request.symbols.symbol_dirs = request.symbol_dirs;
    request.symbols.discriminators =
        request.style == CLI_ANSWER_GNU || request.style == CLI_ANSWER_LLVM;
    request.symbols.symbol_files = request.symbols.discriminators;
    cli_log_open(request.verbosity);
    return cli_questions_answer(&request, operands[0], operands + 1);
}

const struct cli_command cli_cmd_symbolize = {
    .name = "symbolize",
    .summary = "name addresses of one ELF file: function, file:line, inline frames",
    .usage = (const char *const[]){"symbolize [OPTION]... FILE ADDR...",
                                   "symbolize [OPTION]... FILE < ADDRESSES", NULL},
    .options = options,
    .notes = "Addresses are hexadecimal, with or without 0x. An address without a name is "
             "answered with the reason.",
    .run = run,
};
