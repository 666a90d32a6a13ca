/* SPDX-License-Identifier: MIT */
/*
 * The command: it finds the subcommand (commands.h) and runs it.
 *
 * Results go to stdout, all else to stderr. Exit status: 0 done, 1 could not, 2 used wrongly, 3
 * a gate closed.
 *
 * Under the name addr2line the command is that program: the name it is called by decides.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "cli/addr2line.h"
#include "cli/commands.h"
#include "cli/parts.h"
#include "cli/remote.h"
#include "cli/symbols.h"
#include "cli/term.h"

static const struct cli_command *find_command(const char *name)
{
    for (size_t i = 0; cli_commands[i]; i++)
        if (strcmp(cli_commands[i]->name, name) == 0)
            return cli_commands[i];
    return NULL;
}

static void print_help(FILE *out)
{
    fprintf(out, "usage: cairn COMMAND [OPTION...]\n\n"
                 "Native call stacks: caught, named and shown.\n\ncommands:\n");
    for (size_t i = 0; cli_commands[i]; i++)
        fprintf(out, "  %-11s %s\n", cli_commands[i]->name, cli_commands[i]->summary);
    fprintf(out, "\n\"cairn COMMAND --help\" or \"man cairn-COMMAND\" tells more of each.\n");
}

static int wrong_command(const char *name)
{
    const char *names[CLI_COMMANDS_MAX];
    size_t n = 0;
    for (; cli_commands[n] && n < CLI_COMMANDS_MAX - 2; n++)
        names[n] = cli_commands[n]->name;
    names[n++] = "help";
    names[n] = NULL;
    const char *near = cli_nearest(name, names);
    if (near)
        cli_say("unknown command \"%s\", did you mean \"%s\"? (cairn --help)", name, near);
    else
        cli_say("unknown command \"%s\" (cairn --help)", name);
    return CLI_USAGE;
}

static int run_help(char **words)
{
    static char help[] = "--help";
    if (!words[0]) {
        print_help(stdout);
        return CLI_OK;
    }
    const struct cli_command *command = find_command(words[0]);
    if (!command)
        return wrong_command(words[0]);
    return cli_run_command(command, (char *[]){help, NULL});
}

static int dispatch(char **words)
{
    if (!words[0]) {
        print_help(stderr);
        return CLI_USAGE;
    }
    if (strcmp(words[0], "--version") == 0 || strcmp(words[0], "-V") == 0)
        return cli_run_command(&cli_cmd_version, words + 1);
    if (strcmp(words[0], "--help") == 0 || strcmp(words[0], "-h") == 0 ||
        strcmp(words[0], "help") == 0)
        return run_help(words + 1);
    const struct cli_command *command = find_command(words[0]);
    if (command)
        return cli_run_command(command, words + 1);
    return wrong_command(words[0]);
}

/* A file opened on number 1 would receive what is printed. Opened the wrong way round, so that a
 * use of a stream that the caller closed is still an error. */
static void open_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            _exit(CLI_FAILED);
}

static void do_nothing(int number)
{
    (void)number;
}

/* Makes a write that cannot be done an error instead of the end: nobody reads, or the file would
 * grow beyond `ulimit -f`. A handler and not SIG_IGN, which a command that we start would inherit.
 */
static void make_error_of(int number)
{
    struct sigaction old;
    if (sigaction(number, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
        sigaction(number, &(struct sigaction){.sa_handler = do_nothing, .sa_flags = SA_RESTART},
                  NULL);
}

/* Is stdout a pipe whose reader has gone? Streams forget why an earlier write failed. */
static bool nobody_reads(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR);
}

/* What was printed has arrived only when this says so: a full disk shows up here. */
static int finish_stdout(int status)
{
    errno = 0;
    bool failed = fflush(stdout) != 0 || ferror(stdout);
    int os_errno = errno;
    failed |= !failed && close(STDOUT_FILENO) < 0 && (os_errno = errno) != EINTR;
    if (!failed)
        return status;
    if (os_errno == EPIPE || (!os_errno && nobody_reads()))
        cli_end_quietly();
    struct cairn_err err = {0};
    cairn_fail_os(&err, os_errno ? os_errno : EIO, "stdout: cannot write");
    return cli_report(&err);
}

static int finish(int status)
{
    cli_progress_done();
    status = finish_stdout(status);
    cli_hints_put();
    return status;
}

int cli_run_words(char **words)
{
    return finish(dispatch(words));
}

int main(int argc, char **argv)
{
    open_standard_streams();
    make_error_of(SIGPIPE);
    make_error_of(SIGXFSZ);
    struct cairn_err err = {0};
    if (cairn_file_guard(&err) < 0 || cli_symbols_use(&err) < 0)
        return cli_report(&err);
    cli_log_open(0);
    return cli_is_addr2line(argv[0]) ? finish(cli_addr2line(argv))
                                     : cli_run_words(argv + (argc > 0));
}
