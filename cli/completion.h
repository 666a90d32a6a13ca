/* SPDX-License-Identifier: MIT */
/*
 * Completion: scripts by which shells complete the command's words, made of the tables that parse
 * and explain them. What a shell writes for a word that completes is its own file's business; what
 * completes it is told here.
 */
#ifndef CAIRN_CLI_COMPLETION_H
#define CAIRN_CLI_COMPLETION_H

#include "base/buffer.h"
#include "cli/commands.h"

/* As bits. */
enum cli_completes {
    CLI_COMPLETES_FILES = 1,
    CLI_COMPLETES_FOLDERS = 2,
    CLI_COMPLETES_PROCESSES = 4,
    CLI_COMPLETES_COMMANDS = 8, /* a command and what it takes */
    CLI_COMPLETES_WORDS = 16    /* those between the bars of the value: "text|json" */
};

/* What stands for the value of an option in --help: FILE, DIR, PID, "a|b". */
unsigned cli_completes_value(const char *value);

/* What the forms of use say of operands. */
unsigned cli_completes_operands(const struct cli_command *command);

/* Calls `fn` for each option of a command, for --help, and for those of other machines where it has
 * them. */
typedef void cli_option_fn(void *ctx, const struct cli_option *option);
void cli_completion_options(const struct cli_command *command, cli_option_fn *fn, void *ctx);

/* "text json" of "text|json" */
void cli_completion_words(struct cairn_buffer *out, const char *value);

/* The whole script. */
void cli_completion_bash(struct cairn_buffer *out);
void cli_completion_zsh(struct cairn_buffer *out);
void cli_completion_fish(struct cairn_buffer *out);

#endif /* CAIRN_CLI_COMPLETION_H */
