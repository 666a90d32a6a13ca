/* SPDX-License-Identifier: MIT */
/*
 *     text ──► pipe ──► sh -c $PAGER ──► our stdout, a terminal
 *
 * What the terminal is (columns, colours) is asked of our own stdout, which stays what it is.
 */
#include "cli/show.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/term.h"

/* Where there is none the shell is not to say so. */
#define LESS "command -v less >/dev/null && exec less; exit 127"

enum { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER, NO_SUCH_COMMAND = 127 };

bool cli_show_take(struct cli_show *show, enum cli_show_row row, const char *value)
{
    static const char *const words[] = {"auto", "always", "never", NULL};
    switch (row) {
    case CLI_SHOW_COLOUR:
        return cli_args_word(show->args, "color", value, words, &show->colour);
    case CLI_SHOW_NO_PAGER:
        show->no_pager = true;
        return true;
    case CLI_N_SHOW:
        break;
    }
    return false;
}

bool cli_show_colours(const struct cli_show *show)
{
    return show->colour == COLOUR_AUTO ? cli_colour() : show->colour == COLOUR_ALWAYS;
}

unsigned cli_show_width(void)
{
    return cli_stdout_is_terminal() ? cli_width() : 0;
}

/* NULL: none is wanted. An empty one means that, too. */
static const char *pager_of(const struct cli_show *show)
{
    const char *pager = getenv("CAIRN_PAGER");
    if (show->no_pager || !cli_stdout_is_terminal())
        return NULL;
    if (!pager)
        pager = getenv("PAGER");
    if (!pager)
        pager = LESS;
    return *pager && strcmp(pager, "cat") != 0 ? pager : NULL;
}

static void become_pager(const char *pager, int from)
{
    if (dup2(from, STDIN_FILENO) < 0)
        _exit(NO_SUCH_COMMAND);
    setenv("LESS", "FRX", 0);
    setenv("LV", "-c", 0);
    execl("/bin/sh", "sh", "-c", pager, (char *)NULL);
    _exit(NO_SUCH_COMMAND);
}

static void give(int to, const struct cairn_buffer *text)
{
    for (size_t at = 0; at < text->size;) {
        ssize_t done = write(to, text->data + at, text->size - at);
        if (done < 0 && errno != EINTR)
            return;
        at += done > 0 ? (size_t)done : 0;
    }
}

/* What keys mean is for the pager to say: from before it runs until it has ended. */
static const int keys[] = {SIGINT, SIGQUIT};
enum { N_KEYS = sizeof keys / sizeof *keys };

static void leave_keys(struct sigaction ret_before[N_KEYS])
{
    for (size_t i = 0; i < N_KEYS; i++)
        sigaction(keys[i], &(struct sigaction){.sa_handler = SIG_IGN}, &ret_before[i]);
}

static void take_keys(const struct sigaction before[N_KEYS])
{
    for (size_t i = 0; i < N_KEYS; i++)
        sigaction(keys[i], &before[i], NULL);
}

/* False where there is no such command: nobody has read the text. */
static bool page(const char *pager, const struct cairn_buffer *text)
{
    struct sigaction before[N_KEYS];
    int ends[2], status = 0;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    leave_keys(before);
    pid_t child = fork();
    if (child == 0) {
        take_keys(before);
        become_pager(pager, ends[0]);
    }
    close(ends[0]);
    if (child > 0)
        give(ends[1], text);
    close(ends[1]);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    take_keys(before);
    return child > 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == NO_SUCH_COMMAND);
}

int cli_show(const struct cli_show *show, bool json, const struct cairn_buffer *made,
             struct cairn_err *err)
{
    if (made->failed)
        return cairn_fail_memory(err);
    const char *pager = json ? NULL : pager_of(show);
    fflush(stdout);
    if (!pager || !page(pager, made))
        fwrite(made->data, 1, made->size, stdout);
    return CAIRN_OK;
}
