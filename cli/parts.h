/* SPDX-License-Identifier: MIT */
/* What runs a command, or one of its parts: `cairn heap leaks`, `cairn hook plan`. */
#ifndef CAIRN_CLI_PARTS_H
#define CAIRN_CLI_PARTS_H

#include "cli/args.h"

/* Runs a command or a part, on another machine where the words ask for that (remote.h), or prints
 * its help. `words` are those behind its name, NULL at their end. */
int cli_run_command(const struct cli_command *command, char **words);

/* "run" of "heap run" */
const char *cli_part_name(const struct cli_command *part);

#endif /* CAIRN_CLI_PARTS_H */
