/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <cairn/snapshot.h>

#include "base/error.h"
#include "proc/process.h"
#include "proc/threads.h"

static bool is_called(int pid, const char *name)
{
    char comm[CAIRN_COMM_SIZE];
    struct cairn_buffer path = {0};
    bool deleted, same = false;
    cairn_thread_name(pid, pid, comm);
    if (strcmp(comm, name) == 0)
        return true;
    if (cairn_process_exe(pid, &path, &deleted, NULL) == CAIRN_OK) {
        const char *text = cairn_buffer_text(&path), *slash = strrchr(text, '/');
        same = strcmp(slash ? slash + 1 : text, name) == 0;
    }
    cairn_buffer_done(&path);
    return same;
}

int cairn_snapshot_find(const char *name, int *ret_pids, size_t cap, size_t *ret_n,
                        struct cairn_err *err)
{
    DIR *folder = opendir("/proc");
    size_t n = 0;
    if (!folder)
        return cairn_fail_os(err, errno, "/proc");
    /* one that ends meanwhile has no name, either */
    for (const struct dirent *entry; *name && (entry = readdir(folder));) {
        int pid = atoi(entry->d_name);
        if (pid <= 0 || pid == getpid() || !is_called(pid, name))
            continue;
        if (n < cap)
            ret_pids[n] = pid;
        n++;
    }
    closedir(folder);
    *ret_n = n;
    return CAIRN_OK;
}
