/* SPDX-License-Identifier: MIT */
#include "running.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

unsigned running_open(struct running_thread *threads, pid_t self)
{
    unsigned n = 0;
    DIR *folder = opendir("/proc/self/task");
    if (!folder)
        return 0;
    for (struct dirent *entry; n < RUNNING_MAX && (entry = readdir(folder));) {
        const pid_t tid = (pid_t)atoi(entry->d_name);
        char path[64];
        snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)tid);
        if (tid > 0 && tid != self)
            threads[n++] = (struct running_thread){tid, open(path, O_RDONLY | O_CLOEXEC)};
    }
    closedir(folder);
    return n;
}

bool running_now(const struct running_thread *thread)
{
    char text[64];
    const ssize_t n = thread->stat < 0 ? -1 : pread(thread->stat, text, sizeof text - 1, 0);
    if (n <= 0)
        return false;
    text[n] = 0;
    const char *name_end = strrchr(text, ')');
    return name_end && name_end[1] == ' ' && name_end[2] == 'R';
}

void running_close(const struct running_thread *threads, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (threads[i].stat >= 0)
            close(threads[i].stat);
}
