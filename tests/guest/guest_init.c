/* SPDX-License-Identifier: MIT */
/*
 * The first process of a guest: runs each line of /programs, says on the console how it ended, and
 * switches the machine off. A line that begins with & runs beside those that follow, up to the next
 * such line; their word % is its pid.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_WORDS = 16, PAUTH = 1 << 30 /* HWCAP_PACA of asm/hwcap.h */ };

static pid_t beside; /* 0: nothing runs there */

static void execute(char *line)
{
    char pid[16], *words[MAX_WORDS + 1] = {NULL};
    char *environment[] = {"LD_LIBRARY_PATH=/lib", "ODD_LIBRARY=/lib/odd_library.so", NULL};
    int n = 0;
    snprintf(pid, sizeof pid, "%d", (int)beside);
    for (char *word = strtok(line, " "); word && n < MAX_WORDS; word = strtok(NULL, " "))
        words[n++] = strcmp(word, "%") == 0 ? pid : word;
    execve(words[0], words, environment);
    perror(words[0]);
    _exit(127);
}

static pid_t start(char *line)
{
    pid_t child = fork();
    if (child == 0)
        execute(line);
    return child;
}

static void start_beside(char *line)
{
    if (beside) {
        kill(beside, SIGKILL);
        waitpid(beside, NULL, 0);
    }
    beside = start(line);
}

static void run(char *line)
{
    int status = 0;
    waitpid(start(line), &status, 0);
    line[strcspn(line, " ")] = 0;
    printf("guest: %s ended: %s%d\n", line, WIFSIGNALED(status) ? "signal " : "",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    fflush(stdout);
}

int main(void)
{
    char line[1024];
    mount("proc", "/proc", "proc", 0, NULL);
    mount("sysfs", "/sys", "sysfs", 0, NULL);
    mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL);
    mount("tmpfs", "/tmp", "tmpfs", 0, NULL);
    printf("guest: pauth: %s\n", getauxval(AT_HWCAP) & PAUTH ? "yes" : "no");
    fflush(stdout);
    FILE *programs = fopen("/programs", "re");
    while (programs && fgets(line, sizeof line, programs)) {
        line[strcspn(line, "\n")] = 0;
        if (line[0] == '&')
            start_beside(line + 1);
        else
            run(line);
    }
    sync();
    reboot(RB_POWER_OFF);
    return 1;
}
