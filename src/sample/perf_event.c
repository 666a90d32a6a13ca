/* SPDX-License-Identifier: MIT */
#include "sample/perf_event.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "proc/threads.h"
#include "sample/arch.h"
#include "sample/settings.h"
#include "sample/user_walk.h"

enum {
    CPUS_MAX = 8192,
    SCANS_MAX = 16, /* of the thread list, until no new thread is seen */
    DEFAULT_MAX_STACK = 127,
};

static int open_event(struct cairn_perf *perf, int tid, int cpu)
{
    return (int)syscall(SYS_perf_event_open, &perf->attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static void describe(const struct cairn_perf_opts *opts, struct perf_event_attr *attr)
{
    *attr = (struct perf_event_attr){
        .size = sizeof *attr,
        .type = opts->event->perf_type,
        .config = opts->event->perf_config,
        .freq = opts->event_period == 0,
        .sample_freq =
            opts->event_period ? opts->event_period : (uint64_t)(opts->frequency_hz + 0.5),
        .sample_type = CAIRN_PERF_SAMPLE_TYPE,
        .disabled = 1,
        .enable_on_exec = opts->is_child,
        .inherit = 1,
        .exclude_hv = 1,
        .exclude_guest = cairn_event_is_hardware(opts->event), /* else old kernels refuse it */
        .exclude_kernel = opts->user_only,
        .exclude_callchain_kernel = opts->user_only,
        .mmap = 1,
        .mmap2 = 1,
        .build_id = 1,
        .comm = 1,
        .comm_exec = 1,
        .task = 1,
        .sample_id_all = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .sample_max_stack = (uint16_t)opts->max_frames,
    };
    if (opts->no_stacks) {
        attr->sample_type &= ~(uint64_t)PERF_SAMPLE_CALLCHAIN;
        attr->watermark = 1;
        attr->wakeup_watermark = 1;
        return;
    }
    attr->sample_regs_user = cairn_arch_perf_sp();
    if (attr->sample_regs_user) {
        attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
        attr->sample_stack_user = CAIRN_WALK_TOP_WORDS * sizeof(uint64_t);
    }
}

static bool lacks_counter(int os_errno)
{
    return os_errno == ENOENT || os_errno == ENODEV || os_errno == EOPNOTSUPP;
}

/* Takes away what this machine or this kernel does not have or does not allow; false where there is
 * nothing left to give up. */
static bool give_way(const struct cairn_event *event, struct perf_event_attr *attr, int os_errno)
{
    if (lacks_counter(os_errno) && attr->type == PERF_TYPE_HARDWARE && event->gives_way) {
        attr->type = PERF_TYPE_SOFTWARE;
        attr->config = PERF_COUNT_SW_CPU_CLOCK;
        attr->exclude_guest = 0;
        return true;
    }
    if ((os_errno == EACCES || os_errno == EPERM) && !attr->exclude_kernel && !event->in_kernel) {
        attr->exclude_kernel = attr->exclude_callchain_kernel = 1;
        return true;
    }
    if (os_errno == EINVAL && attr->build_id) { /* Linux 5.12 */
        attr->build_id = 0;
        return true;
    }
    return false;
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
        if (!give_way(event, &perf->attr, os_errno))
            return os_errno;
    }
}

/* Finds out with one event what is possible; the main thread may have ended before the others.
 * Returns 0 or an errno. */
static int probe(struct cairn_perf *perf, const struct cairn_event *event, int pid)
{
    struct cairn_threads threads = {0};
    int os_errno = probe_thread(perf, event, pid);
    if (os_errno == ESRCH && cairn_threads_read(pid, &threads, NULL) == CAIRN_OK)
        for (size_t i = 0; i < threads.n && os_errno == ESRCH; i++)
            os_errno = probe_thread(perf, event, threads.tids[i]);
    cairn_threads_done(&threads);
    return os_errno;
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

/* Counts the CPU time of a thread and of what it starts. The samples alone do not tell of threads
 * that end before their first one. What fails here costs only that knowledge. */
static void open_clock(struct cairn_perf *perf, int tid)
{
    struct perf_event_attr attr = {
        .size = sizeof attr,
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .disabled = 1,
        .enable_on_exec = perf->attr.enable_on_exec,
        .inherit = 1,
        .exclude_hv = 1,
        .exclude_kernel = perf->attr.exclude_kernel,
    };
    int fd = -1;
    if (!perf->no_clocks)
        fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return;
    if (cairn_grow((void **)&perf->clock_fds, &perf->cap_clocks, perf->n_clocks + 1, sizeof fd) < 0)
        close(fd);
    else
        perf->clock_fds[perf->n_clocks++] = fd;
}

static void close_clocks(struct cairn_perf *perf)
{
    for (size_t i = 0; i < perf->n_clocks; i++)
        close(perf->clock_fds[i]);
    perf->n_clocks = 0;
    perf->no_clocks = true;
}

/* Where files run out, samples come before the clocks. */
static int open_event_or_make_room(struct cairn_perf *perf, int tid, int cpu)
{
    int fd = open_event(perf, tid, cpu);
    if (fd >= 0 || errno != EMFILE || !perf->n_clocks)
        return fd;
    close_clocks(perf);
    return open_event(perf, tid, cpu);
}

/* All CPUs for one thread. 0, or a negative errno; a thread or a CPU that is gone is no failure. */
static int open_thread(struct cairn_perf *perf, int tid, uint32_t pages)
{
    size_t before = perf->n_fds;
    for (size_t cpu = 0; cpu < perf->n_cpus; cpu++) {
        int fd = open_event_or_make_room(perf, tid, perf->cpus[cpu]);
        if (fd < 0 && (errno == ESRCH || errno == ENODEV))
            continue;
        if (fd < 0)
            return -errno;
        int code = keep_event(perf, fd, tid);
        if (code < 0) {
            close(fd);
            return code;
        }
        code = join_ring(perf, cpu, fd, pages);
        if (code < 0)
            return code;
    }
    if (perf->n_fds > before && cairn_table_set(&perf->has_own, (uint64_t)tid, 1) < 0)
        return -ENOMEM;
    if (perf->n_fds > before) {
        perf->n_threads++;
        open_clock(perf, tid);
    }
    return 0;
}

/* One look at the thread list; how many new ones there were, or a negative errno. */
static int open_new_threads(struct cairn_perf *perf, const struct cairn_threads *threads,
                            struct cairn_table *seen, uint32_t pages)
{
    int n_new = 0;
    uint32_t one;
    for (size_t i = 0; i < threads->n; i++) {
        uint64_t tid = (uint64_t)threads->tids[i];
        if (cairn_table_find(seen, tid, &one))
            continue;
        if (cairn_table_set(seen, tid, 1) < 0)
            return -ENOMEM;
        int code = open_thread(perf, threads->tids[i], pages);
        if (code < 0)
            return code;
        n_new++;
    }
    return n_new;
}

static int open_all(struct cairn_perf *perf, const struct cairn_perf_opts *opts,
                    struct cairn_err *err)
{
    struct cairn_threads threads = {0};
    struct cairn_table seen = {0};
    int code = CAIRN_OK, n_new = 1;
    for (unsigned scan = 0; scan < SCANS_MAX && n_new > 0 && code >= 0; scan++) {
        code = cairn_threads_read(opts->pid, &threads, err);
        if (code < 0)
            break;
        n_new = open_new_threads(perf, &threads, &seen, opts->ring_pages);
        cairn_threads_done(&threads);
        threads = (struct cairn_threads){0};
    }
    cairn_table_done(&seen);
    if (code < 0)
        return code;
    if (n_new == -ENOMEM)
        return cairn_fail_memory(err);
    if (n_new < 0)
        return cairn_fail_perf(err, -n_new, opts->pid);
    return perf->n_fds ? CAIRN_OK : cairn_fail_perf(err, ESRCH, opts->pid);
}

/* An event for each thread and CPU is many; this process may need more files than usual. */
static void raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
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

int cairn_perf_fd(const struct cairn_perf *perf)
{
    return perf->has_epoll ? perf->epoll_fd : -1;
}

static int fail_to_open(struct cairn_err *err, int os_errno, const struct cairn_perf_opts *opts)
{
    if (lacks_counter(os_errno) && cairn_event_is_hardware(opts->event))
        return cairn_fail_event(err, opts->event, os_errno);
    return cairn_fail_perf(err, os_errno, opts->pid);
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
        describe(opts, &perf.attr);
        raise_file_limit();
        int refused = probe(&perf, opts->event, opts->pid);
        code = refused ? fail_to_open(err, refused, opts) : open_all(&perf, opts, err);
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
    if (opts->no_stacks)
        watch_rings(&perf);
    *ret_perf = perf;
    return CAIRN_OK;
}

void cairn_perf_close(struct cairn_perf *perf)
{
    for (size_t i = 0; perf->rings && i < perf->n_cpus; i++)
        cairn_perf_ring_unmap(&perf->rings[i]);
    for (size_t i = 0; i < perf->n_fds; i++)
        close(perf->fds[i]);
    if (perf->has_epoll)
        close(perf->epoll_fd);
    close_clocks(perf);
    cairn_free(perf->rings);
    cairn_free(perf->ring_fds);
    cairn_free(perf->fds);
    cairn_free(perf->tids);
    cairn_free(perf->clock_fds);
    cairn_free(perf->cpus);
    cairn_table_done(&perf->opened_for);
    cairn_table_done(&perf->has_own);
    *perf = (struct cairn_perf){0};
}

static void switch_all(const struct cairn_perf *perf, unsigned long request)
{
    for (size_t i = 0; i < perf->n_fds; i++)
        (void)ioctl(perf->fds[i], request, 0);
    for (size_t i = 0; i < perf->n_clocks; i++)
        (void)ioctl(perf->clock_fds[i], request, 0);
}

void cairn_perf_enable(struct cairn_perf *perf)
{
    switch_all(perf, PERF_EVENT_IOC_ENABLE);
}

void cairn_perf_disable(struct cairn_perf *perf)
{
    switch_all(perf, PERF_EVENT_IOC_DISABLE);
}

int cairn_perf_each(const struct cairn_perf *perf, cairn_perf_event_fn fn, void *ctx)
{
    int code = CAIRN_OK;
    for (size_t i = 0; i < perf->n_fds && code >= 0; i++)
        code = fn(ctx, perf->fds[i], perf->tids[i]);
    return code;
}

uint64_t cairn_perf_cpu_ns(const struct cairn_perf *perf)
{
    uint64_t sum = 0, one;
    for (size_t i = 0; i < perf->n_clocks; i++)
        if (read(perf->clock_fds[i], &one, sizeof one) == (ssize_t)sizeof one)
            sum += one;
    return sum;
}

void cairn_perf_drain(struct cairn_perf *perf, struct cairn_perf_queue *queue)
{
    struct cairn_buffer bytes = {0};
    for (size_t i = 0; i < perf->n_cpus; i++) {
        if (!perf->rings[i].base)
            continue;
        cairn_buffer_clear(&bytes);
        cairn_perf_ring_drain(&perf->rings[i], &bytes);
        queue->n_bad += bytes.failed;
        cairn_perf_queue_add(queue,
                             bytes.failed ? (struct cairn_span){0} : cairn_buffer_span(&bytes));
    }
    cairn_buffer_done(&bytes);
}

bool cairn_perf_is_double(const struct cairn_perf *perf, const struct cairn_perf_record *record)
{
    uint32_t one, tid;
    return cairn_table_find(&perf->has_own, record->tid, &one) &&
           cairn_table_find(&perf->opened_for, record->id, &tid) && tid != record->tid;
}
