/* SPDX-License-Identifier: MIT */
/* cairn heap: its parts, a row each. */
#include <stdio.h>
#include <string.h>

#include "cli/heap.h"
#include "cli/remote.h"
#include "cli/term.h"

static const struct cli_command *const parts[] = {
    &cli_heap_run,         &cli_heap_leaks, &cli_heap_lost, &cli_heap_diff,  &cli_heap_report,
    &cli_heap_top_command, &cli_heap_mark,  &cli_heap_list, &cli_heap_clean, &cli_heap_env};
enum { N_PARTS = sizeof parts / sizeof *parts };

/* "run" of "heap run" */
static const char *part_name(size_t i)
{
    return strchr(parts[i]->name, ' ') + 1;
}

static void print_help(FILE *out)
{
    fprintf(out, "usage: cairn heap PART [OPTION...]\n\n%s.\n\nparts:\n", cli_cmd_heap.summary);
    for (size_t i = 0; i < N_PARTS; i++)
        fprintf(out, "  %-8s %s\n", part_name(i), parts[i]->summary);
}

static int wrong_part(const char *name)
{
    const char *names[N_PARTS + 1];
    for (size_t i = 0; i < N_PARTS; i++)
        names[i] = part_name(i);
    names[N_PARTS] = NULL;
    const char *near = cli_nearest(name, names);
    cli_say(near ? "heap: there is no part \"%s\", did you mean \"%s\"? (cairn heap --help)"
                 : "heap: there is no part \"%s\" (cairn heap --help)",
            name, near);
    return CLI_USAGE;
}

static int run_part(const struct cli_command *part, char **words)
{
    int status = CLI_OK;
    if (cli_remote_take(part, words, &status))
        return status;
    struct cli_args *args = cli_args_new(part, words);
    if (cli_args_ask_help(args))
        cli_args_print_help(part);
    else
        status = part->run(args);
    cli_args_free(args);
    return status;
}

static int run_words(char **words)
{
    if (!words[0]) {
        print_help(stderr);
        return CLI_USAGE;
    }
    if (strcmp(words[0], "--help") == 0 || strcmp(words[0], "-h") == 0) {
        print_help(stdout);
        for (size_t i = 0; i < N_PARTS; i++) {
            putchar('\n');
            cli_args_print_help(parts[i]);
        }
        return CLI_OK;
    }
    for (size_t i = 0; i < N_PARTS; i++)
        if (strcmp(part_name(i), words[0]) == 0)
            return run_part(parts[i], words + 1);
    return wrong_part(words[0]);
}

const struct cli_command cli_cmd_heap = {
    .name = "heap",
    .summary = "record each live heap block with its stack, and show what leaks",
    .run_words = run_words,
};
