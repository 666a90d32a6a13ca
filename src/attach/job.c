/* SPDX-License-Identifier: MIT */
#include "attach/job.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/installed.h"

enum { LINE_BYTES = 512, PATH_BYTES = 64, RUN_MS = 5000, LOCK_MS = 10000, LOCK_NAP_MS = 5 };

void cairn_attach_say(const struct cairn_attach_job *job, const char *fmt, ...)
{
    char line[LINE_BYTES];
    va_list args;
    if (!job->opts.say)
        return;
    int n = snprintf(line, sizeof line,
                     "%.1f ms: ", (double)(cairn_now_ns() - job->begin_ns) / CAIRN_NS_PER_MS);
    va_start(args, fmt);
    vsnprintf(line + n, sizeof line - (size_t)n, fmt, args);
    va_end(args);
    job->opts.say(job->opts.say_context, line);
}

void cairn_attach_say_nameless(const struct cairn_attach_job *job,
                               const struct cairn_divert_counts *counts)
{
    if (counts->n_nameless)
        cairn_attach_say(job,
                         "for %u changes the file of the code could not be opened (was it upgraded "
                         "or deleted?): anonymous memory holds the code of those pages",
                         counts->n_nameless);
}

struct cairn_attach_opts cairn_attach_opts_of(const struct cairn_attach_opts *given)
{
    struct cairn_attach_opts opts = {.size = sizeof opts};
    if (given)
        memcpy(&opts, given, given->size < sizeof opts ? given->size : sizeof opts);
    return opts;
}

/* A lock of the process's folder in /proc: every user that may attach can open it. */
static int lock(int pid, int *ret_fd, struct cairn_err *err)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d", pid);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return cairn_fail(err, CAIRN_E_MISSING, "pid %d: no such process", pid);
    for (int ms = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; ms += LOCK_NAP_MS) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            break; /* no locks there: then without */
        if (ms >= LOCK_MS) {
            close(fd);
            return cairn_fail(err, CAIRN_E_LIMIT, "pid %d: another cairn works on it", pid);
        }
        usleep(LOCK_NAP_MS * 1000);
    }
    *ret_fd = fd;
    return CAIRN_OK;
}

int cairn_attach_begin(int pid, const struct cairn_attach_opts *opts, struct cairn_attach_job *job,
                       struct cairn_err *err)
{
    *job = (struct cairn_attach_job){.opts = cairn_attach_opts_of(opts),
                                     .begin_ns = cairn_now_ns(),
                                     .lock_fd = -1,
                                     .target = {.pid = pid, .mem_fd = -1}};
    int result = lock(pid, &job->lock_fd, err);
    if (result == CAIRN_OK)
        result = cairn_target_open_process(pid, &job->target, err);
    if (result < 0)
        return result;
    cairn_attach_say(job, "it has %zu mappings; a system call stands at 0x%llx",
                     cairn_maps_count(job->target.maps), (unsigned long long)job->target.call_va);
    job->ledger_va = cairn_ledger_find(&job->target);
    if (!job->ledger_va)
        return CAIRN_OK;
    cairn_attach_say(job, "an earlier attach left its notes at 0x%llx",
                     (unsigned long long)job->ledger_va);
    return cairn_ledger_read(&job->target, job->ledger_va, &job->ledger, err);
}

int cairn_attach_end(struct cairn_attach_job *job, int result,
                     struct cairn_attach_report *ret_report, struct cairn_err *err)
{
    struct cairn_err later;
    if (job->has_foothold) {
        int closed = cairn_foothold_close(&job->foothold, &later);
        if (result == CAIRN_OK && closed < 0 && err)
            *err = later;
        result = result < 0 ? result : closed;
        job->has_foothold = false;
    }
    cairn_target_close_process(&job->target);
    if (job->lock_fd >= 0)
        close(job->lock_fd);
    job->report.took_ns = cairn_now_ns() - job->begin_ns;
    job->report.code_bytes = job->ledger.code_bytes;
    if (result == CAIRN_OK && ret_report) {
        size_t size = ret_report->size;
        memcpy(ret_report, &job->report, size < sizeof job->report ? size : sizeof job->report);
        ret_report->size = size;
    }
    return result;
}

int cairn_attach_enter(struct cairn_attach_job *job, struct cairn_err *err)
{
    if (job->has_foothold)
        return CAIRN_OK;
    int result = cairn_foothold_open(&job->target, job->ledger.room_va, &job->foothold, err);
    if (result < 0)
        return result;
    job->has_foothold = true;
    job->report.held_ns += job->foothold.held_ns;
    job->report.held_tid = job->foothold.held_tid;
    job->report.mended |= job->foothold.mended;
    cairn_attach_say(job, "held thread %d for %.3f ms%s; ours is %d", job->foothold.held_tid,
                     (double)job->foothold.held_ns / CAIRN_NS_PER_MS,
                     job->foothold.mended ? ", and its call goes on" : "",
                     job->foothold.thread.tid);
    return CAIRN_OK;
}

static bool is_code_of(const struct cairn_attach_job *job, const void *fn)
{
    uint64_t va = (uintptr_t)fn;
    const struct cairn_map *map = cairn_maps_find(job->target.maps, va);
    return map && map->flags & CAIRN_MAP_EXEC && va - job->ledger.base < job->ledger.library_bytes;
}

int cairn_attach_read_late(struct cairn_attach_job *job, struct cairn_err *err)
{
    struct cairn_late late;
    int result = cairn_target_look_again(&job->target, err);
    if (result == CAIRN_OK)
        result = cairn_target_read(&job->target, job->ledger.late_va, &late, sizeof late, err);
    if (result < 0)
        return result;
    if (late.version != CAIRN_LATE_VERSION || late.size < sizeof late ||
        !is_code_of(job, (void *)late.slots) || !is_code_of(job, (void *)late.older) ||
        !is_code_of(job, (void *)late.start) || !is_code_of(job, (void *)late.record) ||
        !is_code_of(job, (void *)late.end))
        return cairn_fail(err, CAIRN_E_FORMAT,
                          "pid %d: the tracker in it is damaged, or of another version of cairn",
                          job->target.pid);
    job->late = late;
    return CAIRN_OK;
}

int cairn_attach_run(struct cairn_attach_job *job, const char *name, uint64_t fn_va, uint64_t arg,
                     int *ret_value, struct cairn_err *err)
{
    cairn_attach_say(job, "calling the tracker's %s()", name);
    return cairn_foothold_run(&job->foothold, fn_va, arg, RUN_MS, ret_value, err);
}

int cairn_attach_library(const char *given, char *ret_path, size_t size, struct cairn_err *err)
{
    char real[PATH_MAX];
    if (!given)
        return cairn_installed_library("libcairn-track.so", ret_path, size, err);
    if (!realpath(given, real) || strlen(real) >= size)
        return cairn_fail_os(err, errno, "%s", given);
    memcpy(ret_path, real, strlen(real) + 1);
    return CAIRN_OK;
}
