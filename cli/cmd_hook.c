/* SPDX-License-Identifier: MIT */
/* cairn hook: its parts, a row each. */
#include "cli/hook.h"

static const struct cli_command *const parts[] = {&cli_hook_plan, &cli_hook_move, &cli_hook_slots,
                                                  NULL};

const struct cli_command cli_cmd_hook = {
    .name = "hook",
    .summary = "show how functions can be diverted while threads run them",
    .parts = parts,
};
