/* SPDX-License-Identifier: MIT */
#include "cli/hook.h"
#include "cli/term.h"

enum { JSON, VERBOSE };

const struct cli_option cli_hook_query_options[] = {
    [JSON] = {"json", 0, NULL, "print one JSON object"},
    [VERBOSE] = {"verbose", 'v', NULL, "say what is done; twice: more"},
    {0}};

bool cli_hook_take_query(struct cli_args *args, bool needs_names, struct cli_hook_query *ret_query)
{
    struct cli_hook_query query = {0};
    const char *value;
    size_t n;
    int row, verbosity = 0;
    while ((row = cli_args_next(args, &value)) >= 0) {
        query.json |= row == JSON;
        verbosity += row == VERBOSE;
    }
    if (row == CLI_ARGS_WRONG)
        return false;
    char **operands = cli_args_operands(args, &n);
    if (!n || (n == 1 && needs_names)) {
        cli_args_wrong(args, n ? "NAME is missing" : "FILE or PID is missing");
        return false;
    }
    query.input = operands[0];
    query.pid = cli_parse_pid(query.input);
    query.names = (const char *const *)operands + 1;
    query.n_names = n - 1;
    *ret_query = query;
    cli_log_open(verbosity);
    return true;
}
