/* SPDX-License-Identifier: MIT */
/* cairn completion: a script for a shell. */
#include <stdio.h>
#include <string.h>

#include "cli/completion.h"
#include "cli/term.h"

static const struct cli_option options[] = {{0}};

static int run(struct cli_args *args)
{
    static const struct {
        const char *name;
        void (*write)(struct cairn_buffer *out);
    } shells[] = {
        {"bash", cli_completion_bash}, {"zsh", cli_completion_zsh}, {"fish", cli_completion_fish}};
    enum { N_SHELLS = sizeof shells / sizeof shells[0] };
    const char *value;
    size_t n, which;
    if (cli_args_next(args, &value) == CLI_ARGS_WRONG)
        return CLI_USAGE;
    char **operands = cli_args_operands(args, &n);
    if (n != 1)
        return cli_args_wrong(args, "expected the name of one shell: bash, zsh or fish");
    for (which = 0; which < N_SHELLS && strcmp(operands[0], shells[which].name) != 0; which++)
        continue;
    if (which == N_SHELLS)
        return cli_args_wrong(args, "\"%s\" is no shell that is known: bash, zsh or fish",
                              operands[0]);
    struct cairn_buffer script = {0};
    shells[which].write(&script);
    const bool failed = script.failed;
    if (failed)
        cli_say("out of memory");
    else
        fputs(cairn_buffer_text(&script), stdout);
    cairn_buffer_done(&script);
    return failed ? CLI_FAILED : CLI_OK;
}

const struct cli_command cli_cmd_completion = {
    .name = "completion",
    .summary = "print the script by which a shell completes cairn's words",
    .usage = (const char *const[]){"completion bash|zsh|fish", NULL},
    .options = options,
    .notes = "For this shell alone: source <(cairn completion bash). Packages and ./run install "
             "bring all three.",
    .run = run,
};
