/* SPDX-License-Identifier: MIT */
/* cairn heap mark, and cairn heap env: what is one call each. */
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "cli/heap.h"
#include "cli/term.h"

static const struct cli_option no_options[] = {{0}};

static int run_mark(struct cli_args *args)
{
    struct cairn_err err = {0};
    const char *value, *process;
    int pid;
    uint32_t mark;
    if (cli_args_next(args, &value) == CLI_ARGS_WRONG || !(process = cli_heap_process(args)))
        return CLI_USAGE;
    cli_log_open(0);
    if (cli_heap_find_process(process, &pid, &err) < 0 || cairn_heap_mark(pid, &mark, &err) < 0)
        return cli_report(&err);
    printf("%u\n", mark);
    cli_say("mark %u set: cairn heap leaks --since-mark %u %d", mark, mark, pid);
    return CLI_OK;
}

const struct cli_command cli_heap_mark = {
    .name = "heap mark",
    .summary = "set a mark in a running process, and print its number",
    .usage = (const char *const[]){"heap mark PID|NAME", NULL},
    .options = no_options,
    .run = run_mark,
    .remote = CLI_REMOTE_TEXT,
};

/* The folder stays: it is the service's from now on. */
static int run_env(struct cli_args *args)
{
    static const char *const forms[] = {"systemd", "docker", "sh", NULL};
    struct cairn_err err = {0};
    const struct cairn_heap_opts opts = {.size = sizeof opts};
    struct cairn_heap_session *session;
    const char *value, *line;
    size_t n;
    int form = 2;
    if (cli_args_next(args, &value) == CLI_ARGS_WRONG)
        return CLI_USAGE;
    char **operands = cli_args_operands(args, &n);
    if (n > 1)
        return cli_args_wrong(args, "one form at a time");
    if (n && !cli_args_word(args, "FORM", operands[0], forms, &form))
        return CLI_USAGE;
    if (cairn_heap_session_new(&opts, &session, &err) < 0)
        return cli_report(&err);
    for (size_t i = 0; (line = cairn_heap_session_env(session, i)); i++) {
        if (strncmp(line, "CAIRN_HEAP_DIR=", 15) == 0)
            continue; /* the tracker makes its own */
        if (form == 0)
            printf("Environment=\"%s\"\n", line);
        else if (form == 1)
            printf("-e %s\n", line);
        else
            printf("export %s\n", line);
    }
    cairn_heap_session_free(session);
    return CLI_OK;
}

const struct cli_command cli_heap_env = {
    .name = "heap env",
    .summary = "print what to put into a service's environment",
    .usage = (const char *const[]){"heap env [sh|systemd|docker]", NULL},
    .options = no_options,
    .run = run_env,
};
