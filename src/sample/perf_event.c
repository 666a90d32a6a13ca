/* SPDX-License-Identifier: MIT */
#include "sample/perf_event.h"

#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"

static void add_clock(struct cairn_perf *perf, struct perf_event_attr *attr, int whom, int cpu)
{
    int fd = -1;
    attr->size = sizeof *attr;
    attr->type = PERF_TYPE_SOFTWARE;
    attr->disabled = 1;
    attr->exclude_hv = 1;
    attr->exclude_kernel = perf->attr.exclude_kernel;
    if (!perf->no_clocks)
        fd = (int)syscall(SYS_perf_event_open, attr, whom, cpu, -1,
                          PERF_FLAG_FD_CLOEXEC | perf->flags);
    if (fd < 0)
        return;
    if (cairn_grow((void **)&perf->clock_fds, &perf->cap_clocks, perf->n_clocks + 1, sizeof fd) < 0)
        close(fd);
    else
        perf->clock_fds[perf->n_clocks++] = fd;
}

void cairn_perf_open_clock(struct cairn_perf *perf, int tid)
{
    struct perf_event_attr attr = {
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .enable_on_exec = perf->attr.enable_on_exec,
        .inherit = perf->attr.inherit,
        .inherit_thread = perf->attr.inherit_thread,
    };
    add_clock(perf, &attr, tid, -1);
}

/* A CPU's clock goes while one of the group is on it. Without a group, or of the root's, it
 * would count its rest, too. */
void cairn_perf_open_group_clocks(struct cairn_perf *perf, int cgroup_fd)
{
    struct perf_event_attr attr = {.config = PERF_COUNT_SW_CPU_CLOCK};
    for (size_t i = 0; i < perf->n_cpus; i++)
        add_clock(perf, &attr, cgroup_fd, perf->cpus[i]);
}

void cairn_perf_close_clocks(struct cairn_perf *perf)
{
    for (size_t i = 0; i < perf->n_clocks; i++)
        close(perf->clock_fds[i]);
    perf->n_clocks = 0;
    perf->no_clocks = true;
}

int cairn_perf_fd(const struct cairn_perf *perf)
{
    return perf->has_epoll ? perf->epoll_fd : -1;
}

void cairn_perf_close_events(struct cairn_perf *perf)
{
    for (size_t i = 0; perf->rings && i < perf->n_cpus; i++)
        cairn_perf_ring_unmap(&perf->rings[i]);
    for (size_t i = 0; i < perf->n_fds; i++)
        close(perf->fds[i]);
    for (size_t i = 0; i < perf->n_point_fds; i++)
        close(perf->point_fds[i].fd);
    perf->n_fds = perf->n_threads = perf->n_point_fds = 0;
    cairn_perf_close_clocks(perf);
    cairn_table_done(&perf->opened_for);
    cairn_table_done(&perf->has_own);
    cairn_table_done(&perf->point_of);
    perf->opened_for = perf->has_own = perf->point_of = (struct cairn_table){0};
}

void cairn_perf_close(struct cairn_perf *perf)
{
    cairn_perf_close_events(perf);
    if (perf->has_epoll)
        close(perf->epoll_fd);
    cairn_free(perf->rings);
    cairn_free(perf->ring_fds);
    cairn_free(perf->fds);
    cairn_free(perf->tids);
    cairn_free(perf->point_fds);
    cairn_free(perf->clock_fds);
    cairn_free(perf->cpus);
    *perf = (struct cairn_perf){0};
}

static void switch_all(const struct cairn_perf *perf, unsigned long request)
{
    for (size_t i = 0; i < perf->n_fds; i++)
        (void)ioctl(perf->fds[i], request, 0);
    for (size_t i = 0; i < perf->n_clocks; i++)
        (void)ioctl(perf->clock_fds[i], request, 0);
    for (size_t i = 0; i < perf->n_point_fds; i++)
        (void)ioctl(perf->point_fds[i].fd, request, 0);
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

uint64_t cairn_perf_lost(const struct cairn_perf *perf)
{
    uint64_t sum = 0, value_lost[2];
    for (size_t i = 0; perf->attr.read_format && i < perf->n_fds; i++)
        if (read(perf->fds[i], value_lost, sizeof value_lost) == (ssize_t)sizeof value_lost)
            sum += value_lost[1];
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
