/* SPDX-License-Identifier: MIT */
#include "cli/flame_open.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/term.h"

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value && *value;
}

static bool is_desktop(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (!isatty(fd))
            return false;
    if (is_set("SSH_CONNECTION") || is_set("SSH_TTY") || is_set("SUDO_USER") || is_set("CI"))
        return false;
    return is_set("WAYLAND_DISPLAY") || is_set("DISPLAY");
}

/* In a session of its own, so that it outlives the terminal, and silent. */
static void start(const char *path)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    setsid();
    if (null >= 0)
        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
            dup2(null, fd);
    pid_t child = fork(); /* ours is waited for, this one by init */
    if (child == 0) {
        execlp("xdg-open", "xdg-open", path, (char *)NULL);
        _exit(127);
    }
    _exit(child < 0);
}

void cli_flame_open(const char *path)
{
    if (!is_desktop())
        return;
    char *whole = realpath(path, NULL); /* a name that begins with '-' is no option then */
    pid_t child = whole ? fork() : -1;
    if (child == 0)
        start(whole);
    if (child > 0)
        waitpid(child, NULL, 0);
    free(whole);
}
