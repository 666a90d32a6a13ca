/* SPDX-License-Identifier: MIT */
/*
 * Perf points: tracepoints as perf events, for the room trace/. They write to the rings of the
 * event that tells of mappings (perf_event.h), with the kernel's record, registers and a copy of
 * the user stack.
 */
#ifndef CAIRN_SAMPLE_PERF_POINTS_H
#define CAIRN_SAMPLE_PERF_POINTS_H

#include <linux/perf_event.h>
#include <stdbool.h>

#include "proc/perf_record.h"

struct cairn_perf;

enum { CAIRN_PERF_POINTS_MAX = 1024 };

struct cairn_perf_point {
    uint64_t id; /* as tracefs gives it */
    /* Of tracefs (Documentation/trace/events.rst, 5.1); NULL: none. One that the kernel refuses is
     * left out. */
    const char *filter;
    bool no_kernel; /* without frames of the kernel */
    bool no_stack;  /* without a copy of the user stack */
};

typedef int (*cairn_perf_point_fn)(void *ctx, const struct cairn_perf_record *record);

/* Borrowed by whoever gets them, until the end. */
struct cairn_perf_points {
    const struct cairn_perf_point *items;
    size_t n;
    bool no_stacks; /* no point has a copy */
    /* Each sample, name, fork, exit and loss, in the order of time; a negative answer ends it. */
    cairn_perf_point_fn on_record;
    void *ctx;
};

/* Opens all of them for `whom` on a CPU that has a ring. 0, or a negative errno. */
int cairn_perf_points_open(struct cairn_perf *perf, const struct cairn_perf_points *points,
                           int whom, int tid, size_t cpu);

/* Which point a sample is of, and on which CPU; false: of none. */
bool cairn_perf_points_find(const struct cairn_perf *perf, uint64_t event_id, uint32_t *ret_point,
                            uint32_t *ret_cpu);

/* Hits of point number `point` that had no room in the rings so far. Exact from Linux 6.0 on;
 * before it is 0, and `cairn_perf_points_know_losses()` false. */
uint64_t cairn_perf_points_lost(const struct cairn_perf *perf, uint32_t point);
bool cairn_perf_points_know_losses(const struct cairn_perf *perf);

#endif /* CAIRN_SAMPLE_PERF_POINTS_H */
