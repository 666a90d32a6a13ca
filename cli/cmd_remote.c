/* SPDX-License-Identifier: MIT */
/* cairn remote: what -H HOST needs at the far end, and its removal. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/file.h"
#include "cli/remote.h"
#include "cli/term.h"

/* The first rows of cli_remote_options; the others mean nothing here. */
enum { OPT_HOST, OPT_RSH };

__attribute__((noreturn)) static void become_shell(const char *const *argv, int in, int out)
{
    if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
        dup2(out, STDERR_FILENO) >= 0)
        execvp(argv[0], (char *const *)argv);
    dprintf(out, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

/* To the end of what a shell there prints. */
static void print_lines(int fd)
{
    char line[1024];
    struct cairn_buffer safe = {0};
    FILE *from = fdopen(fd, "r");
    while (from && fgets(line, sizeof line, from)) {
        size_t n = strcspn(line, "\r\n");
        cairn_buffer_clear(&safe);
        cairn_escape_terminal(&safe, line, n);
        printf("%s%s", cairn_buffer_text(&safe), line[n] ? "\n" : "");
    }
    cairn_buffer_done(&safe);
    if (from)
        fclose(from);
    else
        close(fd);
}

/* A shell there reads the script. */
static int clean_one(struct cli_remote *remote, const char *host)
{
    const char *argv[CLI_REMOTE_ARGV_MAX];
    struct cairn_buffer text = {0}, script = {0};
    int in[2] = {-1, -1}, out[2] = {-1, -1}, status = 0, pid = -1;
    cli_remote_argv(remote, host, argv, &text);
    cli_remote_add_clean_script(&script);
    fflush(stdout);
    if (pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0)
        pid = fork();
    if (pid == 0)
        become_shell(argv, in[0], out[1]);
    cli_remote_close(&in[0]);
    cli_remote_close(&out[1]);
    if (pid > 0) {
        (void)cairn_write_all(in[1], script.data, script.size, host, NULL);
        cli_remote_close(&in[1]);
        print_lines(out[0]);
        out[0] = -1;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
    }
    cli_remote_close(&in[1]);
    cli_remote_close(&out[0]);
    cairn_buffer_done(&text);
    cairn_buffer_done(&script);
    if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return CLI_OK;
    cli_say("%s: the shell there failed", host);
    return CLI_FAILED;
}

static int clean(struct cli_args *args, struct cli_remote *remote, char **hosts)
{
    int status = CLI_OK;
    remote->has_host_word = *hosts != NULL;
    if (!*hosts && !remote->rsh)
        return cli_args_wrong(args, "clean where? give a HOST");
    if (!*hosts)
        return clean_one(remote, remote->rsh);
    for (; *hosts; hosts++)
        if (!cli_remote_host_is_sound(*hosts) || clean_one(remote, *hosts) != CLI_OK)
            status = CLI_FAILED;
    return status;
}

static int run(struct cli_args *args)
{
    struct cli_remote remote = {.command = &cli_cmd_remote};
    struct cli_list hosts = {0};
    const char *value;
    size_t n;
    int row, status;
    while ((row = cli_args_next(args, &value)) >= 0) {
        if (row == OPT_HOST)
            cli_list_add(&hosts, value);
        else if (row == OPT_RSH)
            remote.rsh = value;
    }
    char **words = cli_args_operands(args, &n);
    for (size_t i = 1; i < n; i++)
        cli_list_add(&hosts, words[i]);
    static char *none[] = {NULL};
    if (row == CLI_ARGS_WRONG)
        status = CLI_USAGE;
    else if (n == 1 && strcmp(words[0], "serve") == 0)
        status = cli_remote_serve(cli_run_words);
    else if (n && strcmp(words[0], "clean") == 0)
        status = clean(args, &remote, hosts.n ? (char **)hosts.items : none);
    else
        status = cli_args_wrong(args, "expected \"clean HOST\"; -H is for other commands");
    cli_list_done(&hosts);
    return status;
}

const struct cli_command cli_cmd_remote = {
    .name = "remote",
    .summary = "what -H HOST leaves on other machines, and the options beside it",
    .usage = (const char *const[]){"remote clean [--rsh COMMAND] [HOST...]", "remote serve", NULL},
    .options = cli_remote_options,
    .notes = "These options are for record, stack, trace, heap and doctor, which run on other "
             "machines by them; a target may also be written HOST:PID. \"clean\" removes what "
             "--install put there. \"serve\" is what a shell there becomes.",
    .run = run,
};
