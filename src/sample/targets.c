/* SPDX-License-Identifier: MIT */
#include "sample/targets.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "proc/process.h"
#include "proc/threads.h"
#include "sample/cgroup.h"

enum { NAMED_MAX = 12, KERNEL_THREAD = 0x00200000 /* PF_KTHREAD, <linux/sched.h> */ };

int cairn_targets_add(struct cairn_targets *targets, int pid, struct cairn_err *err)
{
    for (size_t i = 0; i < targets->n; i++)
        if (targets->items[i].pid == pid)
            return CAIRN_OK;
    if (cairn_grow((void **)&targets->items, &targets->cap, targets->n + 1,
                   sizeof *targets->items) < 0)
        return cairn_fail_memory(err);
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    targets->items[targets->n++] = (struct cairn_sample_target){.pid = pid, .fd = fd};
    return CAIRN_OK;
}

/* One that is gone is left out. */
static int add_named(struct cairn_targets *targets, int pid, struct cairn_err *err)
{
    if (pid <= 0)
        return cairn_fail(err, CAIRN_E_ARG, "%d is no process", pid);
    if (kill(pid, 0) < 0 && errno == ESRCH)
        return CAIRN_OK;
    return cairn_targets_add(targets, pid, err);
}

int cairn_targets_open(const struct cairn_sampler_opts *opts, struct cairn_targets *ret_targets,
                       struct cairn_err *err)
{
    int code = cairn_process_check_proc(err);
    ret_targets->is_all = ret_targets->is_machine = opts->all_processes != 0;
    if (code == CAIRN_OK && opts->cgroup) {
        code = cairn_cgroup_open(opts->cgroup, &ret_targets->cgroup_fd, &ret_targets->cgroup, err);
        ret_targets->is_cgroup = code == CAIRN_OK;
        ret_targets->is_machine = code == CAIRN_OK && cairn_cgroup_is_root(ret_targets->cgroup_fd);
    }
    if (code == CAIRN_OK && opts->pid)
        code = add_named(ret_targets, opts->pid, err);
    for (size_t i = 0; i < opts->n_pids && code == CAIRN_OK; i++)
        code = add_named(ret_targets, opts->pids[i], err);
    if (code == CAIRN_OK && !ret_targets->n && (opts->pid || opts->n_pids))
        return cairn_fail(err, CAIRN_E_MISSING, "pid %d: no such process",
                          opts->pid ? opts->pid : opts->pids[0]);
    return code;
}

void cairn_targets_close(struct cairn_targets *targets)
{
    for (size_t i = 0; i < targets->n; i++)
        if (targets->items[i].fd >= 0)
            close(targets->items[i].fd);
    if (targets->is_cgroup)
        close(targets->cgroup_fd);
    cairn_free(targets->items);
    cairn_buffer_done(&targets->cgroup);
    *targets = (struct cairn_targets){0};
}

static bool lives(const struct cairn_sample_target *target)
{
    struct cairn_process_status status;
    struct pollfd ended = {.fd = target->fd, .events = POLLIN};
    if (target->fd >= 0)
        return poll(&ended, 1, 0) <= 0;
    return cairn_process_status(target->pid, &status, NULL) == CAIRN_OK && status.state != 'Z';
}

bool cairn_targets_live(struct cairn_targets *targets)
{
    bool any = cairn_targets_are_cpus(targets);
    for (size_t i = 0; i < targets->n; i++) {
        struct cairn_sample_target *target = &targets->items[i];
        target->has_ended = target->has_ended || !lives(target);
        any = any || !target->has_ended;
    }
    return any;
}

int cairn_targets_fd(const struct cairn_targets *targets)
{
    for (size_t i = 0; i < targets->n; i++)
        if (!targets->items[i].has_ended)
            return targets->items[i].fd;
    return -1;
}

void cairn_targets_text(const struct cairn_targets *targets, struct cairn_buffer *ret_text)
{
    if (targets->is_all)
        cairn_buffer_printf(ret_text, "all processes");
    else if (targets->is_cgroup)
        cairn_buffer_printf(ret_text, "cgroup %s", cairn_buffer_text(&targets->cgroup));
    else if (targets->n == 1) /* for people; not told: no harm */
        (void)cairn_process_cmdline(targets->items[0].pid, ret_text, NULL);
    else
        cairn_buffer_printf(ret_text, "%zu processes:", targets->n);
    for (size_t i = 0; targets->n > 1 && i < targets->n && i < NAMED_MAX; i++)
        cairn_buffer_printf(ret_text, "%s %d", i ? "," : "", targets->items[i].pid);
    if (targets->n > NAMED_MAX)
        cairn_buffer_printf(ret_text, ", ...");
}

static bool is_kernel_thread(int pid)
{
    struct cairn_thread_stat stat;
    return cairn_thread_stat(pid, pid, &stat, NULL) < 0 || (stat.flags & KERNEL_THREAD);
}

struct each {
    cairn_targets_fn fn;
    void *ctx;
};

static bool call_user_side(void *ctx, int pid)
{
    const struct each *each = ctx;
    return is_kernel_thread(pid) || each->fn(each->ctx, pid);
}

void cairn_targets_each(const struct cairn_targets *targets, cairn_targets_fn fn, void *ctx)
{
    for (size_t i = 0; i < targets->n; i++)
        if (!fn(ctx, targets->items[i].pid))
            return;
    struct each each = {fn, ctx};
    if (targets->is_cgroup)
        (void)cairn_cgroup_each(targets->cgroup_fd, call_user_side, &each);
    DIR *folder = targets->is_all ? opendir("/proc") : NULL;
    bool goes_on = folder != NULL;
    while (goes_on) {
        const struct dirent *entry = readdir(folder);
        int pid = entry ? atoi(entry->d_name) : 0;
        goes_on = entry && (pid <= 0 || call_user_side(&each, pid));
    }
    if (folder)
        closedir(folder);
}
