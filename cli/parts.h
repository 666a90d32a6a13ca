/* SPDX-License-Identifier: MIT */
/* What runs a command, and one that is made of parts: `cairn heap leaks`, `cairn hook plan`. */
#ifndef CAIRN_CLI_PARTS_H
#define CAIRN_CLI_PARTS_H

#include "cli/args.h"

/* Runs a command or a part, on another machine where the words ask for that (remote.h), or prints
 * its help. `words` are those behind its name. */
int cli_run_command(const struct cli_command *command, char **words);

struct cli_parts {
    const struct cli_command *command;
    const struct cli_command *const *parts; /* named "heap leaks"; ends with NULL */
};

/* Runs the part that the first word names, or prints help; for a command's `run_words`. */
int cli_parts_run(const struct cli_parts *parts, char **words);

#endif /* CAIRN_CLI_PARTS_H */
