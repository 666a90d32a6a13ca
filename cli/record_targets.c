/* SPDX-License-Identifier: MIT */
/* Whom cairn record was told to sample: names to numbers, and words for it. */
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cairn/snapshot.h>

#include "base/error.h"
#include "cli/record.h"

enum { PIDS_MAX = 4096, NAME_BYTES = 256 };

/* One word of a list. Names are found as cairn stack finds them; who is called so may have ended
 * since, which is no failure. */
static int find_one(struct cli_record *record, const char *text, size_t size, struct cairn_err *err)
{
    struct cairn_sampler_opts *opts = &record->sampler;
    char name[NAME_BYTES], *end;
    size_t n = 1, room = PIDS_MAX - opts->n_pids;
    if (size >= sizeof name)
        return cairn_fail(err, CAIRN_E_MISSING, "%.*s: no process of that name", (int)size, text);
    memcpy(name, text, size);
    name[size] = '\0';
    unsigned long pid = strtoul(name, &end, 10);
    bool is_number = *name >= '0' && *name <= '9' && !*end;
    if (is_number) {
        if (kill((pid_t)pid, 0) < 0 && errno == ESRCH)
            return cairn_fail(err, CAIRN_E_MISSING, "pid %lu: no such process", pid);
        if (room)
            record->pids[opts->n_pids] = (int)pid;
    } else {
        int code = cairn_snapshot_find(name, record->pids + opts->n_pids, room, &n, err);
        if (code < 0)
            return code;
    }
    if (n == 0)
        return cairn_fail(err, CAIRN_E_MISSING, "%s: no process of that name", name);
    if (n > room)
        return cairn_fail(err, CAIRN_E_LIMIT, "more than %d processes; --all samples every one",
                          PIDS_MAX);
    memset(record->by_name + opts->n_pids, !is_number, n);
    opts->n_pids += n;
    return CAIRN_OK;
}

int cli_record_find(struct cli_record *record, struct cairn_err *err)
{
    int code = CAIRN_OK;
    if (!record->processes.n)
        return CAIRN_OK;
    record->pids = calloc(PIDS_MAX, sizeof *record->pids);
    record->by_name = calloc(PIDS_MAX, sizeof *record->by_name);
    if (!record->pids || !record->by_name)
        return cairn_fail_memory(err);
    record->sampler.pids = record->pids;
    for (size_t i = 0; i < record->processes.n && code == CAIRN_OK; i++) {
        const char *at = record->processes.items[i];
        bool more = true;
        while (more && code == CAIRN_OK) {
            size_t size = strcspn(at, ",");
            code = find_one(record, at, size, err);
            at += size;
            more = *at != '\0';
            at += more;
        }
    }
    return code;
}

static bool is_others(int pid)
{
    char path[NAME_BYTES];
    struct stat facts;
    snprintf(path, sizeof path, "/proc/%d", pid);
    return stat(path, &facts) == 0 && facts.st_uid != geteuid();
}

bool cli_record_leave_out(struct cli_record *record)
{
    size_t n = record->sampler.n_pids, kept = 0;
    bool is_left_out[PIDS_MAX] = {0};
    for (size_t i = 0; i < n; i++) {
        is_left_out[i] = record->by_name[i] && is_others(record->pids[i]);
        kept += !is_left_out[i];
    }
    if (kept == 0 || kept == n)
        return false;
    record->sampler.n_pids = 0;
    for (size_t i = 0; i < n; i++)
        if (!is_left_out[i])
            record->pids[record->sampler.n_pids++] = record->pids[i];
    record->n_left_out = n - kept;
    return true;
}

/* What may stand in a file's name without quotes. */
static void file_name(const char *cgroup, char *buf, size_t size)
{
    size_t length = strlen(cgroup), n = 0;
    while (length > 0 && cgroup[length - 1] == '/')
        length--;
    size_t from = length;
    while (from > 0 && cgroup[from - 1] != '/')
        from--;
    for (; from < length && n + 1 < size; from++, n++)
        buf[n] = isalnum((unsigned char)cgroup[from]) || strchr("-_.@", cgroup[from]) ? cgroup[from]
                                                                                      : '_';
    buf[n] = '\0';
}

void cli_record_default_out(const struct cli_record *record, int pid, char *buf, size_t size)
{
    char name[NAME_BYTES];
    if (record->sampler.all_processes) {
        snprintf(buf, size, "cairn.all.pb.gz");
    } else if (record->sampler.cgroup) {
        file_name(record->sampler.cgroup, name, size < sizeof name ? size / 2 : sizeof name);
        snprintf(buf, size, "cairn.%s.pb.gz", *name ? name : "cgroup");
    } else {
        snprintf(buf, size, "cairn.%d.pb.gz", pid);
    }
}

void cli_record_whom(const struct cli_record *record, char *buf, size_t size)
{
    *buf = '\0';
    if (record->sampler.all_processes)
        snprintf(buf, size, "all processes");
    else if (record->sampler.cgroup)
        snprintf(buf, size, "cgroup %s", record->sampler.cgroup);
    else if (record->sampler.n_pids > 1)
        snprintf(buf, size, "%zu processes", record->sampler.n_pids);
}
