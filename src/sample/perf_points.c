/* SPDX-License-Identifier: MIT */
#include "sample/perf_points.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "sample/perf_attr.h"
#include "sample/perf_event.h"

enum { POINT_BITS = 10 }; /* of a value of the table `point_of`; the CPU's number is above them */

_Static_assert(CAIRN_PERF_POINTS_MAX <= 1 << POINT_BITS, "numbers of points fit");

static void set_filter(const struct cairn_perf_point *point, int fd)
{
    if (!point->filter || ioctl(fd, PERF_EVENT_IOC_SET_FILTER, point->filter) == 0)
        return;
    cairn_log(CAIRN_LOG_INFO, "the kernel refuses the filter \"%s\": events are filtered here",
              point->filter);
}

static int keep(struct cairn_perf *perf, int fd, uint32_t number, int tid, size_t cpu)
{
    uint64_t id;
    if (ioctl(fd, PERF_EVENT_IOC_ID, &id) < 0 ||
        ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, perf->ring_fds[cpu]) < 0)
        return -errno;
    if (cairn_grow((void **)&perf->point_fds, &perf->cap_point_fds, perf->n_point_fds + 1,
                   sizeof *perf->point_fds) < 0 ||
        cairn_table_set(&perf->opened_for, id, (uint32_t)tid) < 0 ||
        cairn_table_set(&perf->point_of, id, number | (uint32_t)perf->cpus[cpu] << POINT_BITS) < 0)
        return -ENOMEM;
    perf->point_fds[perf->n_point_fds++] = (struct cairn_perf_point_fd){fd, number};
    return 0;
}

static int open_one(struct cairn_perf *perf, const struct cairn_perf_points *points,
                    uint32_t number, int whom, int tid, size_t cpu)
{
    struct perf_event_attr attr;
    const struct cairn_perf_point *point = &points->items[number];
    cairn_perf_describe_point(&perf->attr, point, &attr);
    const unsigned long flags = PERF_FLAG_FD_CLOEXEC | perf->flags;
    int fd = (int)syscall(SYS_perf_event_open, &attr, whom, perf->cpus[cpu], -1, flags);
    if (fd < 0 && errno == EMFILE && perf->n_clocks) { /* as for the events beside them */
        cairn_perf_close_clocks(perf);
        fd = (int)syscall(SYS_perf_event_open, &attr, whom, perf->cpus[cpu], -1, flags);
    }
    if (fd < 0)
        return errno == ESRCH || errno == ENODEV ? 0 : -errno;
    set_filter(point, fd);
    int code = keep(perf, fd, number, tid, cpu);
    if (code < 0)
        close(fd);
    return code;
}

int cairn_perf_points_open(struct cairn_perf *perf, const struct cairn_perf_points *points,
                           int whom, int tid, size_t cpu)
{
    int code = 0;
    for (uint32_t i = 0; points && i < points->n && code == 0; i++)
        code = open_one(perf, points, i, whom, tid, cpu);
    return code;
}

bool cairn_perf_points_find(const struct cairn_perf *perf, uint64_t event_id, uint32_t *ret_point,
                            uint32_t *ret_cpu)
{
    uint32_t value;
    if (!cairn_table_find(&perf->point_of, event_id, &value))
        return false;
    *ret_point = value & ((1 << POINT_BITS) - 1);
    *ret_cpu = value >> POINT_BITS;
    return true;
}

bool cairn_perf_points_know_losses(const struct cairn_perf *perf)
{
    return perf->attr.read_format != 0;
}

uint64_t cairn_perf_points_lost(const struct cairn_perf *perf, uint32_t point)
{
    uint64_t sum = 0, value_lost[2];
    for (size_t i = 0; perf->attr.read_format && i < perf->n_point_fds; i++)
        if (perf->point_fds[i].point == point &&
            read(perf->point_fds[i].fd, value_lost, sizeof value_lost) ==
                (ssize_t)sizeof value_lost)
            sum += value_lost[1];
    return sum;
}
