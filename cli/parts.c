/* SPDX-License-Identifier: MIT */
#include "cli/parts.h"

#include <stdio.h>
#include <string.h>

#include "cli/remote.h"
#include "cli/term.h"

enum { N_PARTS_MAX = 32 };

const char *cli_part_name(const struct cli_command *part)
{
    return strchr(part->name, ' ') + 1;
}

static void print_help(const struct cli_command *command, FILE *out)
{
    fprintf(out, "usage: cairn %s PART [OPTION...]\n\n%s.\n\nparts:\n", command->name,
            command->summary);
    for (size_t i = 0; command->parts[i]; i++)
        fprintf(out, "  %-8s %s\n", cli_part_name(command->parts[i]), command->parts[i]->summary);
}

static int wrong_part(const struct cli_command *command, const char *name)
{
    const char *names[N_PARTS_MAX + 1];
    size_t n = 0;
    while (n < N_PARTS_MAX && command->parts[n]) {
        names[n] = cli_part_name(command->parts[n]);
        n++;
    }
    names[n] = NULL;
    const char *near = cli_nearest(name, names);
    if (near)
        cli_say("%s: there is no part \"%s\", did you mean \"%s\"? (cairn %s --help)",
                command->name, name, near, command->name);
    else
        cli_say("%s: there is no part \"%s\" (cairn %s --help)", command->name, name,
                command->name);
    return CLI_USAGE;
}

static bool is_help(const char *word)
{
    return word && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0);
}

static int run_part(const struct cli_command *command, char **words)
{
    if (command->usual_part && (!words[0] || *words[0] == '-') && !is_help(words[0]))
        return cli_run_command(command->usual_part, words);
    if (!words[0]) {
        print_help(command, stderr);
        return CLI_USAGE;
    }
    if (is_help(words[0])) {
        print_help(command, stdout);
        for (size_t i = 0; command->parts[i]; i++) {
            putchar('\n');
            cli_args_print_help(command->parts[i]);
        }
        return CLI_OK;
    }
    for (size_t i = 0; command->parts[i]; i++)
        if (strcmp(cli_part_name(command->parts[i]), words[0]) == 0)
            return cli_run_command(command->parts[i], words + 1);
    return wrong_part(command, words[0]);
}

int cli_run_command(const struct cli_command *command, char **words)
{
    if (command->parts)
        return run_part(command, words);
    if (command->run_words)
        return command->run_words(words);
    int status = CLI_OK;
    if (cli_remote_take(command, words, &status))
        return status;
    struct cli_args *args = cli_args_new(command, words);
    if (cli_args_ask_help(args))
        cli_args_print_help(command);
    else
        status = command->run(args);
    cli_args_free(args);
    return status;
}
