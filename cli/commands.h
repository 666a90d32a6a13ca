/* SPDX-License-Identifier: MIT */
/*
 * Commands: the table of subcommands, each in a file of its own. A new one is a file cmd_NAME.c, a
 * row of the table, a man page docs/man/cairn-NAME.1 and its name in cli/args.h and
 * cli/meson.build.
 */
#ifndef CAIRN_CLI_COMMANDS_H
#define CAIRN_CLI_COMMANDS_H

#include "cli/args.h"

enum { CLI_COMMANDS_MAX = 32 };

/* In the order of `cairn --help`; ends with NULL. */
extern const struct cli_command *const cli_commands[];

#endif /* CAIRN_CLI_COMMANDS_H */
