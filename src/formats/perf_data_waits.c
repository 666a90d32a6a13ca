/* SPDX-License-Identifier: MIT */
#include "formats/perf_data_waits.h"

#include "base/alloc.h"
#include "base/error.h"

/* Linux, include/linux/sched.h; what else may be set is not the thread's own doing. */
enum { INTERRUPTIBLE = 1, STOPPED = 4 | 8, ENDED = 0x10 | 0x20, STATES = 0xff };

void cairn_perf_data_waits_done(struct cairn_perf_data_waits *waits)
{
    cairn_table_done(&waits->by_tid);
    cairn_free(waits->items);
    *waits = (struct cairn_perf_data_waits){0};
}

const char *cairn_perf_data_waits_reason(uint64_t state, bool *ret_ends)
{
    *ret_ends = state & ENDED;
    if (!(state & STATES))
        return "preempted";
    if (state & STOPPED)
        return "stopped";
    return state & INTERRUPTIBLE ? "sleep" : "blocked";
}

uint32_t cairn_perf_data_waits_event(struct cairn_stream *stream)
{
    uint32_t event = cairn_stream_add_event(stream, "off_cpu", "nanoseconds");
    if (event != UINT32_MAX)
        stream->events[event].rank = CAIRN_STREAM_RANK_WAITS;
    return event;
}

static struct cairn_perf_data_wait *find(const struct cairn_perf_data_waits *waits, int tid)
{
    uint32_t number;
    return cairn_table_find(&waits->by_tid, (uint32_t)tid, &number) ? &waits->items[number] : NULL;
}

static struct cairn_perf_data_wait *find_or_add(struct cairn_perf_data_waits *waits, int tid)
{
    struct cairn_perf_data_wait *wait = find(waits, tid);
    if (wait)
        return wait;
    if (cairn_grow((void **)&waits->items, &waits->cap, waits->n + 1, sizeof *waits->items) < 0 ||
        cairn_table_set(&waits->by_tid, (uint32_t)tid, (uint32_t)waits->n) < 0)
        return NULL;
    waits->items[waits->n] = (struct cairn_perf_data_wait){.row = UINT32_MAX};
    return &waits->items[waits->n++];
}

int cairn_perf_data_waits_start(struct cairn_perf_data_waits *waits,
                                const struct cairn_stream *stream, int tid, uint64_t time)
{
    if (tid <= 0) /* what idles waits for nothing */
        return CAIRN_OK;
    struct cairn_perf_data_wait *wait = find_or_add(waits, tid);
    if (!wait)
        return CAIRN_E_NOMEM;
    if (!wait->has_exited) {
        wait->since = time;
        wait->row = stream->row;
    }
    return CAIRN_OK;
}

static int add(struct cairn_stream *stream, struct cairn_perf_data_wait *wait, uint64_t time)
{
    const uint32_t row = wait->row;
    wait->row = UINT32_MAX;
    if (time <= wait->since)
        return CAIRN_OK;
    const uint64_t took = time - wait->since;
    const uint32_t event = cairn_perf_data_waits_event(stream);
    if (event == UINT32_MAX)
        return stream->n_events == CAIRN_STREAM_EVENTS_MAX ? CAIRN_OK : CAIRN_E_NOMEM;
    stream->events[event].n++;
    return cairn_stream_add_value(stream, row, event, took > INT64_MAX ? INT64_MAX : (int64_t)took);
}

int cairn_perf_data_waits_stop(struct cairn_perf_data_waits *waits, struct cairn_stream *stream,
                               int tid, uint64_t time)
{
    struct cairn_perf_data_wait *wait = waits->n ? find(waits, tid) : NULL;
    return wait && wait->row != UINT32_MAX ? add(stream, wait, time) : CAIRN_OK;
}

void cairn_perf_data_waits_forget(struct cairn_perf_data_waits *waits, int tid)
{
    struct cairn_perf_data_wait *wait = waits->n ? find(waits, tid) : NULL;
    if (wait)
        wait->row = UINT32_MAX;
}

int cairn_perf_data_waits_exit(struct cairn_perf_data_waits *waits, int tid, bool is_new)
{
    struct cairn_perf_data_wait *wait = is_new ? find(waits, tid) : find_or_add(waits, tid);
    if (wait)
        *wait = (struct cairn_perf_data_wait){.row = UINT32_MAX, .has_exited = !is_new};
    return wait || is_new ? CAIRN_OK : CAIRN_E_NOMEM;
}

int cairn_perf_data_waits_end(struct cairn_perf_data_waits *waits, struct cairn_stream *stream,
                              uint64_t time)
{
    int code = CAIRN_OK;
    for (size_t i = 0; i < waits->n && code == CAIRN_OK; i++)
        if (waits->items[i].row != UINT32_MAX)
            code = add(stream, &waits->items[i], time);
    return code;
}
