/* SPDX-License-Identifier: MIT */
/* cairn hook: its parts. Each is a file hook_NAME.c, a name below and a row in cmd_hook.c. */
#ifndef CAIRN_CLI_HOOK_H
#define CAIRN_CLI_HOOK_H

#include "cli/args.h"

extern const struct cli_command cli_hook_plan, cli_hook_move, cli_hook_slots;

#endif /* CAIRN_CLI_HOOK_H */
