/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include <cairn/version.h>

#include "base/json.h"
#include "cli/args.h"

static const struct cli_option options[] = {
    {.name = "json", .help = "print one JSON object"},
    {0},
};

static void print_json(void)
{
    struct cairn_buffer text = {0};
    struct cairn_json json = {.out = &text};
    cairn_json_open(&json, NULL, '{');
    cairn_json_str(&json, "version", cairn_version());
    cairn_json_str(&json, "features", cairn_features());
    cairn_json_str(&json, "target", cairn_target());
    cairn_json_close(&json, '}');
    fputs(cairn_buffer_text(&text), stdout);
    cairn_buffer_done(&text);
}

static int run(struct cli_args *args)
{
    bool as_json = false;
    const char *value;
    int row;
    while ((row = cli_args_next(args, &value)) >= 0)
        as_json = true;
    if (row == CLI_ARGS_WRONG)
        return CLI_USAGE;
    size_t n;
    char **operands = cli_args_operands(args, &n);
    if (n)
        return cli_args_wrong(args, "\"%s\" is one word too many", operands[0]);
    if (as_json)
        print_json();
    else
        printf("cairn %s\nfeatures: %s\ntarget: %s\n", cairn_version(), cairn_features(),
               cairn_target());
    return CLI_OK;
}

const struct cli_command cli_cmd_version = {
    .name = "version",
    .summary = "print the version, what this build can do and what it was built for",
    .usage = (const char *const[]){"version [--json]", NULL},
    .options = options,
    .run = run,
};
