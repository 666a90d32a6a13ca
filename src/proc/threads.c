/* SPDX-License-Identifier: MIT */
#include "proc/threads.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"

enum { NAME_SIZE = 64, STAT_MAX_BYTES = 4096 };

static int compare_tids(const void *a, const void *b)
{
    int tid_a = *(const int *)a, tid_b = *(const int *)b;
    return tid_a < tid_b ? -1 : tid_a > tid_b;
}

static int read_tids(DIR *folder, int pid, struct cairn_threads *threads, struct cairn_err *err)
{
    for (const struct dirent *entry; (entry = readdir(folder));) {
        int tid = atoi(entry->d_name); /* 0 for "." and ".." */
        if (tid <= 0)
            continue;
        if (threads->n == CAIRN_THREADS_MAX)
            return cairn_fail(err, CAIRN_E_LIMIT, "pid %d: more than %d threads", pid,
                              CAIRN_THREADS_MAX);
        if (cairn_grow((void **)&threads->tids, &threads->cap, threads->n + 1,
                       sizeof *threads->tids) < 0)
            return cairn_fail_memory(err);
        threads->tids[threads->n++] = tid;
    }
    if (!threads->n) /* the process ended between opendir() and here */
        return cairn_fail_os(err, ESRCH, "pid %d", pid);
    return CAIRN_OK;
}

int cairn_threads_read(int pid, struct cairn_threads *ret_threads, struct cairn_err *err)
{
    char path[NAME_SIZE];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *folder = opendir(path);
    if (!folder)
        return cairn_fail_os(err, errno == ENOENT ? ESRCH : errno, "pid %d", pid);
    struct cairn_threads threads = {0};
    int result = read_tids(folder, pid, &threads, err);
    closedir(folder);
    if (result < 0) {
        cairn_threads_done(&threads);
        return result;
    }
    qsort(threads.tids, threads.n, sizeof *threads.tids, compare_tids);
    *ret_threads = threads;
    return CAIRN_OK;
}

void cairn_threads_done(struct cairn_threads *threads)
{
    cairn_free(threads->tids);
    *threads = (struct cairn_threads){0};
}

void cairn_thread_name(int pid, int tid, char ret_name[CAIRN_COMM_SIZE])
{
    char name[NAME_SIZE];
    snprintf(name, sizeof name, "task/%d/comm", tid);
    struct cairn_buffer text = {0};
    cairn_process_slurp(pid, name, CAIRN_COMM_SIZE, &text, NULL);
    /* The last line break is /proc's; any other is part of the name. */
    size_t size = text.size && text.data[text.size - 1] == '\n' ? text.size - 1 : text.size;
    if (size >= CAIRN_COMM_SIZE)
        size = CAIRN_COMM_SIZE - 1;
    memcpy(ret_name, cairn_buffer_text(&text), size);
    ret_name[size] = 0;
    cairn_buffer_done(&text);
}

/* "17 (any ) text) S 1 ...": the name may hold blanks and brackets, so the last ')' ends it. */
static bool parse_stat(const char *text, struct cairn_thread_stat *ret_stat)
{
    const char *rest = strrchr(text, ')');
    struct cairn_thread_stat stat;
    /* Fields 3 state, 9 flags, 14 utime, 15 stime, 22 starttime of proc(5). */
    if (!rest || sscanf(rest,
                        ") %c %*s %*s %*s %*s %*s %u %*s %*s %*s %*s %" SCNu64 " %" SCNu64
                        " %*s %*s %*s %*s %*s %*s %" SCNu64,
                        &stat.state, &stat.flags, &stat.user_ticks, &stat.system_ticks,
                        &stat.start_ticks) != 5)
        return false;
    *ret_stat = stat;
    return true;
}

int cairn_thread_stat(int pid, int tid, struct cairn_thread_stat *ret_stat, struct cairn_err *err)
{
    char name[NAME_SIZE];
    snprintf(name, sizeof name, "task/%d/stat", tid);
    struct cairn_buffer text = {0};
    int result = cairn_process_slurp(pid, name, STAT_MAX_BYTES, &text, err);
    if (result == CAIRN_OK && !parse_stat(cairn_buffer_text(&text), ret_stat))
        result = cairn_fail(err, CAIRN_E_FORMAT, "pid %d: /proc/%d/%s has too few fields", pid, pid,
                            name);
    cairn_buffer_done(&text);
    return result;
}
