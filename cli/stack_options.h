/* SPDX-License-Identifier: MIT */
/* The options of cairn stack. */
#ifndef CAIRN_CLI_STACK_OPTIONS_H
#define CAIRN_CLI_STACK_OPTIONS_H

#include <cairn/symbolizer.h>

#include "cli/args.h"
#include "cli/result.h"
#include "cli/stack.h"

/* What is asked for. Texts are borrowed from the command line. */
struct cli_stack_wish {
    struct cairn_snapshot_opts opts;
    struct cairn_unwind_opts modules;
    struct cairn_symbolizer_opts symbols;
    struct cli_list symbol_dirs;
    struct cli_stack_view view;
    bool json, merge, force;
    uint64_t count, interval_ms;
    const char *out; /* NULL: no file is written */
    enum cli_result result;
    int verbosity;
};

extern const struct cli_option cli_stack_options[];

/* Into a wish that holds what is meant without options. False after having said what is wrong. */
bool cli_stack_options_read(struct cli_stack_wish *wish, struct cli_args *args);

#endif /* CAIRN_CLI_STACK_OPTIONS_H */
