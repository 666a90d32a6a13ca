/* SPDX-License-Identifier: MIT */
/* Perf events: how they are opened. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "proc/threads.h"
#include "sample/perf_attr.h"
#include "sample/settings.h"

enum {
    CPUS_MAX = 8192,
    SCANS_MAX = 16, /* of the thread list, until no new thread is seen */
    DEFAULT_MAX_STACK = 127,
    SPARE_FILES = 16, /* for what is opened while recording: maps of processes, their files */
};

/* `whom`: a thread, CAIRN_PERF_ALL, or the folder of a cgroup where `flags` say so. */
static int open_event(struct cairn_perf *perf, int whom, int cpu)
{
    return (int)syscall(SYS_perf_event_open, &perf->attr, whom, cpu, -1,
                        PERF_FLAG_FD_CLOEXEC | perf->flags);
}

static int probe_thread(struct cairn_perf *perf, const struct cairn_event *event, int tid)
{
    for (;;) {
        int fd = open_event(perf, tid, perf->cpus[0]);
        if (fd >= 0) {
            close(fd);
            return 0;
        }
        int os_errno = errno;
        if (!cairn_perf_give_way(event, &perf->attr, os_errno))
            return os_errno;
    }
}

/* Finds out with one event what is possible; the main thread may have ended before the others.
 * Returns 0 or an errno. */
static int probe_process(struct cairn_perf *perf, const struct cairn_event *event, int pid)
{
    struct cairn_threads threads = {0};
    int os_errno = probe_thread(perf, event, pid);
    if (os_errno == ESRCH && cairn_threads_read(pid, &threads, NULL) == CAIRN_OK)
        for (size_t i = 0; i < threads.n && os_errno == ESRCH; i++)
            os_errno = probe_thread(perf, event, threads.tids[i]);
    cairn_threads_done(&threads);
    return os_errno;
}

/* What an event is opened for where it is no thread. */
static int whom_on_cpus(const struct cairn_perf_opts *opts)
{
    return opts->targets->is_cgroup ? opts->targets->cgroup_fd : CAIRN_PERF_ALL;
}

static int fail_to_open(struct cairn_err *err, int os_errno, const struct cairn_perf_opts *opts,
                        int pid)
{
    const struct cairn_targets *targets = opts->targets;
    if (targets->is_cgroup && (os_errno == EBADF || os_errno == EINVAL || os_errno == ENOENT)) {
        cairn_fail(err, CAIRN_E_SUPPORT, "%s: this kernel samples no cgroup of version 2",
                   cairn_buffer_text(&targets->cgroup));
        cairn_hint(err, "it needs CONFIG_CGROUP_PERF, and perf_event must not be mounted as a "
                        "controller of version 1; -a samples all, with a label for the cgroup");
        if (err)
            err->os_errno = os_errno;
        return CAIRN_E_SUPPORT;
    }
    if (cairn_perf_lacks_counter(os_errno) && cairn_event_is_hardware(opts->event))
        return cairn_fail_event(err, opts->event, os_errno);
    return cairn_fail_perf(err, os_errno, pid);
}

/* What holds for the first of several processes holds for all, or they are refused later. One of
 * many may end meanwhile. */
static int probe(struct cairn_perf *perf, const struct cairn_perf_opts *opts, struct cairn_err *err)
{
    const struct cairn_targets *targets = opts->targets;
    int pid = CAIRN_PERF_ALL, refused = ESRCH;
    if (cairn_perf_opts_on_cpus(opts))
        refused = probe_thread(perf, opts->event, whom_on_cpus(opts));
    for (size_t i = 0; !opts->on_cpus && i < targets->n && refused == ESRCH; i++) {
        pid = targets->items[i].pid;
        refused = probe_process(perf, opts->event, pid);
    }
    return refused ? fail_to_open(err, refused, opts, pid) : CAIRN_OK;
}

/* "0-3,8" of /sys/devices/system/cpu/online; without it, all that sysconf() counts. */
static int list_cpus(struct cairn_perf *perf, struct cairn_err *err)
{
    struct cairn_buffer text = {0};
    if (cairn_file_slurp("/sys/devices/system/cpu/online", 1 << 16, &text, NULL) < 0) {
        cairn_buffer_clear(&text);
        cairn_buffer_printf(&text, "0-%ld", sysconf(_SC_NPROCESSORS_ONLN) - 1);
    }
    perf->cpus = cairn_alloc(CPUS_MAX, sizeof *perf->cpus);
    const char *at = cairn_buffer_text(&text);
    while (perf->cpus && *at >= '0' && *at <= '9') {
        char *end;
        long first = strtol(at, &end, 10);
        long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        for (long cpu = first; cpu <= last && perf->n_cpus < CPUS_MAX; cpu++)
            perf->cpus[perf->n_cpus++] = (int)cpu;
        at = *end == ',' ? end + 1 : end;
    }
    cairn_buffer_done(&text);
    if (!perf->cpus)
        return cairn_fail_memory(err);
    return perf->n_cpus ? CAIRN_OK : cairn_fail(err, CAIRN_E_SUPPORT, "no CPU is listed in /sys");
}

/* The first event of a CPU brings the ring, the others write to it. */
static int join_ring(struct cairn_perf *perf, size_t cpu, int fd, uint32_t pages)
{
    if (perf->rings[cpu].base)
        return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, perf->ring_fds[cpu]) < 0 ? -errno : 0;
    int code = cairn_perf_ring_map(fd, pages, &perf->rings[cpu]);
    if (code == 0)
        perf->ring_fds[cpu] = fd;
    return code;
}

static int keep_event(struct cairn_perf *perf, int fd, int tid)
{
    uint64_t id;
    if (ioctl(fd, PERF_EVENT_IOC_ID, &id) < 0)
        return -errno;
    if (cairn_grow((void **)&perf->fds, &perf->cap_fds, perf->n_fds + 1, sizeof fd) < 0 ||
        cairn_grow((void **)&perf->tids, &perf->cap_tids, perf->n_fds + 1, sizeof tid) < 0 ||
        cairn_table_set(&perf->opened_for, id, (uint32_t)tid) < 0)
        return -ENOMEM;
    perf->tids[perf->n_fds] = tid;
    perf->fds[perf->n_fds++] = fd;
    return 0;
}

/* Where files run out, samples come before the clocks. */
static int open_event_or_make_room(struct cairn_perf *perf, int tid, int cpu)
{
    int fd = open_event(perf, tid, cpu);
    if (fd >= 0 || errno != EMFILE || !perf->n_clocks)
        return fd;
    cairn_perf_close_clocks(perf);
    return open_event(perf, tid, cpu);
}

/* All CPUs for one thread, or for `whom`, who is none. 0, or a negative errno; a thread or a CPU
 * that is gone is no failure. */
static int open_on_cpus(struct cairn_perf *perf, const struct cairn_perf_opts *opts, int whom,
                        int tid)
{
    for (size_t cpu = 0; cpu < perf->n_cpus; cpu++) {
        int fd = open_event_or_make_room(perf, whom, perf->cpus[cpu]);
        if (fd < 0 && (errno == ESRCH || errno == ENODEV))
            continue;
        if (fd < 0)
            return -errno;
        int code = keep_event(perf, fd, tid);
        if (code < 0) {
            close(fd);
            return code;
        }
        code = join_ring(perf, cpu, fd, opts->ring_pages);
        if (code == 0)
            code = cairn_perf_points_open(perf, opts->points, whom, tid, cpu);
        if (code < 0)
            return code;
    }
    return 0;
}

static int open_thread(struct cairn_perf *perf, const struct cairn_perf_opts *opts, int tid)
{
    size_t before = perf->n_fds;
    int code = open_on_cpus(perf, opts, tid, tid);
    if (code < 0)
        return code;
    if (perf->n_fds > before && cairn_table_set(&perf->has_own, (uint64_t)tid, 1) < 0)
        return -ENOMEM;
    if (perf->n_fds > before) {
        perf->n_threads++;
        cairn_perf_open_clock(perf, tid);
    }
    return 0;
}

/* One look at the thread list; how many new ones there were, or a negative errno. */
static int open_new_threads(struct cairn_perf *perf, const struct cairn_perf_opts *opts,
                            const struct cairn_threads *threads, struct cairn_table *seen)
{
    int n_new = 0;
    uint32_t one;
    for (size_t i = 0; i < threads->n; i++) {
        uint64_t tid = (uint64_t)threads->tids[i];
        if (cairn_table_find(seen, tid, &one))
            continue;
        if (cairn_table_set(seen, tid, 1) < 0)
            return -ENOMEM;
        int code = open_thread(perf, opts, threads->tids[i]);
        if (code < 0)
            return code;
        n_new++;
    }
    return n_new;
}

/* 0 or a negative errno; one that has ended is no failure. */
static int open_process(struct cairn_perf *perf, const struct cairn_perf_opts *opts, int pid)
{
    struct cairn_table seen = {0};
    int n_new = 1;
    for (unsigned scan = 0; scan < SCANS_MAX && n_new > 0; scan++) {
        struct cairn_threads threads = {0};
        struct cairn_err err = {0};
        int code = cairn_threads_read(pid, &threads, &err);
        if (code < 0)
            n_new = code == CAIRN_E_MISSING ? 0 : code == CAIRN_E_LIMIT ? -EMFILE : -ENOMEM;
        else
            n_new = open_new_threads(perf, opts, &threads, &seen);
        cairn_threads_done(&threads);
    }
    cairn_table_done(&seen);
    return n_new < 0 ? n_new : 0;
}

static int open_all(struct cairn_perf *perf, const struct cairn_perf_opts *opts,
                    struct cairn_err *err)
{
    const struct cairn_targets *targets = opts->targets;
    int pid = CAIRN_PERF_ALL, refused = 0;
    if (cairn_perf_opts_on_cpus(opts))
        refused = open_on_cpus(perf, opts, whom_on_cpus(opts), CAIRN_PERF_ALL);
    for (size_t i = 0; !opts->on_cpus && i < targets->n && refused == 0; i++) {
        pid = targets->items[i].pid;
        refused = open_process(perf, opts, pid);
    }
    perf->lacks_files = refused == -EMFILE || refused == -ENFILE;
    if (refused == -ENOMEM)
        return cairn_fail_memory(err);
    if (refused < 0)
        return fail_to_open(err, -refused, opts, pid);
    if (targets->is_cgroup && !targets->is_machine)
        cairn_perf_open_group_clocks(perf, targets->cgroup_fd);
    return perf->n_fds ? CAIRN_OK : cairn_fail_perf(err, ESRCH, pid);
}

/* An event for each thread and CPU is many; this process may need more files than usual. Root
 * (CAP_SYS_RESOURCE) may go beyond the hard limit, up to fs.nr_open. */
static void raise_file_limit(void)
{
    struct rlimit limit;
    struct cairn_buffer text = {0};
    unsigned long long most = 0;
    if (cairn_file_slurp("/proc/sys/fs/nr_open", 64, &text, NULL) == CAIRN_OK)
        most = strtoull(cairn_buffer_text(&text), NULL, 10);
    cairn_buffer_done(&text);
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    const struct rlimit higher = {.rlim_cur = (rlim_t)most, .rlim_max = (rlim_t)most};
    if (most > limit.rlim_max && setrlimit(RLIMIT_NOFILE, &higher) == 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* Files that events shall not take. False: there are not so many. */
static bool hold_spare(int spare[SPARE_FILES])
{
    bool all = true;
    for (size_t i = 0; i < SPARE_FILES; i++) {
        spare[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        all = all && (spare[i] >= 0 || errno != EMFILE);
    }
    return all;
}

static void give_spare(const int spare[SPARE_FILES])
{
    for (size_t i = 0; i < SPARE_FILES; i++)
        if (spare[i] >= 0)
            close(spare[i]);
}

static int open_with_spare(struct cairn_perf *perf, const struct cairn_perf_opts *opts,
                           struct cairn_err *err)
{
    int spare[SPARE_FILES];
    bool held = hold_spare(spare);
    int code = held ? open_all(perf, opts, err) : cairn_fail_perf(err, EMFILE, CAIRN_PERF_ALL);
    give_spare(spare);
    return code;
}

static int open_all_at_once(struct cairn_perf *perf, const struct cairn_perf_opts *opts,
                            struct cairn_err *err)
{
    cairn_perf_describe(opts, &perf->attr);
    perf->flags = opts->targets->is_cgroup ? PERF_FLAG_PID_CGROUP : 0;
    int code = probe(perf, opts, err);
    return code < 0 ? code : open_with_spare(perf, opts, err);
}

/* Where an event for each thread and CPU is too much, one for each CPU does, if that is allowed. */
static int open_events(struct cairn_perf *perf, const struct cairn_perf_opts *opts,
                       struct cairn_err *err)
{
    struct cairn_err refusal = {0};
    struct cairn_perf_opts on_cpus = *opts;
    int code = open_all_at_once(perf, opts, &refusal);
    if (code < 0 && perf->lacks_files && !opts->is_child && !cairn_perf_opts_on_cpus(opts)) {
        on_cpus.on_cpus = true;
        cairn_perf_close_events(perf);
        if (open_all_at_once(perf, &on_cpus, NULL) == CAIRN_OK) {
            perf->is_filtered = true;
            cairn_log(CAIRN_LOG_INFO,
                      "whole CPUs are sampled, and what is of no target is left out, but from the "
                      "count of lost samples: an event for each thread and CPU needs more open "
                      "files than the %llu allowed",
                      cairn_files_allowed());
            return CAIRN_OK;
        }
    }
    if (code < 0 && err)
        *err = refusal;
    return code;
}

static int check_frequency(double hz, struct cairn_err *err)
{
    long most = cairn_setting("perf_event_max_sample_rate", 100000);
    if (hz <= (double)most)
        return CAIRN_OK;
    cairn_fail(err, CAIRN_E_LIMIT, "%.0f samples a second: the kernel allows %ld", hz, most);
    cairn_hint(err, "sudo sysctl kernel.perf_event_max_sample_rate=%.0f, or -F %ld", hz, most);
    return CAIRN_E_LIMIT;
}

static void log_rings(const struct cairn_perf *perf, uint32_t pages)
{
    const size_t asked = (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < perf->n_cpus; i++)
        if (perf->rings[i].base && perf->rings[i].data_bytes < asked) {
            cairn_log(CAIRN_LOG_INFO,
                      "ring buffers are %zu KiB, not %zu: kernel.perf_event_mlock_kb is %ld",
                      perf->rings[i].data_bytes / 1024, asked / 1024,
                      cairn_setting("perf_event_mlock_kb", 516));
            return;
        }
}

/* Without it mappings are seen a little later. */
static void watch_rings(struct cairn_perf *perf)
{
    perf->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    perf->has_epoll = perf->epoll_fd >= 0;
    for (size_t i = 0; perf->has_epoll && i < perf->n_cpus; i++) {
        struct epoll_event event = {.events = EPOLLIN};
        if (perf->rings[i].base)
            (void)epoll_ctl(perf->epoll_fd, EPOLL_CTL_ADD, perf->ring_fds[i], &event);
    }
}

int cairn_perf_open(const struct cairn_perf_opts *opts, struct cairn_perf *ret_perf,
                    struct cairn_err *err)
{
    struct cairn_perf perf = {0};
    int code = check_frequency(opts->frequency_hz, err);
    if (code == CAIRN_OK)
        code = list_cpus(&perf, err);
    if (code == CAIRN_OK) {
        perf.rings = cairn_alloc(perf.n_cpus, sizeof *perf.rings);
        perf.ring_fds = cairn_alloc(perf.n_cpus, sizeof *perf.ring_fds);
        if (!perf.rings || !perf.ring_fds)
            code = cairn_fail_memory(err);
    }
    if (code == CAIRN_OK) {
        raise_file_limit();
        code = open_events(&perf, opts, err);
    }
    if (code < 0) {
        cairn_perf_close(&perf);
        return code;
    }
    perf.has_kernel = !perf.attr.exclude_kernel;
    perf.hardware = perf.attr.type == PERF_TYPE_HARDWARE;
    long most = cairn_setting("perf_event_max_stack", DEFAULT_MAX_STACK);
    perf.frames_max = opts->max_frames ? opts->max_frames : (uint32_t)most;
    log_rings(&perf, opts->ring_pages);
    cairn_log_kernel_limits(perf.has_kernel, !opts->user_only);
    if (opts->no_stacks || opts->stack_bytes || opts->points)
        watch_rings(&perf);
    *ret_perf = perf;
    return CAIRN_OK;
}
