/* SPDX-License-Identifier: MIT */
/* cairn hook: its parts, a row each. */
#include "cli/hook.h"
#include "cli/parts.h"

static const struct cli_command *const parts[] = {&cli_hook_plan, &cli_hook_move, &cli_hook_slots,
                                                  NULL};

static int run_words(char **words)
{
    return cli_parts_run(&(const struct cli_parts){&cli_cmd_hook, parts}, words);
}

const struct cli_command cli_cmd_hook = {
    .name = "hook",
    .summary = "show how functions can be diverted while threads run them",
    .run_words = run_words,
};
