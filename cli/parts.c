/* SPDX-License-Identifier: MIT */
#include "cli/parts.h"

#include <stdio.h>
#include <string.h>

#include "cli/remote.h"
#include "cli/term.h"

enum { N_PARTS_MAX = 32 };

/* "run" of "heap run" */
static const char *part_name(const struct cli_command *part)
{
    return strchr(part->name, ' ') + 1;
}

static void print_help(const struct cli_parts *p, FILE *out)
{
    fprintf(out, "usage: cairn %s PART [OPTION...]\n\n%s.\n\nparts:\n", p->command->name,
            p->command->summary);
    for (size_t i = 0; p->parts[i]; i++)
        fprintf(out, "  %-8s %s\n", part_name(p->parts[i]), p->parts[i]->summary);
}

static int wrong_part(const struct cli_parts *p, const char *name)
{
    const char *names[N_PARTS_MAX + 1];
    size_t n = 0;
    while (n < N_PARTS_MAX && p->parts[n]) {
        names[n] = part_name(p->parts[n]);
        n++;
    }
    names[n] = NULL;
    const char *near = cli_nearest(name, names), *command = p->command->name;
    if (near)
        cli_say("%s: there is no part \"%s\", did you mean \"%s\"? (cairn %s --help)", command,
                name, near, command);
    else
        cli_say("%s: there is no part \"%s\" (cairn %s --help)", command, name, command);
    return CLI_USAGE;
}

int cli_run_command(const struct cli_command *command, char **words)
{
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

int cli_parts_run(const struct cli_parts *p, char **words)
{
    if (!words[0]) {
        print_help(p, stderr);
        return CLI_USAGE;
    }
    if (strcmp(words[0], "--help") == 0 || strcmp(words[0], "-h") == 0) {
        print_help(p, stdout);
        for (size_t i = 0; p->parts[i]; i++) {
            putchar('\n');
            cli_args_print_help(p->parts[i]);
        }
        return CLI_OK;
    }
    for (size_t i = 0; p->parts[i]; i++)
        if (strcmp(part_name(p->parts[i]), words[0]) == 0)
            return cli_run_command(p->parts[i], words + 1);
    return wrong_part(p, words[0]);
}
